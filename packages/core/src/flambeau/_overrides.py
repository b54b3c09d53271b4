"""``__torch_function__``: a type of the user's handles functions that are called with it."""

from __future__ import annotations

from typing import Any

from ._binding import Spec


def public(spec: Spec) -> Any:
    """The function that a user sees under the operator's name."""
    import importlib

    root = importlib.import_module(__package__)
    home = getattr(root, spec.module, root) if spec.module else root
    from ._tensor_base import Tensor

    return getattr(home, spec.name, None) or getattr(Tensor, spec.name, None) or spec.call


def call(spec: Spec, found: list, values: tuple, extra: dict) -> Any:
    """Offers the call to each overriding argument; TypeError where all decline."""
    func = public(spec)
    types = tuple(type(t) for t in found)
    for t in found:
        result = type(t).__torch_function__(func, types, values, extra)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{func.__name__}' on types that implement __torch_function__: {[t.__name__ for t in types]}")
