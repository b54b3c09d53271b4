"""Spectral normalization by a hook: the older form of ``parametrizations.spectral_norm``."""

from __future__ import annotations

from typing import Any, TypeVar

import flambeau as fb
from flambeau import Tensor

from ..functional import normalize
from ..parameter import Parameter
from ._norms import rows_of

M = TypeVar("M")


class SpectralNorm:
    """Before each call, sets the weight from ``<name>_orig``, divided by an estimate of its largest singular value."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight; ``do_power_iteration`` improves the estimate first, in place."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = rows_of(weight, self.dim)
        if do_power_iteration:
            with fb.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(fb.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(fb.mv(matrix, v), dim=0, eps=self.eps))
                # The next call changes them in place, and a backward pass may still need these.
                u, v = u.clone(), v.clone()
        return weight / fb.dot(u, fb.mv(matrix, v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides ``module.<name>`` by its largest singular value, estimated by power iteration (Miyato et al. 2018)."""
    from .._conv import _ConvTransposeNd

    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with fb.no_grad():
        h, w = rows_of(weight, dim).shape
        u = normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    # Not the weight itself: a call must find that it has been set, also before the first forward.
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(_Version(hook))
    return module


class _Version:
    """Notes the layout's version in the state's metadata, as PyTorch does."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        versions[self.hook.name + ".version"] = self.hook._version


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Makes ``module.<name>`` a plain parameter again. Raises ValueError where there is no hook."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with fb.no_grad():
                weight = hook.compute_weight(module, do_power_iteration=False)
            delattr(module, name)
            for suffix in ("_u", "_v", "_orig"):
                delattr(module, name + suffix)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, hook in module._state_dict_hooks.items():
        if isinstance(hook, _Version) and hook.hook.name == name:
            del module._state_dict_hooks[key]
            break
    return module
