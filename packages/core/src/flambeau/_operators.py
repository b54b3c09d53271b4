"""Python's operators on tensors. The hot ones test for a tensor, a float or an int, and call C at once."""

from __future__ import annotations

from typing import Any

from ._binding import CONVERT_ERRORS, ONE, raise_error
from ._gen import functions as _f
from ._native import ffi, lib
from ._tensor_base import Tensor
from ._types import wrap

NULL = ffi.NULL
_numbers = (int, float, complex, bool)

_TEMPLATE = """
def {dunder}(self, other):
    kind = other.__class__
    try:
        if kind is float: h = _d(self._h, other, {out})
        elif kind is int: h = _i(self._h, other, {out})
        else: h = _t(self._h, other._h{extra}, {out})
    except _errors:
        return _slow(self, other)
    {finish}
"""


def _compile(dunder: str, op: str, extra: str, inplace: bool, slow: Any) -> Any:
    """A dunder with its own code, so that the usual operand types take the fewest steps."""
    code = _TEMPLATE.format(dunder=dunder, extra=extra, out="self._h" if inplace else "NULL",
                            finish="if not h: _raise()\n    return self" if inplace else "return _wrap(h)")
    names = {
        "_d": getattr(lib, f"fbp_{op}_d"), "_i": getattr(lib, f"fbp_{op}_i"), "_t": getattr(lib, f"fbp_{op}"), "NULL": NULL, "ONE": ONE,
        "_errors": CONVERT_ERRORS, "_slow": slow, "_raise": raise_error, "_wrap": wrap,
    }  # fmt: skip
    exec(code, names)
    return names[dunder]


def _foreign(x: Any) -> Any:
    """A NumPy array or scalar as an operand; None where Python should try the other side."""
    if isinstance(x, (Tensor, *_numbers)):
        return x
    if type(x).__module__ == "numpy" and hasattr(x, "ndim"):
        from ._creation import as_tensor

        return as_tensor(x) if x.ndim else x.item()
    return None


def _slow_binary(fn: Any) -> Any:
    def slow(self: Tensor, other: Any) -> Any:
        value = _foreign(other)
        return NotImplemented if value is None else fn(self, value)

    return slow


_METHODS = _f.METHODS
for _dunder, _op, _extra in (
    ("add", "add", ", ONE"), ("sub", "sub", ", ONE"), ("mul", "mul", ""), ("truediv", "div", ""), ("pow", "pow", ""), ("mod", "remainder", ""),
    ("floordiv", "floor_divide", ""),
):  # fmt: skip
    setattr(Tensor, f"__{_dunder}__", _compile(f"__{_dunder}__", _op, _extra, False, _slow_binary(_METHODS[_op])))
    setattr(Tensor, f"__i{_dunder}__", _compile(f"__i{_dunder}__", _op, _extra, True, _slow_binary(_METHODS[_op + "_"])))
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_op}__", _compile(f"__{_op}__", _op, "", False, _slow_binary(_METHODS[_op])))

Tensor.__radd__ = Tensor.__add__
Tensor.__rmul__ = Tensor.__mul__


def _reflected(fn: Any) -> Any:
    return lambda self, other: NotImplemented if (v := _foreign(other)) is None else fn(self, v)


def _with_number_first(fn: Any) -> Any:
    """f(number, self) for an operator whose first operand may be a number."""
    return lambda self, other: NotImplemented if (v := _foreign(other)) is None else fn(v, self)


Tensor.__rsub__ = _reflected(_METHODS["rsub"])
Tensor.__rtruediv__ = _reflected(lambda self, v: self.reciprocal() * v)
Tensor.__rdiv__ = Tensor.__rtruediv__
Tensor.__div__ = Tensor.__truediv__
Tensor.__rpow__ = _with_number_first(lambda v, self: _f.ROOT["pow"](v, self))
Tensor.__rmod__ = _with_number_first(lambda v, self: _f.ROOT["remainder"](v, self))
Tensor.__rfloordiv__ = _with_number_first(lambda v, self: _f.ROOT["floor_divide"](v, self))


def _plain(dunder: str, fn: Any) -> None:
    setattr(Tensor, dunder, lambda self, other: NotImplemented if (v := _foreign(other)) is None else fn(self, v))


for _dunder, _op in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "bitwise_left_shift"),
                     ("rshift", "bitwise_right_shift")):  # fmt: skip
    _plain(f"__{_dunder}__", _METHODS[_op])
    _plain(f"__i{_dunder}__", _METHODS[_op + "_"])
    setattr(Tensor, f"__r{_dunder}__", _with_number_first(_f.ROOT[_op]))

Tensor.__neg__ = _METHODS["neg"]
Tensor.__pos__ = lambda self: self
Tensor.__abs__ = _METHODS["abs"]


Tensor.__invert__ = _METHODS["bitwise_not"]


def _rmatmul(self: Tensor, other: Any) -> Any:
    value = _foreign(other)
    return _METHODS["matmul"](value, self) if isinstance(value, Tensor) else NotImplemented


def _matmul(self: Tensor, other: Any) -> Any:
    value = other if isinstance(other, Tensor) else _foreign(other)
    return _METHODS["matmul"](self, value) if isinstance(value, Tensor) else NotImplemented


Tensor.__matmul__ = _matmul
Tensor.__rmatmul__ = _rmatmul
