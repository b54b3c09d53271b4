"""Convolution weights in another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

M = TypeVar("M")


def _convert(module: Any, memory_format: Any, kinds: tuple) -> Any:
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lays out the weights of all ``Conv2d`` and ``ConvTranspose2d`` below ``module`` anew; returns it."""
    from .._conv import Conv2d, ConvTranspose2d

    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lays out the weights of all ``Conv3d`` and ``ConvTranspose3d`` below ``module`` anew; returns it."""
    from .._conv import Conv3d, ConvTranspose3d

    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
