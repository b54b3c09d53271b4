"""Ready-made parametrizations: orthogonal matrices, weight normalization, spectral normalization."""

from __future__ import annotations

import flambeau as fb
from flambeau import Tensor

from .. import functional as F
from .._conv import _ConvTransposeNd
from .._module import Module
from . import parametrize
from ._norms import norm_except, power_iterations, rows_of

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


# -- orthogonal ------------------------------------------------------------------------------------------------------


def _is_orthogonal(q: Tensor) -> bool:
    n = q.size(-1)
    eye = fb.eye(n, dtype=q.dtype, device=q.device)
    # 10 n times the spacing of numbers around 1.
    eps = 10.0 * n * fb.finfo(q.dtype).eps
    return fb.allclose(q.mH @ q, eye, atol=eps)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The Q of A = QR, with R's diagonal positive."""
    x, tau = fb.geqrf(a)
    return fb.linalg.householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.size(-2), X.size(-1)
        transposed = n < k
        if transposed:
            X = X.mT
            n, k = k, n
        if self.orthogonal_map in ("matrix_exp", "cayley"):
            X = X.tril()
            if n != k:
                X = fb.cat([X, X.new_zeros((*X.shape[:-2], n, n - k))], dim=-1)
            A = X - X.mH  # skew-symmetric: its exponential is orthogonal
            if self.orthogonal_map == "matrix_exp":
                Q = fb.matrix_exp(A)
            else:
                eye = fb.eye(n, dtype=A.dtype, device=A.device)
                Q = fb.linalg.solve(fb.add(eye, A, alpha=-0.5), fb.add(eye, A, alpha=0.5))
            if n != k:
                Q = Q[..., :k]
        else:
            A = X.tril(diagonal=-1)  # reflections below the diagonal, signs on it
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = fb.linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @fb.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given = Q
        n, k = Q.size(-2), Q.size(-1)
        transposed = n < k
        if transposed:
            Q = Q.mT
            n, k = k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map in ("cayley", "matrix_exp"):
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            A, tau = fb.geqrf(Q)
            A.diagonal(dim1=-2, dim2=-1).sign_()
            A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1  # a column that needed no reflection
            return A.mT if transposed else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            # Completed to a square matrix at random: the base must be one.
            rest = fb.randn((*Q.shape[:-2], n, n - k), dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(fb.cat([Q, rest], dim=-1))
        self.base = Q
        # What the map takes to the identity.
        start = fb.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps ``module.<name>`` (semi-)orthogonal while it is trained.

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder", by default the last for matrices that aren't square.
    ``use_trivialization`` multiplies by a fixed base, which often helps, and lets the tensor be assigned to.
    """
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


# -- weight norm -----------------------------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Trains the norms of ``module.<name>`` along ``dim`` and its directions apart (Salimans and Kingma 2016).

    ``original0`` holds the norms, ``original1`` the directions; ``dim=None`` has one norm for all. A state dict of the
    older ``nn.utils.weight_norm`` loads, too.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def convert(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) -> None:
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(convert)
    return module


# -- spectral norm ---------------------------------------------------------------------------------------------------


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = rows_of(weight, self.dim)
            h, w = matrix.shape
            u = matrix.new_empty(h).normal_(0, 1)
            v = matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            power_iterations(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = rows_of(weight, self.dim)
        if self.training:
            power_iterations(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # Clones: the next call changes the buffers in place, and a backward pass may still need these.
        u, v = self._u.clone(), self._v.clone()
        return weight / fb.vdot(u, fb.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # taken to have norm 1 already


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides ``module.<name>`` by its largest singular value, estimated by power iteration (Miyato et al. 2018).

    Rows run along ``dim``: by default 0, for transposed convolutions 1. The estimate improves with every call in
    training.
    """
    weight = _tensor(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
