"""Functions that make tensors from values, or from nothing but a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ._binding import ONE, ZERO, index, raise_error, real_handle, scalar
from ._device import CPU, _stack, device, device_number
from ._dtype import as_dtype, bool_, complex64, complex128, dtype, float64, get_default_dtype, int64, promote_types
from ._errors import lent
from ._native import ffi, lib
from ._size import memory_format, preserve_format, strided
from ._tensor_base import Tensor, new_tensor, set_handle
from ._types import wrap

_NULL = ffi.NULL
_default_num = lib.fb_default_dtype_num
_zeros_c, _full_like_c = lib.fbp_zeros_plain, lib.fbp_full_like


def _finish(t: Tensor, requires_grad: bool) -> Tensor:
    return t.requires_grad_() if requires_grad else t


def _shape(size: tuple, keywords: str = "size") -> list[int]:
    """The sizes of f(2, 3), f((2, 3)) or f([2, 3])."""
    if len(size) == 1 and size[0].__class__ is not int:
        first = size[0]
        if isinstance(first, (tuple, list)):
            size = tuple(first)
        elif isinstance(first, Tensor) and first.dim() == 1:
            size = tuple(first.tolist())
    try:
        return [s if s.__class__ is int else index(s) for s in size]
    except TypeError:
        raise TypeError(f"argument '{keywords}' must be tuple of ints, not {size!r}") from None


def _check_layout(layout: Any, pin_memory: bool = False) -> None:
    if layout is not None and layout is not strided:
        raise RuntimeError(f"layout={layout}: the core makes strided tensors; sparse ones come with flambeau-sparse")


def _new(sizes: list[int], dt: dtype | None, dev: Any) -> Tensor:
    num = _default_num() if dt is None else as_dtype(dt).num
    return new_tensor(lib.fbp_empty(sizes, len(sizes), num, device_number(dev)))


def empty(*size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: memory_format | None = None) -> Tensor:
    """A tensor of the given shape whose elements are not set."""
    sizes = _shape(size)
    _check_layout(layout)
    if out is not None:
        return _resize_out(out, sizes, dtype)
    t = _new(sizes, dtype, device)
    if memory_format is not None and memory_format.num >= 2:
        t = _like_format(t, memory_format)
    return _finish(t, requires_grad)


def _like_format(t: Tensor, fmt: memory_format) -> Tensor:
    from ._size import channels_last_strides

    sizes = list(t.shape)
    if len(sizes) != (4 if fmt.num == 2 else 5):
        raise RuntimeError(f"required rank {4 if fmt.num == 2 else 5} tensor to use {fmt.name} format")
    return empty_strided(sizes, channels_last_strides(tuple(sizes)), dtype=t.dtype, device=t.device)


def _resize_out(out: Tensor, sizes: list[int], dt: dtype | None) -> Tensor:
    if dt is not None and as_dtype(dt) is not out.dtype:
        raise RuntimeError(f"dtype {dt} does not match dtype of out parameter ({out.dtype})")
    if list(out.shape) != sizes:
        out.resize_(sizes)
    return out


def empty_strided(size: Sequence[int], stride: Sequence[int], *, dtype: dtype | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given shape and strides (in elements) whose elements are not set."""
    sizes, strides = _shape((size,)), _shape((stride,), "stride")
    if len(sizes) != len(strides):
        raise RuntimeError(f"size {tuple(sizes)} and stride {tuple(strides)} must have the same length")
    num = _default_num() if dtype is None else as_dtype(dtype).num
    h = lib.fbp_empty_strided(sizes, strides, len(sizes), num, device_number(device))
    return _finish(new_tensor(h), requires_grad)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], *, dtype: dtype | None = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A dense tensor whose dimensions lie in memory in the order ``physical_layout``, outermost first; elements are not set."""
    sizes, order = _shape((size,)), _shape((physical_layout,), "physical_layout")
    if sorted(order) != list(range(len(sizes))):
        raise RuntimeError(f"physical_layout={tuple(order)} must be a permutation of the {len(sizes)} dimensions")
    strides = [0] * len(sizes)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(sizes[d], 1)
    return empty_strided(sizes, strides, dtype=dtype, device=device, requires_grad=requires_grad)


def zeros(*size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given shape filled with 0."""
    if dtype is device is out is layout is None and not requires_grad and _stack[-1] is CPU:  # the usual case, without detours
        try:
            return wrap(_zeros_c(size, len(size)))
        except TypeError:  # a tuple, a NumPy integer, a tensor ...
            pass
    sizes = _shape(size)
    if layout is not None:
        _check_layout(layout)
    if out is not None:
        return _resize_out(out, sizes, dtype).zero_()
    num = _default_num() if dtype is None else as_dtype(dtype).num
    t = new_tensor(lib.fbp_zeros(sizes, len(sizes), num, device_number(device)))
    return t.requires_grad_() if requires_grad else t


