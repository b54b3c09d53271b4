"""Padding layers. ``padding`` is one number, or two a dimension: last dimension first, before and after."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from . import functional as F
from ._module import Module
from ._tuples import ntuple


class _PadNd(Module):
    """What all share."""

    __constants__ = ["padding"]
    _n: int  # dimensions that are padded
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(2 * self._n)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Goes round: pads with the other end. Shape: (N, C, L) or (C, L)."""

    _n = 1


class CircularPad2d(_CircularPadNd):
    """Goes round: pads with the other end. Shape: (N, C, H, W) or (C, H, W)."""

    _n = 2


class CircularPad3d(_CircularPadNd):
    """Goes round: pads with the other end. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _n = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with ``value``."""

    _n = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with ``value``."""

    _n = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with ``value``."""

    _n = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors at the edge, without repeating it. Shape: (N, C, L) or (C, L)."""

    _n = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors at the edge, without repeating it. Shape: (N, C, H, W) or (C, H, W)."""

    _n = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors at the edge, without repeating it. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _n = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the edge. Shape: (N, C, L) or (C, L)."""

    _n = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the edge. Shape: (N, C, H, W) or (C, H, W)."""

    _n = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the edge. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _n = 3


class _ZeroPad:
    """Written before a ``ConstantPad``: the value is 0."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros."""
