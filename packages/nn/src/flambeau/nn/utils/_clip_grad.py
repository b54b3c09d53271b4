"""Limiting gradients before an optimizer's step."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

import flambeau as fb
from flambeau import Tensor

Tensors = Tensor | Iterable[Tensor]


def _grads(parameters: Tensors) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    elif isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The ``norm_type``-norm of all tensors' elements together, a 0-dimensional tensor.

    ``error_if_nonfinite`` raises RuntimeError for a norm that is NaN or infinite. ``foreach`` has no effect.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return fb.tensor(0.0)
    device = tensors[0].device
    with fb.no_grad():
        norms = [fb.linalg.vector_norm(t, norm_type).to(device) for t in tensors]
        total = fb.linalg.vector_norm(fb.stack(norms), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by max_norm / total_norm where that is less than 1. ``foreach`` has no effect."""
    _scale(_grads(parameters), max_norm, total_norm)


def _scale(grads: list[Tensor], max_norm: float, total_norm: Tensor) -> None:
    if not grads:
        return
    # Always a product, by 1 where nothing is to do: asking would wait for the device.
    scale = fb.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    with fb.no_grad():
        for grad in grads:
            grad.mul_(scale.to(grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients, in place, so that their common norm is ``max_norm`` at most. Returns the norm they had."""
    grads = _grads(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _scale(grads, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clips each element of the gradients, in place, to [-clip_value, clip_value]. ``foreach`` has no effect."""
    clip_value = float(clip_value)
    with fb.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(min=-clip_value, max=clip_value)
