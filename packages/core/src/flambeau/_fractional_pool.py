"""Maxima over windows at randomly spaced places (Graham: Fractional Max-Pooling, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ._creation import arange
from ._functions import cat
from ._tensor_base import Tensor


def _starts(samples: Tensor, size: int, kernel: int, outputs: int) -> Tensor:
    """Where the windows of one axis begin, (..., outputs), by Graham's pseudorandom sequence for samples u in [0, 1)."""
    end = samples.new_full((*samples.shape, 1), size - kernel).long()
    if outputs == 1:
        return end
    alpha = samples.new_full((), size - kernel) / (outputs - 1)  # in the samples' precision, as all that follows
    u = samples.unsqueeze(-1)
    places = ((u + arange(outputs - 1, dtype=samples.dtype)) * alpha).trunc() - (u * alpha).trunc()
    return cat([places.long(), end], -1)


def _pool(input: Tensor, kernel: Sequence[int] | int, output: Sequence[int] | int, samples: Tensor, n: int) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{n}d()"
    kernel, output = (tuple(v) if not isinstance(v, int) else (v,) * n for v in (kernel, output))
    if len(kernel) != n or len(output) != n:
        raise RuntimeError(f"{name}: kernel_size and output_size must either be a single int or tuple of {n} ints, got {kernel} and {output}")
    if input.dim() not in (n + 1, n + 2) or 0 in input.shape[-n - 1 :]:
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D tensor with non-zero dimensions, but got input of size {tuple(input.shape)}")
    x = input if input.dim() == n + 2 else input.unsqueeze(0)
    batch, channels, *sizes = x.shape
    drawn = tuple(samples.shape)
    if samples.dtype != input.dtype or len(drawn) != 3 or drawn[0] < batch or drawn[1:] != (channels, n):
        raise RuntimeError(f"{name}: _random_samples must be {input.dtype} of size {(batch, channels, n)}, got {samples.dtype} of size {drawn}")
    samples = samples[:batch]
    for size, k, o in zip(sizes, kernel, output, strict=True):
        if k < 1 or o < 1 or o + k - 1 > size:
            raise RuntimeError(
                f"{name}: pool size {kernel} and output size {output} are too large, or not positive, for input of size {tuple(input.shape)}"
            )
    order = reversed(range(n)) if n == 2 else range(n)  # in two dimensions the first sample is the width's
    index: Tensor | None = None
    shape = [batch, channels] + [1] * (2 * n)
    for axis, (size, which) in enumerate(zip(sizes, order, strict=True)):
        at = _starts(samples[..., which], size, kernel[axis], output[axis]).unsqueeze(-1) + arange(kernel[axis])
        along = list(shape)
        along[2 + axis], along[2 + n + axis] = output[axis], kernel[axis]
        at = at.reshape(along)
        index = at if index is None else index * size + at
    index = index.reshape(batch, channels, *output, prod(kernel))
    windows = x.reshape(batch, channels, prod(sizes)).gather(2, index.reshape(batch, channels, prod(output) * prod(kernel)))
    values, chosen = windows.reshape(index.shape).max(-1)
    places = index.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
    return (values, places) if input.dim() == n + 2 else (values[0], places[0])


def fractional_max_pool2d(input: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor) -> tuple[Tensor, Tensor]:
    """Maxima over ``output_size`` windows of (N, C, H, W) or (C, H, W), and their places in the image's elements in a row.

    ``random_samples`` (N, C, 2) in [0, 1) decide, width first, where the windows are.
    """
    return _pool(input, kernel_size, output_size, random_samples, 2)


def fractional_max_pool3d(input: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` of (N, C, D, H, W) or (C, D, H, W); ``random_samples`` (N, C, 3) in the axes' order."""
    return _pool(input, kernel_size, output_size, random_samples, 3)