def _filled(sizes: list[int], value: Any, dt: dtype, dev: Any) -> Tensor:
    return new_tensor(lib.fbp_full(sizes, len(sizes), scalar(value), dt.num, device_number(dev)))


def ones(*size: Any, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given shape filled with 1."""
    sizes = _shape(size)
    _check_layout(layout)
    if out is not None:
        return _resize_out(out, sizes, dtype).fill_(1)
    return _finish(_filled(sizes, 1, get_default_dtype() if dtype is None else as_dtype(dtype), device), requires_grad)


def _dtype_of_number(value: Any) -> dtype:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, complex):
        return complex128 if get_default_dtype() is float64 else complex64
    return get_default_dtype()


def full(size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given shape filled with ``fill_value``, whose type gives the dtype where none is named."""
    sizes = _shape((size,))
    _check_layout(layout)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if out is not None:
        return _resize_out(out, sizes, dtype).fill_(fill_value)
    dt = _dtype_of_number(fill_value) if dtype is None else as_dtype(dtype)
    return _finish(_filled(sizes, fill_value, dt, device), requires_grad)


def _like(input: Tensor, dt: dtype | None, layout: Any, dev: Any, fmt: memory_format | None) -> Tensor:
    """An unset tensor like input: its shape, and its strides where it is dense and the format is kept."""
    _check_layout(layout)
    dt = input.dtype if dt is None else as_dtype(dt)
    num = input.device.num if dev is None else device_number(dev)
    sizes = list(input.shape)
    if fmt is not None and fmt.num >= 2:
        return _like_format(_new(sizes, dt, device("meta")), fmt) if num == 1 else _like_format(_new(sizes, dt, None), fmt)
    if (fmt is None or fmt is preserve_format) and not input.is_contiguous():
        strides = _dense_strides(sizes, input.stride())
        return new_tensor(lib.fbp_empty_strided(sizes, strides, len(sizes), dt.num, num))
    return new_tensor(lib.fbp_empty(sizes, len(sizes), dt.num, num))


def _dense_strides(sizes: list[int], strides: tuple[int, ...]) -> list[int]:
    """Strides without gaps in the same order of dimensions; an expanded tensor becomes row-major."""
    if any(st == 0 and s > 1 for s, st in zip(sizes, strides, strict=True)):
        order = list(range(len(sizes)))
    else:
        order = sorted(range(len(sizes)), key=lambda i: -strides[i])
    out = [0] * len(sizes)
    step = 1
    for d in reversed(order):
        out[d] = step
        step *= max(sizes[d], 1)
    return out


def empty_like(input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: memory_format | None = None, pin_memory: bool = False) -> Tensor:
    """A tensor of input's shape, dtype and device whose elements are not set."""
    return _finish(_like(input, dtype, layout, device, memory_format), requires_grad)


def zeros_like(input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: memory_format | None = None, pin_memory: bool = False) -> Tensor:
    """A tensor of input's shape, dtype and device filled with 0."""
    if dtype is device is layout is memory_format is None and not requires_grad:
        try:
            h = _full_like_c(input._h, ZERO)
            if h:
                return wrap(h)
            lib.fb_error_clear()
        except AttributeError:
            pass
    return _finish(_like(input, dtype, layout, device, memory_format).zero_(), requires_grad)


def ones_like(input: Tensor, *, dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: memory_format | None = None, pin_memory: bool = False) -> Tensor:
    """A tensor of input's shape, dtype and device filled with 1."""
    if dtype is device is layout is memory_format is None and not requires_grad:
        try:
            h = _full_like_c(input._h, ONE)
            if h:
                return wrap(h)
            lib.fb_error_clear()
        except AttributeError:
            pass
    return _finish(_like(input, dtype, layout, device, memory_format).fill_(1), requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: dtype | None = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False) -> Tensor:
    """A tensor of input's shape, dtype and device filled with ``fill_value``."""
    return _finish(_like(input, dtype, layout, device, memory_format).fill_(fill_value), requires_grad)


# ---- from Python values ---------------------------------------------------------------------------------


def _flatten(data: Any, depth: int, shape: list[int], out: list) -> None:
    """Appends the numbers of nested sequences to out; every level must have the length that its first member has."""
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth + 1 == len(shape):
        out.extend(data)
        return
    for item in data:
        if not hasattr(item, "__len__") or isinstance(item, str):
            raise TypeError(f"expected a sequence of length {shape[depth + 1]} at dim {depth + 1}, got {type(item).__name__}")
        _flatten(item, depth + 1, shape, out)


def _is_sequence(x: Any) -> bool:
    return x.__class__ in (list, tuple) or (
        hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (str, bytes, dict, Tensor)) and not _is_array(x)
    )


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array_interface__") or type(x).__module__ == "numpy"


