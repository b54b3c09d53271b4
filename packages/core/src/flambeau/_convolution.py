"""Convolutions with padding by name, and by time; distances within a set; a random slope."""

from __future__ import annotations

from typing import Any

from ._creation import empty, ones_like
from ._dtype import float64
from ._functions import export, row
from ._gen.functions import ROOT
from ._tensor_base import Tensor


def _each(v: Any, n: int) -> tuple[int, ...]:
    return (v,) * n if isinstance(v, int) else tuple(v) * (n if len(v) == 1 else 1)


def _named_padding(input: Tensor, weight: Tensor, padding: str, stride: Any, dilation: Any, n: int) -> tuple[Tensor, tuple[int, ...]]:
    """The input and the padding that "same" or "valid" mean: an uneven total is padded at the end of the input first."""
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"Unsupported padding string: '{padding}'. padding must be 'valid' or 'same'")
    if any(s != 1 for s in _each(stride, n)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(_each(dilation, n), weight.shape[2:])]
    if any(t % 2 for t in totals):
        ends = [end for t in reversed(totals) for end in (0, t % 2)]
        input = ROOT["constant_pad_nd"](input, ends)
    return input, tuple(t // 2 for t in totals)


def _make(n: int) -> Any:
    plain = ROOT[f"conv{n}d"]

    def conv(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
             groups: int = 1) -> Tensor:
        if padding.__class__ is str:
            input, padding = _named_padding(input, weight, padding, stride, dilation, n)
        return plain(input, weight, bias, stride, padding, dilation, groups)

    conv.__name__ = conv.__qualname__ = f"conv{n}d"
    conv.__doc__ = (plain.__doc__ or "") + (
        '\n\n    padding: a number a side, or "valid" (none) or "same" (the output is as large as the input; stride 1 only).'
    )
    return export(conv)


conv1d, conv2d, conv3d = (_make(n) for n in (1, 2, 3))


@export
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """1-d convolution of (time, batch, channels) with weight (kernel, channels in, channels out)."""
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(f"conv_tbc: input and weight must have 3 dimensions and bias 1, got {input.dim()}, {weight.dim()} and {bias.dim()}")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


@export
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """Leaky ReLU whose slope below 0 is drawn for each element from [lower, upper] in training, and its mean otherwise."""
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got lower={lower} and upper={upper}")
    if not training:
        slope: Any = (lower + upper) / 2
    else:
        # As PyTorch draws: in double precision, one number for each element that is not above 0.
        below = input <= 0
        drawn = empty(int(below.sum()), dtype=float64).uniform_(lower, upper, generator=generator)
        slope = ones_like(input).masked_scatter(below, drawn.to(input.dtype))
    return row("where")(input > 0, input, input * slope)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """In-place form of `rrelu`."""
    return input.copy_(rrelu(input, lower, upper, training, generator))


export(rrelu_, "rrelu_")
