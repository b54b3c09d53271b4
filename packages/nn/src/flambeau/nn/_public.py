"""The public path of what is defined in private files."""

from __future__ import annotations

import types


def own(namespace: dict) -> None:
    """Makes the classes and functions in a package's ``namespace`` say that they are defined there.

    So messages show the public name, and pickles hold one that stays good when files are moved.
    """
    package = namespace["__name__"]
    for value in namespace.values():
        if isinstance(value, (type, types.FunctionType)) and value.__module__.startswith(package + "._"):
            value.__module__ = package