def _infer_dtype(values: list) -> dtype:
    kinds = {v.__class__ for v in values}
    if kinds <= {float}:
        return get_default_dtype()
    if complex in kinds or any(isinstance(v, complex) for v in values):
        return _dtype_of_number(1j)
    if float in kinds or any(isinstance(v, float) for v in values):
        return get_default_dtype()
    if kinds <= {bool}:
        return bool_
    return int64


def _from_sequence(data: Any, dt: dtype | None) -> Tensor:
    shape: list[int] = []
    first = data
    while _is_sequence(first):
        shape.append(len(first))
        if len(first) == 0:
            break
        first = first[0]
    values: list = []
    _flatten(data, 0, shape, values)
    if values and any(isinstance(v, Tensor) or _is_array(v) for v in values):
        if isinstance(first, Tensor) and first.dim() > 0 or getattr(first, "ndim", 0) > 0:
            rows = [v.tolist() if hasattr(v, "tolist") else v for v in values]
            inferred = as_tensor_dtype(first) if dt is None else dt
            return _from_sequence(rows, inferred).reshape([*shape, *first.shape])
        dt = _common_dtype(values) if dt is None else dt
        values = [v.item() if hasattr(v, "item") else v for v in values]
    dt = _infer_dtype(values) if dt is None else dt
    return _from_values(values, shape, dt)


def _common_dtype(values: list) -> dtype:
    """The dtype that tensors, NumPy's numbers and Python's promote to, each with the dtype that it would have alone."""
    found = {as_tensor_dtype(v) if hasattr(v, "dtype") else _dtype_of_number(v) for v in values}
    common = found.pop()
    for d in found:
        common = promote_types(common, d)
    return common


def as_tensor_dtype(x: Any) -> dtype:
    if isinstance(x, Tensor):
        return x.dtype
    from ._numpy import from_numpy_dtype

    return from_numpy_dtype(x.dtype)


