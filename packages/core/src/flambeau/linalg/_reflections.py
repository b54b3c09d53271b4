"""Householder reflections I - tau v v^H: matrices made of them, and the QR decomposition that is left in them.

v is 0 above its place, 1 there, and below it holds what a column of A holds below the diagonal (LAPACK Users' Guide, section 5.4).
"""
# ruff: noqa: N803 - matrices have capital letters, as in PyTorch's signatures

from __future__ import annotations

from typing import Any

from .._functions import cat, row, stack
from .._gen import return_types
from .._structseq import structseq
from .._tensor_base import Tensor
from ._out import check_matrix, deliver

_Geqrf = structseq("geqrf", ("a", "tau"))
return_types.geqrf = _Geqrf  # type: ignore[attr-defined]


def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first n columns of the product of k reflections: A (*, m, n), tau (*, k) -> (*, m, n), for k <= n <= m."""
    check_matrix("householder_product", A)
    m, n = A.shape[-2:]
    k = tau.shape[-1] if tau.dim() else -1
    if m < n:
        raise RuntimeError(f"torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1], got {m} and {n}")
    if tau.dim() != A.dim() - 1 or k > n or tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau must be (*, k) with k <= {n} and the batch of input {tuple(A.shape[:-2])}, got {tuple(tau.shape)}"
        )
    if tau.dtype != A.dtype:
        raise RuntimeError(f"torch.linalg.householder_product: tau dtype {tau.dtype} does not match input dtype {A.dtype}")
    vectors = A.tril(-1) + A.new_ones((m,)).diag()[:, :n]
    result = A.new_ones((m,)).diag()[:, :n].expand(A.shape)
    for i in reversed(range(k)):
        v = vectors[..., i : i + 1]
        result = result - tau[..., i, None, None] * v @ (v.mH @ result)
    if not k:
        result = result + A.tril(-m)  # nothing: but the result belongs to A's graph
    return deliver("householder_product", result, out)


def _reflection(column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """v, tau and beta, for which (I - conj(tau) v v^H) takes a column (*, m) to (beta, 0, ..., 0) (LAPACK's larfg)."""
    where = row("where")
    alpha, rest = column[..., 0], column[..., 1:]
    tail = (rest.abs() ** 2).sum(-1)
    size = (alpha.abs() ** 2 + tail).sqrt()
    real = alpha.real if alpha.is_complex() else alpha
    beta = where(real >= 0, -size, size)
    done = tail == 0
    if alpha.is_complex():
        done = done & (alpha.imag == 0)
    tau = where(done, 0.0, (beta - alpha) / where(done, 1.0, beta))
    scale = where(done, 1.0, alpha - beta)
    v = cat([column.new_ones((*alpha.shape, 1)), rest / scale.unsqueeze(-1)], -1)
    return v, tau, where(done, alpha, beta.to(alpha.dtype))


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """(a, tau): the QR decomposition, R in a's upper triangle, and below it the reflections whose product is Q."""
    check_matrix("geqrf", input)
    a = input.detach().clone()
    m, n = a.shape[-2:]
    taus = []
    for i in range(min(m, n)):
        v, tau, beta = _reflection(a[..., i:, i])
        v = v.unsqueeze(-1)
        rest = a[..., i:, i + 1 :]
        rest -= tau.conj()[..., None, None] * v @ (v.mH @ rest)
        a[..., i, i] = beta
        a[..., i + 1 :, i] = v[..., 1:, 0]
        taus.append(tau)
    tau = stack(taus, -1) if taus else a.new_zeros((*a.shape[:-2], 0))
    return deliver("geqrf", _Geqrf((a, tau)), out)
