"""Distances between all pairs of points."""

from __future__ import annotations

from ._functions import export
from ._select import triu_indices
from ._tensor_base import Tensor


def _check(p: float, name: str) -> None:
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")


@export
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between all pairs of rows i < j, row by row: n * (n - 1) / 2 values."""
    _check(p, "pdist")
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    i, j = triu_indices(input.shape[0], input.shape[0], 1).unbind(0)
    return (input.index_select(0, i) - input.index_select(0, j)).norm(p, -1)


@export
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances between rows of x1 (..., n, d) and of x2 (..., m, d): (..., n, m)."""
    _check(p, "cdist")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