def _from_values(values: list, shape: list[int], dt: dtype) -> Tensor:
    n = len(values)
    try:
        if dt.is_complex:
            flat = [part for v in map(complex, values) for part in (v.real, v.imag)]
            return new_tensor(lib.fbp_from_complex(flat, n, shape, len(shape), dt.num))
        if dt.is_floating_point:
            return new_tensor(lib.fbp_from_doubles(values, n, shape, len(shape), dt.num))
        if dt is bool_:
            return new_tensor(lib.fbp_from_ints([1 if v else 0 for v in values], n, shape, len(shape), dt.num))
        limits = _INT_RANGES.get(dt.name)
        ints = [v if v.__class__ is int else int(v) for v in values]
        if limits and ints and (min(ints) < limits[0] or max(ints) > limits[1]):
            raise RuntimeError(f"value cannot be converted to type {dt.name} without overflow")
        if dt.name == "uint64":
            ints = [v - 2**64 if v >= 2**63 else v for v in ints]
        return new_tensor(lib.fbp_from_ints(ints, n, shape, len(shape), dt.num))
    except OverflowError:
        raise RuntimeError(f"Overflow when unpacking long: a value does not fit into {dt}") from None
    except TypeError:
        bad = next((v for v in values if not isinstance(v, (int, float, complex)) and not hasattr(v, "__float__")), None)
        if isinstance(bad, str):
            raise TypeError(f"new(): invalid data type 'str' ({bad!r})") from None
        if bad is None:
            raise TypeError(f"the values cannot be converted to {dt}") from None
        if _is_sequence(bad):
            raise TypeError(f"must be real number, not {type(bad).__name__}") from None
        raise RuntimeError(f"Could not infer dtype of {type(bad).__name__}") from None


_INT_RANGES = {
    "uint8": (-255, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1),
    "uint16": (-(2**16) + 1, 2**16 - 1), "uint32": (-(2**32) + 1, 2**32 - 1), "uint64": (0, 2**64 - 1),
}  # fmt: skip


