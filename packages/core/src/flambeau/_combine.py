"""Tensors put together: stacking under NumPy's names, grids."""

from __future__ import annotations

from typing import Any

from ._functions import export
from ._gen.functions import ROOT
from ._shapes import atleast_1d, atleast_2d, atleast_3d
from ._tensor_base import Tensor

cat, stack = ROOT["cat"], ROOT["stack"]


def _several(name: str, tensors: Any) -> list[Tensor]:
    ts = list(tensors)
    if not ts:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return ts


@export
def hstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along dimension 1, or 0 for 1-d ones."""
    ts = atleast_1d(_several("hstack", tensors))
    return cat(ts, 0 if ts[0].dim() == 1 else 1, out=out)


@export
def vstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """The tensors, made at least 2-d, along dimension 0."""
    return cat(atleast_2d(_several("vstack", tensors)), 0, out=out)


@export
def dstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """The tensors, made at least 3-d, along dimension 2."""
    return cat(atleast_3d(_several("dstack", tensors)), 2, out=out)


@export
def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side; those of fewer than 2 dimensions are columns."""
    return hstack([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in _several("column_stack", tensors)], out=out)


for _name, _fn in (("row_stack", vstack), ("concat", cat), ("concatenate", cat)):
    export(_fn, _name)


@export
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: result i varies along dimension i ("ij", the default) and holds tensor i's values; "xy" swaps the first two."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    given = list(given)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in given:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tuple(t.shape)}")
        if t.dtype is not given[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    n = len(given)
    shape = [t.numel() for t in given]
    grids = [t.reshape([-1 if j == i else 1 for j in range(n)] if t.numel() else [t.numel() if j == i else 1 for j in range(n)]).expand(shape)
             for i, t in enumerate(given)]  # fmt: skip
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@export
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of the 1-d tensors' values, one a row."""
    if any(t.dim() != 1 for t in tensors):
        raise RuntimeError("Expect a 1D vector, but got shape " + str([tuple(t.shape) for t in tensors if t.dim() != 1][0]))
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@export
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal and 0 elsewhere."""
    from ._creation import zeros

    mats = [t if t.dim() == 2 else t.reshape(1, -1) if t.dim() == 1 else t.reshape(1, 1) if t.dim() == 0 else t for t in tensors]
    for i, m in enumerate(mats):
        if m.dim() > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {m.dim()} dimensions")
    if not mats:
        return zeros(1, 0)
    width = sum(m.shape[1] for m in mats)
    rows, at = [], 0
    for m in mats:
        pads = [zeros(m.shape[0], at, dtype=m.dtype), m, zeros(m.shape[0], width - at - m.shape[1], dtype=m.dtype)]
        rows.append(cat([p for p in pads], 1))
        at += m.shape[1]
    return cat(rows, 0)


