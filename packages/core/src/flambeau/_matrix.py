"""Functions of matrices in the root namespace: older names of what `flambeau.linalg` has."""
# ruff: noqa: N803, N806 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

from typing import Any

from ._functions import method
from ._gen import return_types
from ._structseq import structseq
from ._tensor_base import Tensor

_Svd, _Qr, _Slogdet = structseq("svd", ("U", "S", "V")), structseq("qr", ("Q", "R")), structseq("slogdet", ("sign", "logabsdet"))
return_types.svd, return_types.qr, return_types.slogdet = _Svd, _Qr, _Slogdet  # type: ignore[attr-defined]


def _linalg() -> Any:
    from . import linalg

    return linalg


@method
def det(input: Tensor) -> Tensor:
    """`linalg.det`."""
    return _linalg().det(input)


@method
def slogdet(input: Tensor) -> Any:
    """`linalg.slogdet`."""
    return _Slogdet(_linalg().slogdet(input))


@method
def logdet(input: Tensor) -> Tensor:
    """The logarithm of each determinant; NaN where it is negative, -inf where it is 0."""
    sign, log = _linalg().slogdet(input)
    return sign.log() + log if input.is_complex() else log.masked_fill(sign == -1, float("nan"))


@method
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`linalg.inv`."""
    return _linalg().inv(input, out=out)


@method
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """`linalg.cholesky`."""
    return _linalg().cholesky(input, upper=upper, out=out)


@method
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """`linalg.matrix_power`."""
    return _linalg().matrix_power(input, n, out=out)


@method
def matrix_exp(input: Tensor) -> Tensor:
    """`linalg.matrix_exp`."""
    return _linalg().matrix_exp(input)


@method
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """(a, tau): the QR decomposition, R in a's upper triangle, and below it the reflections that `linalg.householder_product` multiplies."""
    from .linalg._reflections import geqrf

    return geqrf(input, out=out)


@method
def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """`linalg.qr`; ``some=False``: the complete one."""
    return _Qr(_linalg().qr(input, "reduced" if some else "complete", out=out))


@method
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """(U, S, V), input = U diag(S) V^H: `linalg.svd` with V instead of its conjugate transpose. Zeros for U and V if not ``compute_uv``."""
    from .linalg._out import deliver

    if compute_uv:
        U, S, Vh = _linalg().svd(input, not some)
        return deliver("svd", _Svd((U, S, Vh.mH)), out)
    m, n = input.shape[-2:]
    batch = tuple(input.shape[:-2])
    empty = (input.new_zeros((*batch, m, m)), _linalg().svdvals(input), input.new_zeros((*batch, n, n)))
    return deliver("svd", _Svd(empty), out)


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`linalg.cross` along ``dim``; by default the first dimension of size 3."""
    if dim is None:
        from ._functions import broadcast_tensors

        shape = broadcast_tensors(input, other)[0].shape
        dim = next((d for d, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
        dim -= len(shape)
    return _linalg().cross(input, other, dim=dim, out=out)