def tensor(data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new tensor that holds ``data``: a number, nested sequences of numbers, a NumPy array or a tensor (copied, without history).

    The dtype is ``data``'s own, or that of its numbers. ValueError where nested sequences have different lengths.
    """
    dt = None if dtype is None else as_dtype(dtype)
    if data.__class__ is list or data.__class__ is tuple:
        if dt is None and data and data[0].__class__ is float and all([v.__class__ is float for v in data]):
            n = len(data)
            t = new_tensor(lib.fbp_from_doubles(data, n, (n,), 1, _default_num()))  # the usual case, without detours
            if device is None and len(_stack) == 1 and _stack[0].num == 0:
                return t.requires_grad_() if requires_grad else t
        else:
            t = _from_sequence(data, dt)
    elif isinstance(data, Tensor):
        t = data.detach().to(dt or data.dtype, copy=True)
    elif isinstance(data, (bool, int, float, complex)) and not _is_array(data):  # NumPy's float64 is a float, too
        if dt is None:
            dt = _dtype_of_number(data)
        t = _from_values([data], [], dt)
    elif _is_array(data) or hasattr(data, "__array__"):
        from ._numpy import from_array

        t = from_array(data, copy=True)
        t = t if dt is None else t.to(dt)
    elif _is_sequence(data):
        t = _from_sequence(data, dt)
    elif hasattr(data, "__index__"):
        t = _from_values([index(data)], [], dt or int64)
    elif isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    else:
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    num = device_number(device if device is not None or not isinstance(data, Tensor) else data.device)
    if num != t.device.num:
        t = t.to("meta" if num == 1 else "cpu")
    return t.requires_grad_() if requires_grad else t


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: shared where it is a tensor or NumPy array of the wanted dtype and device, else copied."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype or data.dtype, device=device or data.device)
    if _is_array(data) and hasattr(data, "strides"):
        from ._numpy import from_array

        t = from_array(data, copy=False)
        return t.to(dtype=dtype or t.dtype, device=device or t.device)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """``obj`` as a tensor; ``copy=False`` raises ValueError where a copy would be needed, ``copy=True`` always copies."""
    t = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    if copy is False and not isinstance(obj, Tensor) and not _is_array(obj):
        raise ValueError("can't alias arbitrary sequence into a tensor")
    if copy is False and (dtype is not None and isinstance(obj, Tensor) and obj.dtype is not as_dtype(dtype)):
        raise ValueError(f"can't alias tensor with dtype '{obj.dtype}' into dtype '{dtype}'.")
    if isinstance(obj, Tensor) and t is obj and not requires_grad and obj.requires_grad:
        return obj.detach()
    return _finish(t, requires_grad) if not t.requires_grad else t


def scalar_tensor(s: Any, *, dtype: dtype | None = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default dtype, or of ``dtype``."""
    return _finish(_filled([], s, get_default_dtype() if dtype is None else as_dtype(dtype), device), requires_grad)


def legacy_tensor(*args: Any, device: Any = None, dtype: dtype | None = None, **kwargs: Any) -> Tensor:
    """``Tensor(2, 3)``: unset, of that shape; ``Tensor([1, 2])``: of those values, in the default dtype; ``Tensor(t)``: an alias."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], (int, tuple)) or (len(args) == 1 and type(args[0]).__name__ == "tuple" and args[0]):
        from ._size import Size

        if not isinstance(args[0], Size):
            return tensor(args[0], dtype=get_default_dtype())
    return empty(*args) if args else empty(0)


# ---- ranges -------------------------------------------------------------------------------------------------


def _number(v: Any, name: str, fn: str) -> Any:
    if isinstance(v, Tensor):
        return v.item()
    if isinstance(v, (bool, int, float, complex)):
        return v
    if hasattr(v, "item"):
        return v.item()
    raise TypeError(f"{fn}(): argument '{name}' must be Number, not {type(v).__name__}")


def _into(out: Tensor | None, t: Tensor, sizes: list[int], dt: dtype | None = None) -> Tensor:
    if out is None:
        return t
    _resize_out(out, sizes, dt)
    return out.copy_(t)


def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Tensor | None = None, dtype: dtype | None = None,
           layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """``arange(end)``, ``arange(start, end[, step])``: the 1-d tensor of start + i * step < end (> end for a negative step).

    The dtype is int64 where all three are ints, else the default one. RuntimeError for a zero step or one of the wrong sign.
    """
    given = [*args]
    if len(given) == 1:
        given = [0, given[0]] if end is None else [given[0], end]
    elif not given:
        given = [0 if start is None else start, end]
    elif len(given) > 3:
        raise TypeError(f"arange() takes 1 to 3 numbers, got {len(given)}")
    first, last = (_number(v, n, "arange") for v, n in zip(given, ("start", "end"), strict=False))
    by = _number(given[2] if len(given) == 3 else 1 if step is None else step, "step", "arange")
    if dtype is None:
        dt = int64 if all(isinstance(v, int) for v in (first, last, by)) else get_default_dtype()
        dt = out.dtype if out is not None else dt
    else:
        dt = as_dtype(dtype)
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(v) for v in (first, last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    if (last - first) * (1 if by > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (dt.is_floating_point or dt.is_complex):
        first, last, by = int(first), int(last), int(by) if int(by) != 0 else by
        n = -((first - last) // by) if isinstance(by, int) else math.ceil((last - first) / by)
    else:
        n = math.ceil((last - first) / by)
    n = max(int(n), 0)
    t = _ramp(n, first, by, dt, device)
    return _finish(_into(out, t, [n], dtype), requires_grad)


def _ramp(n: int, first: Any, by: Any, dt: dtype, dev: Any) -> Tensor:
    return new_tensor(lib.fbp_ramp(n, scalar(first), scalar(by), dt.num, device_number(dev)))


def range_(start: Any = 0, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False) -> Tensor:
    """start, start + step, ... up to and including end. Deprecated in PyTorch for `arange`, which excludes the end."""
    if end is None:
        start, end = 0, start
    n = math.floor((end - start) / step) + 1
    dt = (out.dtype if out is not None else get_default_dtype()) if dtype is None else as_dtype(dtype)
    return _finish(_into(out, _ramp(n, start, step, dt, device), [n]), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """``steps`` evenly spaced values from start to end, both included. RuntimeError for negative ``steps``."""
    n = index(steps)
    if n < 0:
        raise RuntimeError(f"number of steps must be non-negative, got steps={n}")
    for name, v in (("start", start), ("end", end)):
        if isinstance(v, Tensor) and v.dim() != 0:
            raise RuntimeError(f"linspace only supports 0-dimensional start and end tensors, but got {name} with {v.dim()} dimension(s).")
    first, last = _number(start, "start", "linspace"), _number(end, "end", "linspace")
    if dtype is None:
        dt = out.dtype if out is not None else _dtype_of_number(1j) if isinstance(first + last, complex) else get_default_dtype()
    else:
        dt = as_dtype(dtype)
    if isinstance(first + last, complex) and not dt.is_complex:
        raise RuntimeError(f"torch.linspace(): inferred dtype {_dtype_of_number(1j)} can't be safely cast to passed dtype {dt}")
    t = new_tensor(lib.fbp_linspace(n, scalar(first), scalar(last), dt.num, device_number(device)))
    return _finish(_into(out, t, [n], dtype), requires_grad)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """base ** e for ``steps`` evenly spaced exponents e from start to end, both included."""
    dt = (out.dtype if out is not None else get_default_dtype()) if dtype is None else as_dtype(dtype)
    wide = complex128 if dt.is_complex else float64
    exponents = linspace(start, end, steps, dtype=wide, device=device)
    t = (tensor(base, dtype=wide, device=exponents.device) ** exponents).to(dt)
    return _finish(_into(out, t, [index(steps)], dtype), requires_grad)


def eye(n: int, m: int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The n x m matrix (m = n by default) with ones on its diagonal. RuntimeError for negative sizes."""
    n = index(n)
    m = n if m is None else index(m)
    if n < 0 or m < 0:
        name, v = ("n", n) if n < 0 else ("m", m)
        raise RuntimeError(f"{name} must be greater or equal to 0, got {v}")
    _check_layout(layout)
    t = zeros(n, m, dtype=dtype, device=device) if out is None else _resize_out(out, [n, m], dtype).zero_()
    if n and m:
        t.diagonal().fill_(1)
    return _finish(t, requires_grad)


def _lend(owner: Any, address: int, nbytes: int, sizes: Sequence[int], strides: Sequence[int], dt: dtype) -> Tensor:
    """A tensor on memory that ``owner`` keeps alive."""
    handle = lent.add(owner)
    h = lib.fbp_from_memory(address, nbytes, handle, sizes, strides, len(sizes), dt.num)
    if not h:
        lent.discard(handle)
        raise_error()
    return new_tensor(h)


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with the buffer protocol, from byte ``offset``; it shares that memory.

    ValueError where the buffer is too small or its length is not a multiple of the element size.
    """
    dt = as_dtype(dtype)
    view = memoryview(buffer).cast("B")
    size = dt.itemsize
    if view.nbytes == 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
    if not 0 <= offset < view.nbytes:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.nbytes} bytes) minus 1")
    if count < 0:
        if (view.nbytes - offset) % size:
            raise ValueError(f"buffer length ({view.nbytes - offset} bytes) after offset ({offset} bytes) "
                             f"must be a multiple of element size ({size})")  # fmt: skip
        count = (view.nbytes - offset) // size
    if count == 0:
        raise ValueError(f"both buffer length ({view.nbytes}) and count ({count}) must not be 0")
    if offset + count * size > view.nbytes:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({view.nbytes} bytes)")  # fmt: skip
    raw = ffi.from_buffer(buffer)
    t = _lend((buffer, raw), int(ffi.cast("intptr_t", raw)) + offset, count * size, (count,), (1,), dt)
    return _finish(t, requires_grad)


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """An object of the Tensor subclass ``cls`` on data's memory, without history."""
    if not isinstance(data, Tensor):
        raise TypeError(f"cannot make a {cls.__name__} from {type(data).__name__}; a Tensor is needed")
    t = object.__new__(cls)
    set_handle(t, new_tensor_handle(lib.fb_alias(real_handle(data))))
    return t.requires_grad_() if require_grad else t


def new_tensor_handle(h: Any) -> Any:
    if not h:
        raise_error()
    return h


__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "frombuffer", "full", "full_like",
    "linspace", "logspace", "ones", "ones_like", "scalar_tensor", "tensor", "zeros", "zeros_like",
]  # fmt: skip
