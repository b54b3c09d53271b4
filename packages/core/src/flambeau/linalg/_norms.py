"""Norms of vectors and matrices, and what is measured with them."""
# ruff: noqa: N803 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

import math
from typing import Any

from .._gen.functions import ROOT
from .._tensor_base import Tensor
from ._decompositions import eigvalsh, inv_ex, svdvals, tolerance
from ._out import check_matrix, deliver


def _dims(dim: Any) -> tuple[int, ...] | None:
    return None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """(sum |x|**ord)**(1/ord) over ``dim`` (all by default); inf and -inf: the largest and smallest; 0: how many are not 0."""
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg.vector_norm(): argument 'ord' must be a number, not {type(ord).__name__} ({ord!r})")
    return ROOT["_vector_norm"](x, float(ord), _dims(dim), keepdim, dtype=dtype, out=out)


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """A norm of the matrices in the two dimensions ``dim``.

    ``ord``: "fro", the root of the sum of squares; "nuc", the sum of singular values; 2 and -2, the largest and smallest of
    those; 1 and -1, the largest and smallest sum of a column's absolute values; inf and -inf, of a row's.
    """
    check_matrix("matrix_norm", A)
    dims = _dims(dim)
    if dims is None or len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    rows, cols = (_wrap(d, A.dim()) for d in dims)
    if rows == cols:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, cols), keepdim, dtype=dtype, out=out)
    x = A if dtype is None else A.to(dtype)
    if ord == "nuc" or ord in (2, -2):
        s = svdvals(x.movedim((rows, cols), (-2, -1)))
        t = s.sum(-1) if ord == "nuc" else _largest(s, -1, False) if ord == 2 else s.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, left = (rows, cols) if abs(ord) == 1 else (cols, rows)
        t = x.abs().sum(summed, keepdim=True)
        t = (_largest(t, left, True) if ord > 0 else t.amin(left, keepdim=True)).squeeze((rows, cols))
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if keepdim:
        for d in sorted((rows, cols)):
            t = t.unsqueeze(d)
    return deliver("matrix_norm", t, out)


def _largest(t: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The largest of norms; of none, 0."""
    return t.amax(dim, keepdim) if t.shape[dim] else t.sum(dim, keepdim)


def _wrap(d: int, n: int) -> int:
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None, dtype: Any = None
) -> Tensor:
    """`matrix_norm` where ``dim`` has two members, or ``ord`` is given and A is a matrix; else `vector_norm`, of all elements by default."""
    dims = _dims(dim)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and A.dim() not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D.")
    if isinstance(ord, str) or (dims is not None and len(dims) == 2) or (dims is None and A.dim() == 2):
        if dims is not None and len(dims) == 1:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dims[0]}")
        return matrix_norm(A, ord, dims or (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)


def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """norm(A) * norm(inverse of A), in the norm ``p`` of `matrix_norm` (2 by default): (*, n, n) -> (*); inf for a singular matrix.

    With p = None, 2 or -2 by singular values, also of matrices that are not square.
    """
    check_matrix("cond", A)
    if p is None or p in (2, -2):
        s = svdvals(A)
        largest, smallest = s[..., 0], s[..., -1]
        return deliver("cond", smallest / largest if p == -2 else largest / smallest, out)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.cond: with p={p!r} the matrices must be square, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    inverse, info = inv_ex(A)
    t = matrix_norm(A, p) * matrix_norm(inverse, p)
    return deliver("cond", t.masked_fill(info != 0, math.inf) if bool((info != 0).any()) else t, out)


def matrix_rank(A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest): (*, m, n) -> (*), int64."""
    check_matrix("matrix_rank", A)
    atol, rtol = (tol, 0.0) if tol is not None else (atol, rtol)
    s = eigvalsh(A).abs() if hermitian else svdvals(A)
    return deliver("matrix_rank", (s > tolerance(A, s, atol, rtol)).sum(-1), out)


