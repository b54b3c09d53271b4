"""Run with flambeau-core installed and none of the others."""

import subprocess
import sys

import flambeau as fb
import pytest

MISSING = {
    "nn": "flambeau-nn",
    "optim": "flambeau-optim",
    "autograd": "flambeau-autograd",
    "distributions": "flambeau-distributions",
    "utils.data": "flambeau-data",
    "utils.checkpoint": "flambeau-autograd",
}


def attribute(dotted):
    found = fb
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_package_is_named_when_it_is_first_used(name):
    with pytest.raises(AttributeError, match=f"pip install {MISSING[name]}$"):
        attribute(name)


@pytest.mark.parametrize("name", MISSING)
def test_hasattr_says_no_for_a_missing_package(name):
    *parents, last = name.split(".")
    assert not hasattr(attribute(".".join(parents)) if parents else fb, last)


@pytest.mark.parametrize("name", ["no_such_name", "utils.no_such_name"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        attribute(name)


def test_numpy_is_not_imported_with_core():
    code = "import flambeau, sys; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
