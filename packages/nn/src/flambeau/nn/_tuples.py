"""One value, or one a dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def single(value: Any) -> tuple:
    """``value`` as a tuple of 1, unless it is one already."""
    return tuple(value) if isinstance(value, Iterable) else (value,)


def pair(value: Any) -> tuple:
    """``value`` as a tuple of 2, unless it is one already."""
    return tuple(value) if isinstance(value, Iterable) else (value, value)


def triple(value: Any) -> tuple:
    """``value`` as a tuple of 3, unless it is one already."""
    return tuple(value) if isinstance(value, Iterable) else (value, value, value)


def quadruple(value: Any) -> tuple:
    """``value`` as a tuple of 4, unless it is one already."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * 4


def ntuple(n: int) -> Any:
    """A function that makes tuples of ``n``."""
    return lambda value: tuple(value) if isinstance(value, Iterable) else (value,) * n
