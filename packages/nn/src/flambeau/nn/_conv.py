"""Convolutions of 1 to 3 dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

from . import init
from ._module import Module
from ._tuples import pair, single, triple
from .parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share. Weights: (out, in / groups, *kernel), transposed (in, out / groups, *kernel)."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got groups={groups}")
        if in_channels % groups != 0:
            raise ValueError(f"in_channels must be divisible by groups, got {in_channels} and {groups}")
        if out_channels % groups != 0:
            raise ValueError(f"out_channels must be divisible by groups, got {out_channels} and {groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError(f"padding='same' is not supported for strided convolutions, got stride={stride}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {list(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _edges(padding, dilation, kernel_size)
        rows, cols = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(fb.empty((rows, cols // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(fb.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights: U(-k, k), k = 1/sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        n = len(self.kernel_size)
        if self.padding != (0,) * n:
            s += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if "padding_mode" not in self.__dict__:  # saved before there were padding modes
            self.padding_mode = "zeros"


def _edges(padding: str | tuple, dilation: tuple, kernel_size: tuple) -> list[int]:
    """How much to pad each edge, last dimension first, as ``pad`` wants it."""
    if padding == "valid":
        return [0] * (2 * len(kernel_size))
    edges: list[int] = []
    for i in reversed(range(len(kernel_size))):
        if padding == "same":
            total = dilation[i] * (kernel_size[i] - 1)
            edges += [total // 2, total - total // 2]
        else:
            edges += [padding[i], padding[i]]
    return edges


def _padded(conv: _ConvNd, input: Tensor, mode: str) -> Tensor:
    return _nn.pad(input, conv._reversed_padding_repeated_twice, mode)


class Conv1d(_ConvNd):
    """Convolution of (N, C, L) or (C, L); see ``functional.conv1d``.

    ``padding`` is a number, or "same" or "valid"; ``padding_mode`` says what it is filled with: zeros, reflect,
    replicate, circular.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else single(padding)
        super().__init__(
            in_channels, out_channels, single(kernel_size), single(stride), padding, single(dilation), False,
            (0,), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = _padded(self, input, self.padding_mode)
            return fb.conv1d(padded, weight, bias, self.stride, (0,), self.dilation, self.groups)
        return fb.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """Convolution of (N, C, H, W) or (C, H, W); see ``Conv1d``."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else pair(padding)
        super().__init__(
            in_channels, out_channels, pair(kernel_size), pair(stride), padding, pair(dilation), False,
            (0, 0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = _padded(self, input, self.padding_mode)
            return fb.conv2d(padded, weight, bias, self.stride, (0, 0), self.dilation, self.groups)
        return fb.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """Convolution of (N, C, D, H, W) or (C, D, H, W); see ``Conv1d``."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else triple(padding)
        super().__init__(
            in_channels, out_channels, triple(kernel_size), triple(stride), padding, triple(dilation), False,
            (0, 0, 0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            padded = _padded(self, input, self.padding_mode)
            return fb.conv3d(padded, weight, bias, self.stride, (0, 0, 0), self.dilation, self.groups)
        return fb.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share."""

    _n: int  # spatial dimensions
    _op: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple,
        padding: tuple,
        dilation: tuple,
        transposed: bool,
        output_padding: tuple,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}, got padding_mode={padding_mode!r}'
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: Any,
        stride: tuple,
        padding: tuple,
        kernel_size: tuple,
        num_spatial_dims: int,
        dilation: tuple | None = None,
    ) -> tuple:
        """What to add to the least output size to get ``output_size``, of which several give the same input."""
        if output_size is None:
            return single(self.output_padding)
        n = num_spatial_dims
        if len(output_size) == input.dim():
            output_size = output_size[-n:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}d: for {input.dim()}D input, output_size must have {n} or {input.dim()} elements "
                f"(got {len(output_size)})"
            )
        extra = []
        for d in range(n):
            reach = (kernel_size[d] - 1) * (1 if dilation is None else dilation[d])
            least = (input.size(input.dim() - n + d) - 1) * stride[d] - 2 * padding[d] + reach + 1
            if not least <= output_size[d] < least + stride[d]:
                raise ValueError(
                    f"requested an output size of {tuple(output_size)}, but in dimension {d} valid sizes range from "
                    f"{least} to {least + stride[d] - 1} (for an input of {tuple(input.shape[-n:])})"
                )
            extra.append(output_size[d] - least)
        return tuple(extra)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """``output_size`` chooses among the sizes that a convolution with the same stride takes to the input's."""
        if output_size is None:
            extra = self.output_padding
        else:
            extra = self._output_padding(
                input, output_size, self.stride, self.padding, self.kernel_size, self._n, self.dilation
            )
        return type(self)._op(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of ``Conv1d`` as a layer of its own. Shape: (N, C, L) or (C, L)."""

    _n = 1
    _op = staticmethod(fb.conv_transpose1d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, single(kernel_size), single(stride), single(padding), single(dilation), True,
            single(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of ``Conv2d`` as a layer of its own. Shape: (N, C, H, W) or (C, H, W)."""

    _n = 2
    _op = staticmethod(fb.conv_transpose2d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, pair(kernel_size), pair(stride), pair(padding), pair(dilation), True,
            pair(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of ``Conv3d`` as a layer of its own. Shape: (N, C, D, H, W) or (C, D, H, W)."""

    _n = 3
    _op = staticmethod(fb.conv_transpose3d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, triple(kernel_size), triple(stride), triple(padding), triple(dilation), True,
            triple(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip
