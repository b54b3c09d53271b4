"""Tensor: what it knows of itself, and its conversions. Operators are generated; indexing, dunders and text have files of their own."""

from __future__ import annotations

from typing import Any

from . import _creation as _c
from ._binding import ABSENT, handle_of, index, raise_error, real_handle, scalar
from ._device import BY_NUM, CPU, device, device_number
from ._dtype import ALIASES, DTYPES, as_dtype, bool_, dtype
from ._gen import functions as _f
from ._native import ffi, lib
from ._size import Size, memory_format, strided
from ._tensor_base import Tensor, new_tensor
from ._types import wrap

_new_object = object.__new__
_unpack, _sizes, _strides, _ndim, _numel, _dtype = ffi.unpack, lib.fb_sizes, lib.fb_strides, lib.fb_ndim, lib.fb_numel, lib.fbp_dtype
_view_c, _expand_c, _to_copy_c, _clone_c, NULL = lib.fbp_view, lib.fbp_expand, lib.fbp_to_copy, lib.fbp_clone, ffi.NULL


def _method(fn: Any) -> Any:
    """Puts a function on Tensor under its own name."""
    setattr(Tensor, fn.__name__, fn)
    return fn


def _property(fn: Any) -> Any:
    setattr(Tensor, fn.__name__, property(fn, doc=fn.__doc__))
    return fn


# ---- shape and place ----------------------------------------------------------------------------------------


class _Shape:
    """The sizes of all dimensions. Kept in the object's own dict once asked for: Python then finds it there without a call."""

    def __get__(self, t: Any, owner: Any = None) -> Any:
        if t is None:
            return self
        h = handle_of(t)
        n = _ndim(h)
        sizes = t.__dict__["shape"] = Size(_unpack(_sizes(h), n)) if n else Size()
        return sizes


Tensor.shape = _Shape()


def forget_shape(t: Tensor) -> None:
    """After anything that changed t's geometry in place."""
    t.__dict__.pop("shape", None)


@_method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension. IndexError for a dimension out of range."""
    if dim is None:
        return self.shape
    shape = self.shape
    d = index(dim)
    n = max(len(shape), 1)
    if not -n <= d < n or not shape:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
                         if shape else f"Dimension specified as {d} but tensor has no dimensions")
    return shape[d]


@_method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours along each dimension, or along one."""
    h = handle_of(self)
    n = _ndim(h)
    strides = tuple(_unpack(_strides(h), n)) if n else ()
    if dim is None:
        return strides
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return strides[dim]


@_method
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return _ndim(handle_of(self))


@_method
def numel(self: Tensor) -> int:
    """The number of elements."""
    return _numel(handle_of(self))


Tensor.ndimension = dim
Tensor.nelement = numel
Tensor.ndim = property(dim)


@_method
def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return DTYPES[_dtype(handle_of(self))].itemsize


Tensor.itemsize = property(element_size)
Tensor.nbytes = property(lambda self: self.numel() * self.element_size())
Tensor.dtype = property(lambda self: DTYPES[_dtype(handle_of(self))], doc="The type of the elements.")
Tensor.device = property(lambda self: BY_NUM[lib.fbp_device_type(handle_of(self))], doc="Where the data lies.")
Tensor.layout = property(lambda self: strided, doc="How the data is laid out: always strided here.")
for _name in ("is_cuda", "is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_mps", "is_xpu", "is_ipu", "is_vulkan"):
    setattr(Tensor, _name, property(lambda self: False))
Tensor.is_cpu = property(lambda self: self.device.num == 0)
Tensor.is_meta = property(lambda self: self.device.num == 1)
Tensor._version = property(lambda self: _version(self), doc="How often the memory was written in place.")
Tensor.names = property(lambda self: (None,) * self.dim())


def _version(t: Tensor) -> int:
    if lib.fbp_flags(handle_of(t)) & 4:
        raise RuntimeError("Inference tensors do not track version counter.")
    return lib.fb_version_of(handle_of(t))


@_method
def storage_offset(self: Tensor) -> int:
    """Where in its storage the first element lies, in elements."""
    return lib.fb_offset(handle_of(self))


