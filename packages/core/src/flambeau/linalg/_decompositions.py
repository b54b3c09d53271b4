"""Decompositions, inverses and solutions: A is (*, m, n), its leading dimensions a batch."""
# ruff: noqa: N803, N806 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

from typing import Any

from .._gen import return_types
from .._gen.functions import LINALG
from .._structseq import structseq
from .._tensor_base import Tensor
from ._out import check_matrix, deliver


def _named(name: str, *fields: str) -> Any:
    cls = structseq(name, fields)
    setattr(return_types, name, cls)
    return cls


_Svd = _named("linalg_svd", "U", "S", "Vh")
_Qr = _named("linalg_qr", "Q", "R")
_Eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
_Slogdet = _named("linalg_slogdet", "sign", "logabsdet")
_InvEx = _named("linalg_inv_ex", "inverse", "info")
_SolveEx = _named("linalg_solve_ex", "result", "info")
_CholeskyEx = _named("linalg_cholesky_ex", "L", "info")


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each matrix: (*, n, n) -> (*). The derivative needs matrices that have an inverse."""
    return LINALG["det"](A, out=out)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """(sign, logabsdet) of each determinant: (*, n, n) -> (*), (*); 0 and -inf where there is no inverse."""
    return deliver("slogdet", _Slogdet(LINALG["slogdet"](A)), out)


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each matrix: (*, n, n) -> (*, n, n). LinAlgError where there is none."""
    return deliver("inv", LINALG["_inv"](A, True)[0], out)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """(inverse, info): `inv` that tells by ``info``, int32, which diagonal element was zero, and raises only if ``check_errors``."""
    return deliver("inv_ex", _InvEx(LINALG["_inv"](A, check_errors)), out)


def _solution(name: str, A: Tensor, B: Tensor, left: bool, check: bool) -> tuple[Tensor, Tensor]:
    if A.dim() < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    vector = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError(f"linalg.{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve "
                           "is equivalent to B / A.squeeze(-1)")  # fmt: skip
    b = B.unsqueeze(-1) if vector else B
    if b.dim() < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor B must have at least 2 dimensions.")
    a = A
    if not left:  # X A = B is A^T X^T = B^T
        a, b = a.mT, b.mT
    n = A.shape[-1]
    if a.shape[-2] == n and b.shape[-2] != n:
        raise RuntimeError(f"linalg.{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({A.shape[-2]}x{n} and {B.shape[-2] if B.dim() > 1 else B.shape[0]}x{B.shape[-1]})")  # fmt: skip
    if a.shape[:-2] != b.shape[:-2]:
        batch = _broadcast(a.shape[:-2], b.shape[:-2])
        a, b = a.expand((*batch, *a.shape[-2:])), b.expand((*batch, *b.shape[-2:]))
    x, info = LINALG["_solve"](a, b, check)
    if not left:
        x = x.mT
    return (x.squeeze(-1) if vector else x), info


def _broadcast(a: Any, b: Any) -> tuple[int, ...]:
    from .. import broadcast_shapes

    return tuple(broadcast_shapes(tuple(a), tuple(b)))


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X with A X = B, or X A = B if not ``left``: (*, n, n) and (*, n, k) or (*, n) -> B's shape. LinAlgError where A has no inverse."""
    return deliver("solve", _solution("solve", A, B, left, True)[0], out)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """(result, info): `solve` that tells by ``info``, int32, that a matrix has no inverse, and raises only if ``check_errors``."""
    return deliver("solve_ex", _SolveEx(_solution("solve_ex", A, B, left, check_errors)), out)


def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """L, lower triangular, with A = L L^H, or U = L^H if ``upper``: (*, n, n) -> (*, n, n). LinAlgError unless A is positive definite.

    Only the triangle that is asked for is read.
    """
    return deliver("cholesky", LINALG["_cholesky"](A, upper, True)[0], out)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """(L, info): `cholesky` that tells by ``info``, int32, which minor is not positive, and raises only if ``check_errors``."""
    return deliver("cholesky_ex", _CholeskyEx(LINALG["_cholesky"](A, upper, check_errors)), out)


_MODES = {"reduced": 0, "complete": 1, "r": 2}


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """(Q, R), A = Q R, Q with orthonormal columns and R upper triangular; k = min(m, n).

    ``mode``: "reduced" gives (*, m, k) and (*, k, n), "complete" (*, m, m) and (*, m, n), "r" an empty Q and R. No derivative.
    """
    if mode not in _MODES:
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    return deliver("qr", _Qr(LINALG["_qr"](A, _MODES[mode])), out)


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """(U, S, Vh), A = U diag(S) Vh, singular values in descending order; k = min(m, n).

    Shapes: (*, m, m), (*, k), (*, n, n), or (*, m, k), (*, k), (*, k, n) if not ``full_matrices``. The vectors beyond the first k
    have no gradient. LinAlgError for NaN or infinity in A.
    """
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    check_matrix("svd", A)
    return deliver("svd", _Svd(LINALG["_svd"](A, full_matrices)), out)


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of each matrix in descending order: (*, m, n) -> (*, min(m, n))."""
    if driver is not None:
        raise RuntimeError("torch.linalg.svdvals: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    return LINALG["_svdvals"](A, out=out)


def _triangle(UPLO: str) -> bool:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("U", "L"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """(eigenvalues, eigenvectors) of Hermitian matrices, in ascending order: (*, n, n) -> (*, n), (*, n, n); vectors are columns.

    Only the lower triangle is read, or the upper one with ``UPLO="U"``.
    """
    return deliver("eigh", _Eigh(LINALG["_eigh"](A, _triangle(UPLO))), out)


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices in ascending order: (*, n, n) -> (*, n)."""
    return LINALG["_eigvalsh"](A, _triangle(UPLO), out=out)


def tolerance(A: Tensor, sizes: Tensor, atol: Any, rtol: Any) -> Any:
    """max(atol, rtol * the largest of ``sizes``, (*, k)), as (*, 1)."""
    from .. import finfo

    def column(t: Any) -> Any:
        return t.unsqueeze(-1) if isinstance(t, Tensor) else t

    given = atol is not None and (isinstance(atol, Tensor) or atol > 0)
    rtol = (0.0 if given else max(A.shape[-2:]) * finfo(sizes.dtype).eps) if rtol is None else rtol
    if sizes.shape[-1] == 0:
        return 0.0
    relative = column(rtol) * sizes.amax(-1, keepdim=True)
    return relative if atol is None else relative.maximum(relative.new_tensor(atol) if not isinstance(atol, Tensor) else column(atol))
