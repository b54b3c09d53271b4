"""The exponential of matrices, by scaling and squaring (Higham: The scaling and squaring method for the matrix exponential
revisited. SIAM J. Matrix Anal. Appl. 26, 2005: equations 2.7 and 3.8, table 2.3)."""
# ruff: noqa: N803 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

from math import factorial

from .._functions import row
from .._tensor_base import Tensor
from ._decompositions import solve
from ._out import check_matrix

_DEGREE, _LARGEST = 13, 5.371920351148152  # the norm up to which the approximant of this degree is exact to double precision
# Coefficients of the diagonal Pade approximant of exp, the last being 1.
_B = [float(factorial(2 * _DEGREE - j) // (factorial(j) * factorial(_DEGREE - j))) for j in range(_DEGREE + 1)]


def _powers(a2: Tensor, one: Tensor, first: int) -> Tensor:
    """The sum of b[first], b[first + 2] a^2, b[first + 4] a^4 ... by Horner's rule."""
    total = one * _B[_DEGREE - 1 + first]
    for j in range(_DEGREE - 3 + first, -1, -2):
        total = a2 @ total + one * _B[j]
    return total


def matrix_exp(A: Tensor) -> Tensor:
    """1 + A + A^2 / 2! + ... of each matrix: (*, n, n) -> (*, n, n). RuntimeError unless square and of a float or complex dtype."""
    check_matrix("matrix_exp", A)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.matrix_exp: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    if A.numel() == 0:
        return A.clone()
    norm = A.detach().abs().sum(-2).amax(-1)
    squarings = (norm / _LARGEST).log2().ceil().clamp(min=0).nan_to_num(0.0, 0.0, 0.0)
    a = A * (0.5**squarings)[..., None, None].to(A.dtype)
    one = A.new_ones((A.shape[-1],)).diag()
    a2 = a @ a
    even, odd = _powers(a2, one, 0), a @ _powers(a2, one, 1)
    result = solve(even - odd, even + odd)
    for i in range(int(squarings.max())):
        result = row("where")((squarings > i)[..., None, None], result @ result, result)
    return result
