"""All parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

import flambeau as fb
from flambeau import Tensor


def _check_device(param: Tensor, device: fb.device | None) -> fb.device:
    if device is not None and param.device != device:
        raise TypeError(
            f"Found two parameters on different devices, {device} and {param.device}; this is not supported"
        )
    return param.device


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another, in one dimension."""
    device = None
    parts = []
    for param in parameters:
        device = _check_device(param, device)
        parts.append(param.view(-1))
    return fb.cat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of ``vec``, cut as ``parameters_to_vector`` joined them."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    device = None
    start = 0
    for param in parameters:
        device = _check_device(param, device)
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop
