"""Normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as fb
from flambeau import Tensor, _nn

from ._pool import avg_pool2d, avg_pool3d

_batch_norm, _layer_norm, _group_norm, _instance_norm = fb.batch_norm, fb.layer_norm, fb.group_norm, fb.instance_norm


def _verify_batch_size(size: Sequence[int]) -> None:
    # One value a channel has variance 0: its normalized value says nothing.
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Sequence[int]) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel (dimension 1) over all others, by the running statistics or, in ``training``, by its
    own, which are then averaged into the running ones."""
    if training:
        _verify_batch_size(input.shape)
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each sample over its spatial dimensions."""
    if use_input_stats:
        _verify_spatial_size(input.shape)
    return _instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes over the last dimensions, which have the shape ``normalized_shape``."""
    return _layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides by the root mean square of the last dimensions, which have the shape ``normalized_shape``."""
    return fb.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes over groups of channels of each sample. Shape: (N, C, ...)."""
    shape = input.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    _verify_batch_size([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    return _group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divides by (k + alpha * mean of the squares of ``size`` neighbouring channels) ** beta (Krizhevsky et al. 2012).

    Shape: (N, C, ...); ValueError for fewer than 3 dimensions.
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if input.dim() == 3:
        squares = _nn.pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        mean = avg_pool2d(squares, (size, 1), stride=1).squeeze(1)
    else:
        n, channels, height = input.shape[:3]
        squares = squares.view(n, 1, channels, height, -1)
        squares = _nn.pad(squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        mean = avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divides by the p-norm along ``dim``, or by ``eps`` where that is greater."""
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denominator if out is None else fb.div(input, denominator, out=out)
