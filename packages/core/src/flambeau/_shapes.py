"""Shapes: functions that are a view or two over the generated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._binding import index, raise_error, real_handle
from ._functions import alias, export, method, only_method
from ._gen.functions import HIDDEN, METHODS, ROOT
from ._native import ffi, lib
from ._size import Size
from ._tensor import forget_shape
from ._tensor_base import Tensor, new_tensor

NULL = ffi.NULL
_split = HIDDEN["split"]


def wrap_dim(dim: int, ndim: int) -> int:
    """dim in 0 .. ndim - 1; IndexError outside -ndim .. ndim - 1. A 0-d tensor counts as 1-d."""
    n = max(ndim, 1)
    d = index(dim)
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of ``length`` entries of a dimension from ``start`` (which may count from the end) on. RuntimeError outside."""
    if input.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start.dim() != 0 or start.dtype.is_floating_point or start.dtype.is_complex:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start.item())
    d, length, first = wrap_dim(dim, input.dim()), index(length), index(start)
    size = input.shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {first})")
    first += size if first < 0 else 0
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return new_tensor(lib.fbp_slice(real_handle(input), d, first, first + length, 1, NULL))


@method
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `narrow`."""
    t = narrow(input, dim, start, length).clone()
    return t if out is None else out.resize_(t.shape).copy_(t)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions start_dim to end_dim as one; a view where the memory allows it."""
    shape = input.shape
    n = len(shape)
    first, last = wrap_dim(start_dim, n), wrap_dim(end_dim, n)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if n == 0:
        return input.reshape(1)
    if first == last:
        return input
    return input.reshape((*shape[:first], Size(shape[first : last + 1]).numel(), *shape[last + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """The elements as one row."""
    return input.contiguous().view(-1)


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several (one of them may be -1). RuntimeError where their product is not its size."""
    d = wrap_dim(dim, input.dim())
    sizes = tuple(index(s) for s in sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if input.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    known = 1
    for s in sizes:
        known *= s if s != -1 else 1
    n = input.shape[d]
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if (-1 in sizes and (known == 0 or n % known)) or (-1 not in sizes and known != n):
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({n}) in the input tensor")
    full = [n // known if s == -1 else s for s in sizes]
    return input.view(*input.shape[:d], *full, *input.shape[d + 1 :])


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of equal size (the last may be smaller) along a dimension."""
    if input.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[wrap_dim(dim, input.dim())]
    each = (size + chunks - 1) // chunks
    if each == 0:
        return METHODS["split_with_sizes"](input, [0] * chunks, dim)
    return _split(input, each, dim)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along a dimension: each of that size (the last may be smaller), or of the listed sizes."""
    if isinstance(split_size_or_sections, (list, tuple)):
        return METHODS["split_with_sizes"](tensor, split_size_or_sections, dim)
    return _split(tensor, split_size_or_sections, dim)


export(split)


@only_method
def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` of this tensor."""
    return split(self, split_size, dim)


Tensor.split = Tensor._split_method
del Tensor._split_method


@method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of n pieces whose sizes differ by at most one, or of the pieces between the given indices."""
    if input.dim() == 0:
        raise RuntimeError(f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {input.dim()} dims")
    d = wrap_dim(dim, input.dim())
    size = input.shape[d]
    spec = indices_or_sections
    if isinstance(spec, Tensor):
        if spec.dtype.name != "int64" or spec.dim() > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional int64 tensor, "
                               f"but got a tensor with {spec.dim()} dims of {spec.dtype}")  # fmt: skip
        spec = spec.tolist()
    if isinstance(spec, int):
        if spec <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {spec}")
        each, more = divmod(size, spec)
        return METHODS["split_with_sizes"](input, [each + (i < more) for i in range(spec)], d)
    cuts = [0, *spec, size]
    last = len(cuts) - 2
    return tuple(HIDDEN["slice"](input, d, cuts[i], cuts[i + 1] if i < last else None) for i in range(last + 1))


def _at_least(name: str, least: int, dim_of: Any) -> None:
    def split_along(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.dim() < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor "
                               f"with {input.dim()} dimensions!")  # fmt: skip
        d = dim_of(input)
        if isinstance(indices_or_sections, int) and indices_or_sections > 0 and input.shape[d] % indices_or_sections:
            raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {input.shape[d]} is not "
                               f"divisible by the split_size {indices_or_sections}!")  # fmt: skip
        return tensor_split(input, indices_or_sections, d)

    split_along.__name__ = name
    split_along.__doc__ = f"`tensor_split` for tensors of at least {least} dimensions; sections must divide the size."
    method(split_along)


_at_least("hsplit", 1, lambda t: 0 if t.dim() == 1 else 1)
_at_least("vsplit", 2, lambda t: 0)
_at_least("dsplit", 3, lambda t: 2)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions ``source`` moved to the places ``destination``; the others keep their order."""
    src = [source] if isinstance(source, int) else list(source)
    dst = [destination] if isinstance(destination, int) else list(destination)
    if len(src) != len(dst):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({src} dims) should contain the same number of dims as "
                           f"destination ({dst} dims)")  # fmt: skip
    n = input.dim()
    src, dst = [wrap_dim(d, n) for d in src], [wrap_dim(d, n) for d in dst]
    for name, dims in (("source", src), ("destination", dst)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if n == 0:
        return input
    order = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return input.permute(tuple(next(rest) if o < 0 else o for o in order))


alias("moveaxis", movedim)
_transpose = ROOT["transpose"]


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` under NumPy's name."""
    return _transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` under another name."""
    return _transpose(input, dim0, dim1)


@method
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of each matrix."""
    return input.mH


@only_method
def expand_copy(self: Tensor, size: Any) -> Tensor:
    return self.expand(size).clone()


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`expand` to a shape."""
    return input.expand(tuple(size) if isinstance(size, (tuple, list)) else (size,))


def _shape_of(x: Any) -> tuple[int, ...]:
    return (x,) if isinstance(x, int) else tuple(x)


@export
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to. RuntimeError where they do not."""
    sizes = [_shape_of(s) for s in shapes]
    n = max((len(s) for s in sizes), default=0)
    out = [1] * n
    for s in sizes:
        for i, v in enumerate(s, n - len(s)):
            if v < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({v}): ({v})")
            if v not in (1, out[i]) and out[i] != 1:
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, sizes))}")
            out[i] = v if out[i] == 1 else out[i]
    return Size(out)