@_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 where there is no memory."""
    return int(ffi.cast("intptr_t", lib.fb_data(handle_of(self))))


def _has_strides(t: Tensor, fmt: memory_format) -> bool:
    from ._size import channels_last_strides

    sizes = tuple(t.shape)
    if len(sizes) != (4 if fmt.num == 2 else 5):
        return False
    want = channels_last_strides(sizes)
    return all(n == 1 or a == b for n, a, b in zip(sizes, t.stride(), want, strict=True)) or t.numel() == 0


@_method
def is_contiguous(self: Tensor, memory_format: memory_format | None = None) -> bool:
    """Whether the elements lie in row-major order (or in that of ``memory_format``) without gaps."""
    if memory_format is not None and memory_format.num >= 2:
        return _has_strides(self, memory_format)
    return bool(lib.fb_is_contiguous(handle_of(self)))


for _name, _test in (("is_floating_point", "is_floating_point"), ("is_complex", "is_complex"), ("is_signed", "is_signed")):
    setattr(Tensor, _name, lambda self, _test=_test: getattr(self.dtype, _test))


@_method
def is_conj(self: Tensor) -> bool:
    """Always False: conjugates are computed at once, there is no lazy conjugate bit."""
    return False


@_method
def is_neg(self: Tensor) -> bool:
    """Always False: negatives are computed at once, there is no lazy negative bit."""
    return False


@_method
def resolve_conj(self: Tensor) -> Tensor:
    return self


@_method
def resolve_neg(self: Tensor) -> Tensor:
    return self


@_method
def is_shared(self: Tensor) -> bool:
    return False


@_method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    return False


@_method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    return (lib.fbp_storage_id(handle_of(self)) == lib.fbp_storage_id(handle_of(tensor)) and self.shape == tensor.shape
            and self.stride() == tensor.stride() and self.storage_offset() == tensor.storage_offset())  # fmt: skip


@_method
def is_same_size(self: Tensor, other: Tensor) -> bool:
    return self.shape == other.shape


# ---- values out ----------------------------------------------------------------------------------------------


@_method
def item(self: Tensor) -> Any:
    """The one element as a Python number. RuntimeError unless there is exactly one."""
    h = handle_of(self)
    if _numel(h) != 1 or lib.fbp_device_type(h):
        s = ffi.new("fb_scalar *")
        lib.fbp_item(h, s)
        raise_error()
    num = _dtype(h)
    if num in _FLOAT_NUMS:
        return lib.fbp_item_double(h)
    if num == 0:
        return bool(lib.fbp_item_int(h))
    if num in (13, 14):
        s = ffi.new("fb_scalar *")
        if lib.fbp_item(h, s):
            raise_error()
        return complex(s.re, s.im)
    v = lib.fbp_item_int(h)
    return v + 2**64 if num == 8 and v < 0 else v


_FLOAT_NUMS = frozenset(d.num for d in DTYPES if d.is_floating_point)


def _nest(values: list, shape: tuple[int, ...]) -> Any:
    for n in reversed(shape[1:]):
        values = [values[i * n : (i + 1) * n] for i in range(len(values) // n)] if n else [[] for _ in range(_product(shape[:-1]))]
    return values


def _product(sizes: Any) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


def flat_values(t: Tensor) -> list:
    """All elements, row-major, as Python numbers."""
    h, n, dt = handle_of(t), t.numel(), t.dtype
    if t.device.num:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if n == 0:
        return []
    if dt.is_complex:
        buffer = ffi.new("double[]", 2 * n)
        if lib.fbp_read_doubles(h, buffer):
            raise_error()
        flat = _unpack(buffer, 2 * n)
        return [complex(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)]
    if dt.is_floating_point:
        buffer = ffi.new("double[]", n)
        if lib.fbp_read_doubles(h, buffer):
            raise_error()
        return _unpack(buffer, n)
    buffer = ffi.new("int64_t[]", n)
    if lib.fbp_read_ints(h, buffer):
        raise_error()
    values = _unpack(buffer, n)
    if dt is bool_:
        return [v != 0 for v in values]
    return [v + 2**64 if v < 0 else v for v in values] if dt.name == "uint64" else values


@_method
def _tolist(self: Tensor) -> Any:
    """`tolist` of what is not a contiguous 1-d tensor of float32, float64 or int64 (those are read in C)."""
    shape = tuple(self.shape)
    if not shape:
        return self.item()
    if 0 in shape:
        return _empty_nest(shape)
    return _nest(flat_values(self), shape)


def _empty_nest(shape: tuple[int, ...]) -> list:
    return [] if shape[0] == 0 or len(shape) == 1 else [_empty_nest(shape[1:]) for _ in range(shape[0])]


@_method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array on the same memory. RuntimeError for a tensor that requires grad, unless ``force``; TypeError on meta."""
    from ._numpy import to_numpy

    return to_numpy(self, force=force)


