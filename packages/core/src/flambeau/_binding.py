"""What the generated wrappers share: constants, conversions of the fast path, and the slow path.

The slow path takes any operator's arguments as they were given, converts each by its declared type (numbers to 0-d
tensors, NumPy integers to ints, an int to a list...), and says what is wrong where that cannot be done.
"""

from __future__ import annotations

import operator
from typing import Any

from ._device import device
from ._dtype import as_dtype
from ._errors import raise_error
from ._native import ffi, lib
from ._tensor_base import Tensor, handle_slot, new_tensor

NULL = ffi.NULL
ABSENT = -(2**63)
ONE = lib.fbp_scalar_int(1)
ZERO = lib.fbp_scalar_int(0)
NO_SCALAR = ffi.new("fb_scalar *")[0]
NO_DEVICE = ffi.new("fb_device *", (-1, -1))[0]
CONVERT_ERRORS = (TypeError, AttributeError, OverflowError)
release = lib.fb_release
_handle_of = handle_slot.__get__
_make_float, _make_int, _make_bool, _make_complex = lib.fbp_scalar_float, lib.fbp_scalar_int, lib.fbp_scalar_bool, lib.fbp_scalar_complex


def scalar(value: Any) -> Any:
    """An fb_scalar from a Python number, a NumPy one or a tensor of one element; TypeError otherwise."""
    kind = value.__class__
    if kind is float:
        return _make_float(value)
    if kind is int:
        if -(2**63) <= value < 2**63:
            return _make_int(value)
        if 0 <= value < 2**64:  # uint64: the bits, and the value as a double
            s = ffi.new("fb_scalar *", (2, value - 2**64, float(value), 0.0))
            return s[0]
        raise OverflowError(f"Python integer {value} does not fit in 64 bits")
    if kind is bool:
        return _make_bool(value)
    if kind is complex:
        return _make_complex(value.real, value.imag)
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise TypeError(f"only one element tensors can be converted to Python scalars, got shape {tuple(value.shape)}")
        return scalar(value.item())
    for base in (bool, int, float, complex):
        if isinstance(value, base):
            return scalar(base(value))
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a NumPy scalar
        return scalar(value.item())
    if hasattr(value, "__index__"):
        return scalar(operator.index(value))
    raise TypeError(f"must be Number, not {kind.__name__}")


def device_of(value: Any) -> Any:
    return (value if type(value) is device else device(value)).c


class Spec:
    """An operator's Python side, for the slow path."""

    __slots__ = ("name", "call", "args", "n_results", "hidden", "structure", "inplace_only", "may_return_self", "module")

    def __init__(self, *fields: Any) -> None:
        for name, value in zip(self.__slots__, fields, strict=True):
            setattr(self, name, value)


def _wrong(spec: Spec, i: int, what: str, value: Any) -> TypeError:
    name = spec.args[i][0]
    return TypeError(f"{spec.name}(): argument '{name}' (position {i + 1}) must be {what}, not {type(value).__name__}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) or (
        hasattr(value, "dtype") and hasattr(value, "item") and not isinstance(value, Tensor) and getattr(value, "ndim", 1) == 0
    )


def real_handle(t: Tensor) -> Any:
    """The handle of any tensor, also of a subclass that hides it from the fast path."""
    return _handle_of(t)


def handle_of(t: Tensor) -> Any:
    """The handle: the fast way, or `real_handle`."""
    try:
        return t._h
    except AttributeError:
        return real_handle(t)


def _tensor(spec: Spec, i: int, value: Any, keep: list) -> Any:
    if isinstance(value, Tensor):
        return real_handle(value)
    if _is_number(value) and spec.args[i][3]:
        h = lib.fbp_wrapped(scalar(value))
        if not h:
            raise_error()
        keep.append(new_tensor(h))
        return h
    raise _wrong(spec, i, "Tensor", value)


