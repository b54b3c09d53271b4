"""Arithmetic with several forms: rounding modes, limits, closeness."""

from __future__ import annotations

from typing import Any

from ._creation import tensor
from ._dtype import bool_, promote_types
from ._functions import alias, export, inplace_row, method, only_method, row
from ._gen.functions import METHODS, ROOT
from ._tensor_base import Tensor

_div, _div_inplace = ROOT["div"], METHODS["div_"]
_ROUNDED = {"trunc": "div_trunc", "floor": "div_floor"}


def _rounded(rounding_mode: Any) -> str:
    try:
        return _ROUNDED[rounding_mode]
    except (KeyError, TypeError):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'") from None


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, element by element; integers become the default dtype first, unless rounding_mode is "trunc" (towards zero) or
    "floor" (down)."""
    if rounding_mode is None:
        return _div(input, other, out=out)
    return row(_rounded(rounding_mode))(input, other, out=out)


@only_method
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """In-place form of `div`."""
    if rounding_mode is None:
        return _div_inplace(self, other)
    return inplace_row(_rounded(rounding_mode))(self, other)


@export
def true_divide(dividend: Any, divisor: Any, *, out: Tensor | None = None) -> Tensor:
    """`div` without rounding."""
    return _div(dividend, divisor, out=out)


Tensor.true_divide = lambda self, value: _div(self, value)
Tensor.true_divide_ = _div_inplace
alias("divide", div)
Tensor.divide_ = div_
for _name, _op in (("multiply", "mul"), ("subtract", "sub"), ("negative", "neg"), ("absolute", "abs"), ("greater", "gt"), ("less", "lt"),
                   ("greater_equal", "ge"), ("less_equal", "le"), ("not_equal", "ne"), ("arcsin", "asin"), ("arccos", "acos"),
                   ("arctan", "atan"), ("arctan2", "atan2"), ("arcsinh", "asinh"), ("arccosh", "acosh"), ("arctanh", "atanh"), ("fix", "trunc"),
                   ("clip", "clamp")):  # fmt: skip
    alias(_name, ROOT[_op])
    if _op + "_" in METHODS:
        setattr(Tensor, _name + "_", METHODS[_op + "_"])

_clamp, _clamp_inplace = ROOT["clamp"], METHODS["clamp_"]


@method
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """The larger of each element and ``min``."""
    return _clamp(input, min, None, out=out)


@method
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each element and ``max``."""
    return _clamp(input, None, max, out=out)


@only_method
def clamp_min_(self: Tensor, min: Any) -> Tensor:
    return _clamp_inplace(self, min, None)


@only_method
def clamp_max_(self: Tensor, max: Any) -> Tensor:
    return _clamp_inplace(self, None, max)


@method
def positive(input: Tensor) -> Tensor:
    """The input itself. RuntimeError for bool."""
    if input.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@export
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with memory of its own; gradients flow through it."""
    return input.clone(memory_format=memory_format)


@export
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of input's shape and dtype filled with ``value``, a number or a 0-d tensor."""
    return input.clone().fill_(value)


def zero_(input: Tensor) -> Tensor:
    """Sets every element of the input to 0."""
    return input.zero_()


export(zero_, "zero_")


def _check_tolerance(rtol: float, atol: float) -> None:
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol}")


@method
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|, or both are equal (infinities; with equal_nan, NaN). RuntimeError where dtypes differ."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    _check_tolerance(rtol, atol)
    close = input == other
    if equal_nan and (input.dtype.is_floating_point or input.dtype.is_complex):
        close = close | ((input != input) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    if not (other.dtype.is_floating_point or other.dtype.is_complex):
        from ._dtype import get_default_dtype

        allowed = atol + (rtol * other.to(get_default_dtype())).abs()
        error = (input - other).abs() if input.dtype is not bool_ else (input != other).to(get_default_dtype())
    else:
        allowed = atol + (rtol * other).abs()
        error = (input - other).abs()
    return close | (error.isfinite() & (error <= allowed))


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and elements."""
    if input.shape != other.shape:
        return False
    if input.device != other.device:
        raise RuntimeError(f"Cannot compare two tensors on different devices. Got: {input.device} and {other.device}")
    return bool((input == other).all().item())


@method
def isreal(input: Tensor) -> Tensor:
    """Where the imaginary part is 0."""
    if input.dtype.is_complex:
        return input.imag == 0
    return input.detach().to(bool_).fill_(True) if input.device.num == 0 else input.to(bool_)


@method
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent in float64, or complex128 where either is complex."""
    from ._dtype import complex128, float64

    parts = [v for v in (input, exponent)]
    is_complex = any(v.dtype.is_complex if isinstance(v, Tensor) else isinstance(v, complex) for v in parts)
    wide = complex128 if is_complex else float64
    base, power = (v.to(wide) if isinstance(v, Tensor) else tensor(v, dtype=wide) for v in parts)
    return ROOT["pow"](base, power, out=out)


@only_method
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    result = float_power(self, exponent)
    if promote_types(self.dtype, result.dtype) is not self.dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {result.dtype}")
    return self.copy_(result)

export(row("complex"), "complex")
