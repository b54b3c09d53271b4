"""Filling tensors with starting values.

All functions work in place, without recording gradients, and return the tensor. They draw the same numbers as
PyTorch: a seed gives the same weights.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import flambeau as fb
from flambeau import Tensor

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a nonlinearity shrinks the standard deviation of normal inputs, inverted.

    ``param`` is the negative slope of ``leaky_relu``. Raises ValueError for an unknown name.
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        # Half of the variance passes unchanged, half is scaled by slope**2.
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4  # found by experiment: PyTorch's choice
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draws from the uniform distribution on [a, b)."""
    with fb.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draws from the normal distribution."""
    with fb.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Draws from the normal distribution cut off outside [a, b] (values, not standard deviations).

    By rejection: values outside are drawn again. Where few normal values would fall inside, the proposals are uniform
    on [a, b], each kept with a probability in proportion to the density there.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor

    def cdf(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    with fb.no_grad():
        if cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3:
            _reject_normal(tensor, mean, std, a, b, generator)
        else:
            _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _reject_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    # The bounds as the tensor's dtype rounds them: a value that rounded onto one is inside.
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while outside.any():
        # A whole tensor each round, of which only the missing values are used: so do PyTorch's seeds.
        tensor.copy_(fb.where(outside, fb.empty_like(tensor).normal_(mean, std, generator=generator), tensor))
        outside = (tensor < low) | (tensor > high)


def _reject_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # of the density, on [a, b]
    missing = fb.ones_like(tensor, dtype=fb.bool)
    drawn = fb.empty_like(tensor)
    chance = fb.empty_like(tensor)
    while missing.any():
        drawn.uniform_(a, b, generator=generator)
        tensor.copy_(fb.where(missing, drawn, tensor))
        drawn.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        missing &= chance.uniform_(generator=generator).log_() > drawn


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with ``val``."""
    with fb.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    with fb.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity, as far as it goes. Raises ValueError for another number of dimensions."""
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    with fb.no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes a convolution's weight pass its input channels through, as many as there are in each group.

    Shape: 3, 4 or 5 dimensions, (out, in / groups, ...). Raises ValueError for others, or when ``groups`` doesn't
    divide the first.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.dim()}")
    out, inputs, *kernel = tensor.shape
    if out % groups != 0:
        raise ValueError(f"dim 0 ({out}) must be divisible by groups ({groups})")
    per_group = out // groups
    centre = [n // 2 for n in kernel]
    with fb.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, inputs)):
                tensor[(g * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and the converse, for a weight of shape (out, in, *kernel)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inputs, *kernel = tensor.shape
    field = math.prod(kernel)
    return inputs * field, out * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform with the variance gain**2 * 2 / (fan_in + fan_out) of Glorot and Bengio (2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with the variance gain**2 * 2 / (fan_in + fan_out) of Glorot and Bengio (2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """gain / sqrt(fan) of He et al. (2015); None for a tensor with no elements, which needs none."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform with the standard deviation gain / sqrt(fan) of He et al. (2015).

    ``a`` is the negative slope of ``leaky_relu``, ``mode`` says which fan.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal with the standard deviation gain / sqrt(fan) of He et al. (2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A (semi-)orthogonal matrix, drawn evenly from all, times ``gain``; later dimensions count as one.

    The Q of a normal matrix's QR decomposition, with signs chosen so that R's diagonal is positive (Mezzadri 2007).
    """
    if tensor.dim() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with fb.no_grad():
        flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
        if rows < cols:
            flat.t_()
        q, r = fb.linalg.qr(flat)
        q *= fb.diag(r, 0).sign()
        if rows < cols:
            q.t_()
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal values, but a share of ``sparsity`` of each column, drawn at random, is zero (Martens 2010)."""
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    rows, cols = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with fb.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            # Without the generator, as PyTorch: it only draws the values.
            tensor[fb.randperm(rows)[:zeros], col] = 0
    return tensor


def _old_name(function: Any) -> Any:
    new, old = function.__name__, function.__name__[:-1]

    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The old name of ``{new}``."
    return deprecated


uniform = _old_name(uniform_)
normal = _old_name(normal_)
constant = _old_name(constant_)
eye = _old_name(eye_)
dirac = _old_name(dirac_)
xavier_uniform = _old_name(xavier_uniform_)
xavier_normal = _old_name(xavier_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
kaiming_normal = _old_name(kaiming_normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