def index(value: Any) -> int:
    """An int from an int, a NumPy integer or an integer tensor of one element; TypeError otherwise."""
    if value.__class__ is int:
        return value
    if isinstance(value, Tensor):
        if value.numel() != 1 or value.dtype.is_floating_point or value.dtype.is_complex:
            raise TypeError(f"expected an integer, got a tensor of dtype {value.dtype} and shape {tuple(value.shape)}")
        return int(value.item())
    if isinstance(value, float):
        raise TypeError("float")
    return operator.index(value)


def _ints(spec: Spec, i: int, value: Any, width: int) -> list[int]:
    try:
        if isinstance(value, (tuple, list)) or (hasattr(value, "__iter__") and not isinstance(value, (str, Tensor))):
            return [index(v) for v in value]
        if isinstance(value, Tensor) and value.dim() == 1:
            return [int(v) for v in value.tolist()]
        return [index(value)] * max(1, width)
    except TypeError:
        raise _wrong(spec, i, "tuple of ints", value) from None


def _convert(spec: Spec, i: int, value: Any, out: list, keep: list) -> None:
    """Appends what C takes for argument i."""
    name, kind, width, _ = spec.args[i]
    if value is None and kind.endswith("?"):
        none: dict[str, tuple] = {
            "Tensor?": (NULL,), "Scalar?": (NO_SCALAR,), "int?": (ABSENT,), "int[]?": (NULL, -1), "float?": (NO_SCALAR,),
            "float[]?": (NULL, -1), "bool?": (-1,), "str?": (NULL,), "dtype?": (-1,), "device?": (NO_DEVICE,), "Generator?": (NULL,),
        }  # fmt: skip
        out.extend(none[kind])
        return
    base = kind.rstrip("?")
    if base == "Tensor":
        out.append(_tensor(spec, i, value, keep))
    elif base in ("Tensor[]", "Tensor?[]"):
        if isinstance(value, Tensor) or not hasattr(value, "__iter__"):
            raise _wrong(spec, i, "tuple of Tensors", value)
        items = list(value)
        handles = [NULL if t is None and base == "Tensor?[]" else _tensor(spec, i, t, keep) for t in items]
        keep.append(items)
        out.extend((handles, len(handles)))
    elif base in ("Scalar", "float"):
        try:
            s = scalar(value)
        except TypeError:
            raise _wrong(spec, i, "Number" if base == "Scalar" else "float", value) from None
        if base == "float" and not kind.endswith("?"):
            if s.kind == 4:
                raise _wrong(spec, i, "float", value)
            out.append(s.i if s.kind in (1, 2) else s.re)
        else:
            out.append(s)
    elif base == "int":
        try:
            out.append(index(value))
        except TypeError:
            raise _wrong(spec, i, "int", value) from None
    elif base == "int[]":
        values = _ints(spec, i, value, width)
        out.extend((values, len(values)))
    elif base == "float[]":
        values = [float(v) for v in (value if isinstance(value, (tuple, list)) else [value])]  # type: ignore[misc]
        out.extend((values, len(values)))
    elif base == "bool":
        if isinstance(value, Tensor) and value.numel() == 1:
            value = bool(value)
        if not isinstance(value, (bool, int)) and type(value).__name__ not in ("bool_", "bool"):
            raise _wrong(spec, i, "bool", value)
        out.append(bool(value))
    elif base == "str":
        if not isinstance(value, str):
            raise _wrong(spec, i, "str", value)
        keep.append(b := value.encode())
        out.append(b)
    elif base == "dtype":
        try:
            out.append(as_dtype(value).num)
        except TypeError:
            raise _wrong(spec, i, "torch.dtype", value) from None
    elif base == "device":
        out.append(device_of(value))
    elif base == "Generator":
        if not hasattr(value, "_h"):
            raise _wrong(spec, i, "torch.Generator", value)
        out.append(value._h)


def overridden(values: Any) -> list[Any]:
    """The arguments whose type overrides ``__torch_function__``, subclasses first."""
    found: list[Any] = []
    for v in values:
        for t in v if type(v) in (list, tuple) else (v,):
            override = getattr(type(t), "__torch_function__", None)
            # Each access binds a classmethod anew: what it wraps tells whether it is Tensor's own.
            own = getattr(override, "__func__", override) is Tensor.__torch_function__.__func__
            if override is not None and not own and not any(type(t) is type(f) for f in found):
                found.append(t)
    return found