@_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    from ._numpy import to_numpy

    a = to_numpy(self)
    if dtype is not None and a.dtype != dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to convert {a.dtype} to {dtype}")
        return a.astype(dtype)
    return a.copy() if copy else a


Tensor.__array_priority__ = 1000


@_method
def __bool__(self: Tensor) -> bool:
    n = self.numel()
    if n != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if n == 0 else 'more than one value'} is ambiguous")
    return bool(self.item())


@_method
def __float__(self: Tensor) -> float:
    return float(self.item())


@_method
def __int__(self: Tensor) -> int:
    return int(self.item())


@_method
def __complex__(self: Tensor) -> complex:
    return complex(self.item())


@_method
def __index__(self: Tensor) -> int:
    if self.numel() != 1 or self.dtype.is_floating_point or self.dtype.is_complex:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


@_method
def __len__(self: Tensor) -> int:
    n = _ndim(handle_of(self))
    if n == 0:
        raise TypeError("len() of a 0-d tensor")
    return _sizes(handle_of(self))[0]


@_method
def __iter__(self: Tensor) -> Any:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


Tensor.__hash__ = lambda self: id(self)


@_method
def __contains__(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


@_method
def __reversed__(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self.flip(0)


# ---- conversions --------------------------------------------------------------------------------------------------


def _format_number(fmt: memory_format | None) -> int:
    return ABSENT if fmt is None else fmt.num


def convert(self: Tensor, dt: dtype | None, dev: device | None, copy: bool, fmt: memory_format | None) -> Tensor:
    """self in another dtype, device or memory format: itself where it already is so, unless ``copy``."""
    h = handle_of(self)
    num = _dtype(h) if dt is None else dt.num
    device_num = lib.fbp_device_type(h)
    target = device_num if dev is None else device_number(dev)
    if target != device_num:
        if target == 1:
            return _c.empty_strided(tuple(self.shape), self.stride(), dtype=DTYPES[num], device="meta", requires_grad=False)
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if num == _dtype(h) and not copy and (fmt is None or fmt.num == 1 or self.is_contiguous(memory_format=fmt)):
        return self
    return new_tensor(_to_copy_c(h, num, _format_number(fmt), NULL))


@_method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``, each with ``non_blocking, copy, memory_format``.

    The tensor itself where nothing changes, unless ``copy``.
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is dtype:
        if args[0].num == _dtype(handle_of(self)):
            return self
        return wrap(_to_copy_c(handle_of(self), args[0].num, ABSENT, NULL))
    dt: Any = kwargs.pop("dtype", None)
    dev: Any = kwargs.pop("device", None)
    other = kwargs.pop("other", None)
    fmt = kwargs.pop("memory_format", None)
    rest: list = []
    for a in args:
        if isinstance(a, Tensor) and other is None and not rest:
            other = a
        elif isinstance(a, dtype) or a in (float, int, bool, complex) and isinstance(a, type):
            dt = a
        elif isinstance(a, (str, device)) or (a.__class__ is int and not rest and dev is None and dt is None):
            dev = device(a)
        elif isinstance(a, bool):
            rest.append(a)
        elif a is None:
            continue
        else:
            raise TypeError(f"to() received an invalid argument {a!r}; expected a dtype, a device or a Tensor")
    copy = kwargs.pop("copy", rest[1] if len(rest) > 1 else False)
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got unexpected keyword arguments {sorted(kwargs)}")
    if other is not None:
        dt, dev = other.dtype, other.device
    dt = None if dt is None else as_dtype(dt)
    return convert(self, dt, None if dev is None else device(dev), bool(copy), fmt)


def _to_dtype(name: str, dt: dtype) -> None:
    def cast(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
        return convert(self, dt, None, False, memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dt.name}; itself where it is already."
    setattr(Tensor, name, cast)


for _name, _dt in {**ALIASES, "bool": bool_, "byte": DTYPES[1], "char": DTYPES[2], "bfloat16": DTYPES[10]}.items():
    _to_dtype(_name, _dt)


@_method
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:  # noqa: A001
    """The legacy type name, or the tensor as another dtype."""
    if dtype is None:
        return f"torch.{_LEGACY.get(self.dtype.name, self.dtype.name)}Tensor"
    if isinstance(dtype, str):
        for name, legacy in _LEGACY.items():
            if dtype.rpartition(".")[2] == legacy + "Tensor":
                return self.to(next(d for d in DTYPES if d.name == name))
        raise ValueError(f"invalid type: '{dtype}'")
    return self.to(as_dtype(dtype))


_LEGACY = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


@_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in other's dtype."""
    return convert(self, other.dtype, None, False, None)


@_method
def cpu(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """The tensor on the CPU: itself where it is there."""
    return convert(self, None, CPU, False, memory_format)


@_method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> Tensor:
    raise RuntimeError("cuda(): this build has no CUDA support; install flambeau-cuda for it")


@_method
def clone(self: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy with memory of its own; gradients flow through it."""
    h = _clone_c(handle_of(self), _format_number(memory_format), NULL)
    return wrap(h)


@_method
def contiguous(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """The tensor itself where it is contiguous (in that format), else a contiguous copy."""
    if self.is_contiguous(memory_format=memory_format):
        return self
    return clone(self, memory_format=memory_format or _CONTIGUOUS)


from ._size import contiguous_format as _CONTIGUOUS  # noqa: E402, N812

# ---- views whose arguments need reading ------------------------------------------------------------------------------


@_method
def view(self: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """The same memory under another shape (one size may be -1), or reinterpreted as another dtype.

    RuntimeError where the strides do not allow it: `reshape` copies then.
    """
    try:
        if len(size) > 1:
            return wrap(_view_c(self._h, size, len(size), NULL))
    except (TypeError, AttributeError):  # NumPy integers, or a subclass that hides its handle
        pass
    if len(size) == 1 and size[0].__class__ is not int:
        size = size[0]
        if dtype is None and not isinstance(size, (tuple, list)):
            dtype = size
    if dtype is not None or size is None:
        return view_dtype(self, as_dtype(dtype))
    return wrap(_view_c(handle_of(self), [index(s) for s in size], len(size), NULL))


def view_dtype(self: Tensor, dt: dtype) -> Tensor:
    """The same bytes as another dtype; the last dimension grows or shrinks with the element size."""
    old, new = self.element_size(), dt.itemsize
    sizes, strides, offset = list(self.shape), list(self.stride()), self.storage_offset()
    if old == new:
        pass
    elif not sizes:
        raise RuntimeError(f"self.dim() cannot be 0 to view {self.dtype} as {dt} (different element sizes)")
    elif sizes and strides[-1] != 1 and sizes[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 to view {self.dtype} as {dt} (different element sizes), but got {strides[-1]}")
    elif old > new:
        k = old // new
        sizes[-1] *= k
        strides = [s * k for s in strides[:-1]] + [1]
        offset *= k
    else:
        k = new // old
        if sizes[-1] % k:
            raise RuntimeError(f"self.size(-1) must be divisible by {k} to view {self.dtype} as {dt} (different element sizes), but got {sizes[-1]}")
        if offset % k or any(s % k for n, s in zip(sizes[:-1], strides[:-1], strict=True) if n > 1):
            raise RuntimeError(f"self.storage_offset() and strides must be divisible by {k} to view {self.dtype} as {dt} (different element sizes)")
        sizes[-1] //= k
        strides = [s // k for s in strides[:-1]] + [1]
        offset //= k
    return new_tensor(lib.fbp_reinterpret(handle_of(self), dt.num, sizes, strides, len(sizes), offset))


@_method
def expand(self: Tensor, *size: Any, implicit: bool = False) -> Tensor:
    """A view in which dimensions of size 1 repeat (stride 0) up to the given sizes; -1 keeps a size."""
    if len(size) == 1 and size[0].__class__ is not int:
        size = size[0] if isinstance(size[0], (tuple, list)) else (index(size[0]),)
    sizes = [s if s.__class__ is int else index(s) for s in size]
    return new_tensor(_expand_c(handle_of(self), sizes, len(sizes), implicit, NULL))


@_method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to other's shape."""
    return expand(self, *other.shape)


@_method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    return view(self, *other.shape)


@_method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return self.reshape(tuple(other.shape))


def _transpose_last(name: str) -> Any:
    def get(self: Tensor) -> Tensor:
        if self.dim() < 2:
            raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor.")
        return self.transpose(-2, -1)

    return get


@_property
def T(self: Tensor) -> Tensor:  # noqa: N802
    """All dimensions in reverse order, as a view."""
    return self.permute(tuple(range(self.dim() - 1, -1, -1)))


Tensor.mT = property(_transpose_last("mT"), doc="Each matrix transposed, as a view.")
Tensor.H = property(lambda self: self.conj().T if self.dim() in (0, 2) else _only_matrices(self), doc="The conjugate transpose of a matrix.")
Tensor.mH = property(lambda self: _transpose_last("mH")(self).conj(), doc="Each matrix's conjugate transpose.")


def _part(name: str, doc: str) -> property:
    view = _f.ROOT[name]

    def write(self: Tensor, value: Any) -> None:
        part = view(self)
        part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)

    return property(lambda self: view(self), write, doc=doc)


Tensor.real = _part("real", "The real parts, as a view; a real tensor itself. Assigning to it writes them.")
Tensor.imag = _part("imag", "The imaginary parts of a complex tensor, as a view. Assigning to it writes them.")


def _only_matrices(t: Tensor) -> Any:
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {t.dim()}-D tensor.")


# ---- making more like it, and changing it ----------------------------------------------------------------------------------


def _new_like(name: str) -> None:
    make = getattr(_c, name)

    def new(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
        return make(*size, dtype=dtype or self.dtype, device=device or self.device, **kwargs)

    new.__name__ = new.__qualname__ = "new_" + name
    new.__doc__ = f"`{name}` with this tensor's dtype and device as defaults."
    setattr(Tensor, "new_" + name, new)


for _name in ("empty", "zeros", "ones", "full", "empty_strided"):
    _new_like(_name)


@_method
def new_tensor_(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Tensor:
    return _c.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


Tensor.new_tensor = new_tensor_
del Tensor.new_tensor_


@_method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Sets every element to ``value``, a number or a 0-d tensor."""
    if isinstance(value, Tensor):
        if value.dim() != 0:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.")
        return self.copy_(value)
    if not lib.fbp_fill_(handle_of(self), scalar(value)):
        raise_error()
    return self


@_method
def resize_(self: Tensor, *sizes: Any, memory_format: memory_format | None = None) -> Tensor:
    """Changes the shape in place; the memory grows where needed, new elements are not set. RuntimeError where grad is required."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = _c._shape(sizes)
    if lib.fbp_resize(handle_of(self), shape, len(shape)):
        raise_error()
    forget_shape(self)
    return self


@_method
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    return resize_(self, *the_template.shape)


@_method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Makes the tensor a view of source's memory."""
    if source is None:
        source = _c.empty(0, dtype=self.dtype)
    base = source if isinstance(source, Tensor) else source._as_tensor(self.dtype)
    if size is not None:
        shape = tuple(size)
        strides = tuple(stride) if stride is not None else _c.empty(shape, device="meta").stride()
        base = new_tensor(lib.fbp_view_of(handle_of(base), shape, strides, len(shape), storage_offset))
    if lib.fbp_set_data(handle_of(self), handle_of(base)):
        raise_error()
    forget_shape(self)
    return self


def _get_data(self: Tensor) -> Tensor:
    t = new_tensor(lib.fbp_data_alias(handle_of(self)))
    return t


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
    if lib.fbp_set_data(handle_of(self), real_handle(value)):
        raise_error()
    forget_shape(self)


Tensor.data = property(_get_data, _set_data, doc="The same memory without history, and without the check that in-place changes are seen.")


@_method
def share_memory_(self: Tensor) -> Tensor:
    """Accepted for PyTorch's API; tensors cross processes by value for now."""
    return self


@_method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: only copies to a GPU gain from page-locked memory."""
    return self


@_method
def detach(self: Tensor) -> Tensor:
    """The same memory without history: gradients do not flow through it. In-place changes of either are seen by the other."""
    h = _alias(handle_of(self))
    return wrap(h)


_alias = lib.fb_alias


# ---- subclasses ---------------------------------------------------------------------------------------------------------------

Tensor._make_subclass = staticmethod(_c.make_subclass)


@_method
def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same tensor as an object of the subclass ``cls``."""
    from ._tensor_base import set_handle

    t = _new_object(cls)
    set_handle(t, lib.fb_retain(real_handle(self)))
    return t


def _torch_function(cls: Any, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    return func(*args, **(kwargs or {}))


Tensor.__torch_function__ = classmethod(_torch_function)

for _name, _fn in _f.METHODS.items():
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, _fn)
