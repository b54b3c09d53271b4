"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

celu_ = fb.celu_
elu_ = _nn.elu_
gelu = _nn.gelu
hardshrink = fb.hardshrink
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
logsigmoid = _nn.log_sigmoid
prelu = fb.prelu
relu_ = fb.relu_
rrelu_ = fb.rrelu_
selu_ = fb.selu_
softplus = _nn.softplus
softshrink = _nn.softshrink
threshold_ = fb.threshold_

_celu, _relu, _rrelu, _selu, _threshold = fb.celu, fb.relu, fb.rrelu, fb.selu, fb.threshold
_elu, _hardtanh, _leaky_relu = _nn.elu, _nn.hardtanh, _nn.leaky_relu
_hardsigmoid, _hardsigmoid_ = _nn.hardsigmoid, _nn.hardsigmoid_
_hardswish, _hardswish_ = _nn.hardswish, _nn.hardswish_
_mish, _mish_, _silu, _silu_ = _nn.mish, _nn.mish_, _nn.silu, _nn.silu_
_relu6, _relu6_ = _nn.relu6, _nn.relu6_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return relu_(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return _relu6_(input) if inplace else _relu6(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, times ``negative_slope`` where it is negative."""
    return leaky_relu_(input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x, times a slope where it is negative: drawn from [lower, upper] in training, else their mean."""
    return (rrelu_ if inplace else _rrelu)(input, lower, upper, training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return elu_(input, alpha) if inplace else _elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    return celu_(input, alpha) if inplace else _celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled ``elu`` under which mean 0 and variance 1 are a fixed point (Klambauer et al. 2017)."""
    return selu_(input) if inplace else _selu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return _silu_(input) if inplace else _silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _mish_(input) if inplace else _mish(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x clipped to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val: min_val={min_val}, max_val={max_val}")
    return (hardtanh_ if inplace else _hardtanh)(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1/2 clipped to [0, 1]."""
    return _hardsigmoid_(input) if inplace else _hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return _hardswish_(input) if inplace else _hardswish(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds ``threshold``, else ``value``."""
    return (threshold_ if inplace else _threshold)(input, threshold, value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), a and b being the halves of x along ``dim``."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that a missing ``dim`` meant before there was one."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) over its sum along ``dim``; ``dtype`` casts the input first."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, without computing it first."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable draw from the categorical distribution with ``logits`` along ``dim`` (Jang et al. 2017).

    ``hard=True`` gives one-hot values whose gradients are those of the soft ones. ``eps`` has no effect.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.")
    gumbels = -fb.empty_like(logits, memory_format=fb.contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = fb.zeros_like(logits, memory_format=fb.contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft  # the value of the first, the gradient of the last