def _override(spec: Spec, values: tuple, extra: dict) -> Any:
    found = overridden((*values, *extra.values()))
    if not found:
        return NotImplemented
    from . import _overrides

    return _overrides.call(spec, found, values, extra)


def _arguments(spec: Spec, values: tuple) -> tuple[list, list]:
    converted: list = []
    keep: list = []
    for i, value in enumerate(values):
        _convert(spec, i, value, converted, keep)
    return converted, keep


def _call(spec: Spec, converted: list) -> Any:
    try:
        return spec.call(*converted)
    except OverflowError as error:
        raise OverflowError(f"{spec.name}(): an integer argument is out of the range of int64 ({error})") from None


def unpack_list(result: Any) -> tuple[Tensor, ...]:
    out = tuple([new_tensor(h) for h in ffi.unpack(result.t, result.n)]) if result.n else ()
    lib.fbp_list_free(result)
    return out


def slow(spec: Spec, values: tuple) -> Any:
    """Calls the operator with converted arguments and wraps its results."""
    result = _override(spec, values, {})
    if result is not NotImplemented:
        return result
    converted, keep = _arguments(spec, values)
    result = _call(spec, converted + [NULL] * (0 if spec.inplace_only else spec.n_results))
    return _wrap(spec, values, result)


def _wrap(spec: Spec, values: tuple, result: Any) -> Any:
    if spec.n_results == 0:
        if not result:
            raise_error()
        return unpack_list(result)
    if spec.n_results == 1:
        if not result:
            raise_error()
        if spec.inplace_only:
            return values[0]
        if spec.may_return_self and isinstance(values[0], Tensor) and result == real_handle(values[0]):
            release(result)
            return values[0]
        return new_tensor(result)
    if not result.t0:
        raise_error()
    tensors = [new_tensor(getattr(result, f"t{i}")) for i in range(spec.n_results)][: spec.n_results - spec.hidden]
    if len(tensors) == 1:
        return tensors[0]
    return spec.structure(tensors) if spec.structure else tuple(tensors)


def slow_inplace(spec: Spec, values: tuple) -> Any:
    """The in-place form: the first argument is written and returned."""
    result = _override(spec, values, {})
    if result is not NotImplemented:
        return result
    if not isinstance(values[0], Tensor):
        raise _wrong(spec, 0, "Tensor", values[0])
    converted, keep = _arguments(spec, values)
    if not _call(spec, converted if spec.inplace_only else [*converted, converted[0]]):
        raise_error()
    return values[0]


def slow_out(spec: Spec, values: tuple, out: Any) -> Any:
    """The form with ``out=``: a tensor, or a tuple of as many as there are results."""
    result = _override(spec, values, {"out": out})
    if result is not NotImplemented:
        return result
    n = spec.n_results - spec.hidden
    outs = (out,) if n == 1 else out if isinstance(out, (tuple, list)) else ()
    if len(outs) != n or not all(isinstance(o, Tensor) for o in outs):
        what = "Tensor" if n == 1 else f"tuple of {n} Tensors"
        raise TypeError(f"{spec.name}(): argument 'out' must be {what}, not {type(out).__name__}")
    converted, keep = _arguments(spec, values)
    handles = [real_handle(o) for o in outs]
    if values and isinstance(values[0], Tensor) and handles[0] == real_handle(values[0]):
        # out *is* the input: an alias, so that C does not take the call for the in-place form (which may not resize)
        alias = lib.fb_alias(handles[0])
        if not alias:
            raise_error()
        keep.append(new_tensor(alias))
        converted[0] = alias
    result = _call(spec, converted + handles)
    for o in outs:
        o.__dict__.pop("shape", None)  # it may have been resized
    if not (result if n == 1 and spec.n_results == 1 else result.t0):
        raise_error()
    return out if n == 1 else spec.structure(outs) if spec.structure else tuple(outs)