@export
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape: tuple[int, ...] = ()
    for t in given:
        a, b = shape, tuple(t.shape)
        n = max(len(a), len(b))
        joined = []
        for i, (x, y) in enumerate(zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True)):
            if x != y and 1 not in (x, y):
                raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {i}")
            joined.append(y if x == 1 else x)
        shape = tuple(joined)
    return tuple(t.expand(shape) for t in given)


@method
def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated dims[i] times along each dimension; missing leading dims count as 1."""
    reps = _shape_of(dims[0]) if len(dims) == 1 else dims
    return input.repeat((1,) * (input.dim() - len(reps)) + tuple(reps))


@method
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into copies, which may be changed in place without regard to each other."""
    return tuple(t.clone() for t in _split(input, split_size, dim))


@method
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` into copies."""
    return tuple(t.clone() for t in chunk(input, chunks, dim))


def _make_atleast(n: int) -> Any:
    def one(t: Tensor) -> Tensor:
        d = t.dim()
        if d >= n:
            return t
        if d == 0:
            return t.reshape((1,) * n)
        return t.unsqueeze(0) if n == 2 else t.unsqueeze(0).unsqueeze(-1) if d == 1 else t.unsqueeze(-1)

    def atleast(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return one(tensors[0])
        return tuple(one(t) for t in (tensors[0] if len(tensors) == 1 else tensors))

    atleast.__name__ = f"atleast_{n}d"
    atleast.__doc__ = f"The tensors with dimensions of size 1 added up to {n}."
    return export(atleast)


atleast_1d, atleast_2d, atleast_3d = (_make_atleast(n) for n in (1, 2, 3))


@export
def view_copy(input: Tensor, size: Any) -> Tensor:
    """A copy of ``view(size)``."""
    return input.view(size).clone()


@only_method
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """`squeeze` in place: the tensor's own shape changes."""
    return _become(self, self.detach().squeeze(dim))


@only_method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze` in place."""
    return _become(self, self.detach().unsqueeze(dim))


@only_method
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` in place."""
    return _become(self, self.detach().transpose(dim0, dim1))


@only_method
def t_(self: Tensor) -> Tensor:
    """`t` in place."""
    return _become(self, self.detach().t())


@only_method
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """`as_strided` in place."""
    return _become(self, self.detach().as_strided(size, stride, storage_offset))


Tensor.swapaxes_ = Tensor.swapdims_ = transpose_


def _become(t: Tensor, view: Tensor) -> Tensor:
    """t takes view's geometry (on its own memory)."""
    if t.requires_grad:
        raise RuntimeError("in-place changes of shape are not recorded for gradients: use the function that returns a view")
    if lib.fbp_set_geometry(real_handle(t), real_handle(view)):
        raise_error()
    forget_shape(t)
    return t
