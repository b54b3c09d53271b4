"""Norms of weights, for the normalizations of weights."""

from __future__ import annotations

import flambeau as fb
from flambeau import Tensor

from ..functional import normalize


def norm_except(v: Tensor, dim: int) -> Tensor:
    """The 2-norm over all dimensions but ``dim``, which are kept with size 1; over all, and a scalar, for -1."""
    if dim == -1:
        return fb.linalg.vector_norm(v)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return fb.linalg.vector_norm(v, dim=others, keepdim=True) if others else v.abs()


def rows_of(weight: Tensor, dim: int) -> Tensor:
    """``weight`` as a matrix whose rows run along ``dim``."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.flatten(1)


def power_iterations(matrix: Tensor, u: Tensor, v: Tensor, n: int, eps: float) -> None:
    """Brings ``u`` and ``v``, in place, nearer to the singular vectors of the largest singular value."""
    with fb.no_grad():
        for _ in range(n):
            u.copy_(normalize(fb.mv(matrix, v), dim=0, eps=eps))
            v.copy_(normalize(fb.mv(matrix.mH, u), dim=0, eps=eps))
