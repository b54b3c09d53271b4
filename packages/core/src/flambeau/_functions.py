"""Functions of the root namespace that are written in Python: each in a module by theme, gathered here.

A function decorated with `method` is a Tensor method as well: its first argument is the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._gen.functions import HIDDEN, HIDDEN_INPLACE, METHODS, ROOT
from ._tensor_base import Tensor

EXPORTS: dict[str, Any] = {}


def export(fn: Callable, name: str | None = None) -> Callable:
    """Makes fn a function of the root namespace."""
    EXPORTS[name or fn.__name__.rstrip("_")] = fn
    return fn


def method(fn: Callable) -> Callable:
    """Makes fn a function of the root namespace and a Tensor method."""
    name = fn.__name__.rstrip("_")
    EXPORTS[name] = fn
    setattr(Tensor, name, fn)
    return fn


def only_method(fn: Callable) -> Callable:
    """Makes fn a Tensor method only."""
    setattr(Tensor, fn.__name__, fn)
    return fn


def alias(name: str, fn: Callable) -> None:
    """Another name for a function, and for the method where there is one."""
    EXPORTS[name] = fn
    setattr(Tensor, name, fn)


def row(name: str) -> Callable:
    """The generated function of an operator that users reach through another function only."""
    return HIDDEN.get(name) or ROOT["_" + name]


def inplace_row(name: str) -> Callable:
    """`row` for the in-place form."""
    return HIDDEN_INPLACE.get(f"_hidden_{name}_") or METHODS[f"_{name}_"]


cat, stack = ROOT["cat"], ROOT["stack"]

from . import (  # noqa: E402
    _arithmetic,
    _combine,
    _convolution,
    _distance,
    _inplace,
    _products,
    _reduce,
    _select,
    _sequence_loss,
    _shapes,
    _sorting,
)

broadcast_tensors = _shapes.broadcast_tensors
_modules = (_arithmetic, _combine, _convolution, _distance, _inplace, _products, _reduce, _select, _sequence_loss, _shapes, _sorting)
