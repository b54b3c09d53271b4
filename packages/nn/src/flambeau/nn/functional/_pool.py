"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

avg_pool1d = fb.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d
adaptive_avg_pool1d = fb.adaptive_avg_pool1d

_max_pool1d, _max_pool2d, _max_pool3d = fb.max_pool1d, fb.max_pool2d, fb.max_pool3d
_adaptive_avg_pool2d, _adaptive_avg_pool3d = _nn.adaptive_avg_pool2d, _nn.adaptive_avg_pool3d

Size = int | Sequence[int]


def _tuple(value: Any, n: int) -> tuple:
    """``value`` once for each of ``n`` dimensions."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


# -- max pooling -----------------------------------------------------------------------------------------------------


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest value of each window, and its place."""
    return fb.max_pool1d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest value of each window of the last dimension, with its place if ``return_indices``.

    Shape: (N, C, L) or (C, L). ``stride`` is ``kernel_size`` by default; ``ceil_mode`` keeps a last, partial window.
    """
    if stride is None:
        stride = kernel_size
    if return_indices:
        return fb.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest value of each window, and its place in the plane."""
    return _nn.max_pool2d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest value of each window of the last two dimensions, with its place if ``return_indices``.

    Shape: (N, C, H, W) or (C, H, W).
    """
    if stride is None:
        stride = kernel_size
    if return_indices:
        return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest value of each window, and its place in the volume."""
    return _nn.max_pool3d_with_indices(
        input, kernel_size, kernel_size if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest value of each window of the last three dimensions, with its place if ``return_indices``.

    Shape: (N, C, D, H, W) or (C, D, H, W).
    """
    if stride is None:
        stride = kernel_size
    if return_indices:
        return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


# -- adaptive pooling: the output's size is given, None keeping the input's ------------------------------------------


def _filled(output_size: Any, input: Tensor, n: int) -> Any:
    """``output_size`` with the input's size in place of None."""
    if isinstance(output_size, int):
        return (output_size,) * n
    sizes = _tuple(output_size, n)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [d if s is None else s for s, d in zip(sizes, input.shape[-len(sizes) :])]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Averages over windows that give ``output_size``."""
    return _adaptive_avg_pool2d(input, _filled(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Averages over windows that give ``output_size``."""
    return _adaptive_avg_pool3d(input, _filled(output_size, input, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over windows that give ``output_size``, and their places."""
    return fb.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that give ``output_size``, with their places if ``return_indices``."""
    result = adaptive_max_pool1d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over windows that give ``output_size``, and their places."""
    return _nn.adaptive_max_pool2d(input, _filled(output_size, input, 2))


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that give ``output_size``, with their places if ``return_indices``."""
    result = adaptive_max_pool2d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Maxima over windows that give ``output_size``, and their places."""
    return _nn.adaptive_max_pool3d(input, _filled(output_size, input, 3))


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that give ``output_size``, with their places if ``return_indices``."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]


# -- power-average pooling -------------------------------------------------------------------------------------------


def _lp(mean_of_powers: Tensor, norm_type: float, count: int) -> Tensor:
    """The norm of windows of ``count`` elements from the means of their powers."""
    # The sign is taken off and put back: an odd power's mean may be negative, whose root would be NaN.
    return (fb.sign(mean_of_powers) * fb.relu(fb.abs(mean_of_powers))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window."""
    (k,) = _tuple(kernel_size, 1)
    return _lp(avg_pool1d(input.pow(norm_type), k, k if stride is None else stride, 0, ceil_mode), norm_type, k)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window."""
    a, b = _tuple(kernel_size, 2)
    stride = kernel_size if stride is None else stride
    return _lp(avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, a * b)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of each window."""
    a, b, c = _tuple(kernel_size, 3)
    stride = kernel_size if stride is None else stride
    return _lp(avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, a * b * c)


# -- fractional pooling ----------------------------------------------------------------------------------------------


def _fractional(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    if output_size is None and output_ratio is None:
        raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratio = _tuple(output_ratio, n)
        output_size = [int(d * r) for d, r in zip(input.shape[-n:], ratio)]
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = fb.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    pool = _nn.fractional_max_pool2d if n == 2 else _nn.fractional_max_pool3d
    return pool(input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d`` and the places of its values."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima over windows at randomly spaced places that give ``output_size``, or the input's times ``output_ratio``
    (Graham 2014). Shape: (N, C, H, W) or (C, H, W)."""
    result = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool3d`` and the places of its values."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima over windows at randomly spaced places, as ``fractional_max_pool2d`` in three dimensions."""
    result = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


# -- undoing max pooling ---------------------------------------------------------------------------------------------


def _unpool_output_size(
    input: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], output_size: Any
) -> list[int]:
    """The size that was pooled: the least that gives the input's, or ``output_size`` where that is near enough."""
    n = len(kernel_size)
    least = [(d - 1) * s + k - 2 * p for d, s, k, p in zip(input.shape[-n:], stride, kernel_size, padding)]
    if output_size is None:
        return least
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    for d in range(n):
        if not least[d] - stride[d] < output_size[d] < least[d] + stride[d]:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {least[d] - stride[d]} and '
                f"{least[d] + stride[d]})"
            )
    return list(output_size)


def _unpool_sizes(n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any) -> tuple:
    kernel = _tuple(kernel_size, n)
    steps = kernel if stride is None else _tuple(stride, n)
    pads = _tuple(padding, n)
    return _unpool_output_size(input, kernel, steps, pads, output_size), steps, pads


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Puts each value back where ``max_pool1d`` took it from, among zeros."""
    (length,), _, _ = _unpool_sizes(1, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [length, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Puts each value back where ``max_pool2d`` took it from, among zeros."""
    size, _, _ = _unpool_sizes(2, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Puts each value back where ``max_pool3d`` took it from, among zeros."""
    size, steps, pads = _unpool_sizes(3, input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size, steps, pads)
