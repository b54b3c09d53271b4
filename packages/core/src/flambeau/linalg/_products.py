"""Products and powers of vectors and matrices."""
# ruff: noqa: N803 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

from collections.abc import Sequence

from .._gen.functions import ROOT
from .._tensor_base import Tensor
from ._decompositions import inv
from ._out import deliver


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, as `flambeau.matmul`."""
    return ROOT["matmul"](input, other, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of each matrix, as a view; `Tensor.diagonal` with other defaults."""
    return A.diagonal(offset, dim1, dim2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Sums of conj(x) * y over ``dim``, with broadcasting."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if x.dtype is not y.dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype} and y of type {y.dtype} instead")
    return deliver("vecdot", (x.conj() * y).sum(dim), out)


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of 3 elements that lie along ``dim``; other dimensions broadcast."""
    n = max(input.dim(), other.dim())
    if input.dim() != other.dim():
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {input.dim()} and {other.dim()}.")
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}")
    a, b = input.roll(-1, dim), other.roll(-1, dim)  # (a2, a3, a1): the product is a1 b2 - a2 b1, rolled once more
    return deliver("cross", (input * b - a * other).roll(-1, dim), out)


def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A times itself n times, by squaring; the inverse's power for negative n: (*, m, m) -> (*, m, m)."""
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but it has shape {tuple(A.shape)}")
    if n < 0:
        return deliver("matrix_power", matrix_power(inv(A), -n), out)
    if n == 0:
        from .. import eye

        # A copy that is overwritten: the result belongs to A's graph, with a gradient of 0.
        return deliver("matrix_power", A.clone().copy_(eye(A.shape[-1], dtype=A.dtype, device=A.device)), out)
    square, result = A, None
    while True:
        if n & 1:
            result = square if result is None else result @ square
        n >>= 1
        if not n:
            return deliver("matrix_power", result.clone() if result is A else result, out)
        square = square @ square


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order that needs the fewest multiplications; the first and the last may be vectors."""
    ts = list(tensors)
    if len(ts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(ts)}")
    for i, t in enumerate(ts):
        ends = i in (0, len(ts) - 1)
        if t.dim() != 2 and not (ends and t.dim() == 1):
            raise RuntimeError(f"multi_dot(): tensor {i} must be {'1D or 2D' if ends else '2D'} but got {t.dim()}D")
        if t.dtype is not ts[0].dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {ts[0].dtype} and tensor {i} {t.dtype}")
    row, column = ts[0].dim() == 1, ts[-1].dim() == 1
    if row:
        ts[0] = ts[0].unsqueeze(0)
    if column:
        ts[-1] = ts[-1].unsqueeze(1)
    for i in range(len(ts) - 1):
        if ts[i].shape[1] != ts[i + 1].shape[0]:
            shapes = f"{list(ts[i].shape)} and {list(ts[i + 1].shape)}"
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {shapes} cannot be multiplied")
    result = _ordered(ts)
    if column:
        result = result.squeeze(1)
    if row:
        result = result.squeeze(0)
    return deliver("multi_dot", result, out)


def _ordered(ts: list[Tensor]) -> Tensor:
    """Cormen et al., Introduction to Algorithms, 15.2: cost[i, j] of multiplying i..j, and where that product is split."""
    sizes = [t.shape[0] for t in ts] + [ts[-1].shape[1]]
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(len(ts))}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, len(ts)):
        for i in range(len(ts) - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)

    def product(i: int, j: int) -> Tensor:
        return ts[i] if i == j else ROOT["mm"](product(i, split[i, j]), product(split[i, j] + 1, j))

    return product(0, len(ts) - 1)
