"""The packages as one namespace."""

import importlib.metadata
import pkgutil

import flambeau as fb


def test_submodules_are_reached_after_importing_the_root_alone():
    assert fb.nn.Linear and fb.optim.Adam and fb.utils.data.DataLoader and fb.autograd.grad


def test_core_alone_owns_the_root_and_utils():
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        files = {str(file) for file in distribution.files or []}
        if name.startswith("flambeau") and name != "flambeau-core":
            assert not files & {"flambeau/__init__.py", "flambeau/utils/__init__.py"}, name


def test_every_module_of_every_package_can_be_imported():
    for module in pkgutil.walk_packages(fb.__path__, "flambeau."):
        importlib.import_module(module.name)
