"""Core's tests run with core alone. What is said of gradients on the way is tested where flambeau-autograd is installed, too."""

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except AttributeError as error:
        if type(error).__name__ != "MissingPortionError":
            raise
        pytest.skip(str(error))
