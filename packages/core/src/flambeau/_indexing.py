"""``x[...]`` and ``x[...] = v``: NumPy's and PyTorch's rules.

A key is read left to right into basic steps (ints, slices, None, Ellipsis), which make a view, and index tensors, which
go to `index` and `index_put_` on that view.
"""

from __future__ import annotations

from typing import Any

from ._binding import ABSENT, handle_of, scalar
from ._binding import index as _as_index
from ._creation import as_tensor, tensor
from ._dtype import bool_, int64
from ._gen.functions import HIDDEN, METHODS
from ._native import ffi, lib
from ._tensor_base import Tensor, new_tensor
from ._types import wrap

NULL = ffi.NULL
_release = lib.fb_release
_select_c, _slice_c, _unsqueeze_c = lib.fbp_select, lib.fbp_slice, lib.fbp_unsqueeze


def _bound(v: Any) -> int:
    if v is None:
        return ABSENT
    if v.__class__ is int:
        return max(-(2**62), min(v, 2**62))
    try:
        return max(-(2**62), min(_as_index(v), 2**62))
    except TypeError:
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(v).__name__}") from None


def _consumes(k: Any) -> int:
    """How many dimensions of the tensor an entry of the key takes."""
    if k is None or k is Ellipsis or k is True or k is False:
        return 0
    if isinstance(k, Tensor) and k.dtype.num <= 1:  # bool, and uint8 masks
        return k.dim()
    return 1


def _is_mask_array(k: Any) -> bool:
    return type(k).__module__ == "numpy" and hasattr(k, "dtype")


def _normalize(key: Any) -> list:
    """The key as a list of int, slice, None, Ellipsis, bool and Tensor."""
    if isinstance(key, tuple):
        items = list(key)
    else:
        items = [key]
    out: list = []
    for k in items:
        if k is None or k is Ellipsis or isinstance(k, (bool, slice, Tensor)) or k.__class__ is int:
            out.append(k)
        elif _is_mask_array(k):
            out.append(k.item() if k.ndim == 0 and k.dtype.kind in "iu" else as_tensor(k))
        elif isinstance(k, (list, tuple, range)):
            t = tensor(list(k)) if len(k) else tensor([], dtype=int64)
            if t.dtype.is_floating_point or t.dtype.is_complex:
                raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, got a sequence of {t.dtype}")
            out.append(t)
        elif hasattr(k, "__index__"):
            out.append(k.__index__())
        else:
            raise TypeError(
                f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})"
            )
    return out


def _basic(self: Tensor, items: list) -> tuple[Tensor, list]:
    """The view that the basic entries make, and the index tensors by its dimension (None where there is none)."""
    used = sum(_consumes(k) for k in items)
    dims = self.dim()
    if used > dims:
        raise IndexError(f"too many indices for tensor of dimension {dims}")
    if sum(k is Ellipsis for k in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    x = self
    indices: list = []
    d = 0
    for k in items:
        if k.__class__ is int:
            h = handle_of(x)
            size = lib.fb_sizes(h)[d]
            if not -size <= k < size:
                raise IndexError(f"index {k} is out of bounds for dimension {len(indices)} with size {size}")
            x = wrap(_select_c(h, d, k, NULL))
        elif k is None:
            x = wrap(_unsqueeze_c(handle_of(x), d, NULL))
            indices.append(None)
            d += 1
        elif isinstance(k, slice):
            if not (k.start is None and k.stop is None and k.step is None):
                x = _slice(x, d, k)
            indices.append(None)
            d += 1
        elif k is Ellipsis:
            skip = dims - used
            indices += [None] * skip
            d += skip
        elif isinstance(k, bool):
            x = wrap(_unsqueeze_c(handle_of(x), d, NULL))
            indices.append(tensor([0] if k else [], dtype=int64))
            d += 1
        else:
            d = _index_tensor(x, k, d, indices)
            if k.dim() == 0 and k.dtype.num <= 1:
                x = wrap(_unsqueeze_c(handle_of(x), d - 1, NULL))
    return x, indices


def _slice(x: Tensor, d: int, k: slice) -> Tensor:
    step = 1 if k.step is None else _bound(k.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        # PyTorch refuses negative steps. Reversed positions are an index like any other; the result is a copy.
        n = x.shape[d]
        from ._creation import arange

        positions = range(n)[k]
        return x.index_select(d, arange(positions.start, positions.stop, positions.step)) if len(positions) else x.narrow(d, 0, 0)
    return wrap(_slice_c(handle_of(x), d, _bound(k.start), _bound(k.stop), step, NULL))


def _index_tensor(x: Tensor, k: Tensor, d: int, indices: list) -> int:
    """Appends what index tensor k means at dimension d; gives the next dimension."""
    if k.dtype.num <= 1:
        if k.dtype.num == 1:
            import warnings

            warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning, stacklevel=4)
        if k.dim() == 0:
            indices.append(tensor([0] if bool(k.item()) else [], dtype=int64))
            return d + 1
        shape = x.shape
        for j, n in enumerate(k.shape):
            if d + j >= len(shape) or shape[d + j] != n:
                raise IndexError(f"The shape of the mask {list(k.shape)} at index {j} does not match the shape of the indexed tensor "
                                 f"{list(shape)} at index {d + j}")  # fmt: skip
        found = (k if k.dtype is bool_ else k != 0).nonzero()
        indices.extend(found.unbind(1))
        return d + k.dim()
    if k.dtype.is_floating_point or k.dtype.is_complex or k.dtype.num > 5:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    indices.append(k)
    return d + 1


def _getitem(self: Tensor, key: Any) -> Tensor:
    """``self[key]``: a view for basic keys, a copy where index tensors take part."""
    kind = key.__class__
    try:
        if kind is int:
            h = _select_c(self._h, 0, key, NULL)
        elif kind is slice:
            h = _slice_c(self._h, 0, *_bounds(key), NULL)
        elif kind is tuple:
            h = _ints_and_slices(self._h, key)
        else:
            return _slow(self, key)
    except _NOT_PLAIN:
        return _slow(self, key)
    if h:
        return wrap(h)
    lib.fb_error_clear()
    if kind is int and self.dim() == 0:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                         "0-dim tensor to a number")  # fmt: skip
    return _slow(self, key)  # to say what is wrong


_ALL = slice(None)
_NOT_PLAIN = (AttributeError, TypeError, OverflowError)


def _bounds(k: slice) -> tuple[int, int, int]:
    """start, end, step of a slice of plain ints, for C."""
    start, stop, step = k.start, k.stop, k.step
    return ABSENT if start is None else start, ABSENT if stop is None else stop, 1 if step is None else step


def _ints_and_slices(h: Any, key: tuple) -> Any:
    """The handle of the view that a tuple of ints and slices makes; AttributeError for any other entry. NULL on an error."""
    d = 0
    made = None  # an intermediate view, to be released
    for k in key:
        kind = k.__class__
        if kind is int:
            n = _select_c(h, d, k, NULL)
        elif kind is slice:
            if k == _ALL:
                d += 1
                continue
            n = _slice_c(h, d, *_bounds(k), NULL)
            d += 1
        else:
            n = None
        if made is not None:
            _release(made)
        if n is None:
            raise AttributeError
        if not n:
            return n
        h = made = n
    if made is None or d > lib.fb_ndim(h):  # only full slices, or too many: the general way checks and aliases
        if made is not None:
            _release(made)
        raise AttributeError
    return h


def _slow(self: Tensor, key: Any) -> Tensor:
    x, indices = _basic(self, _normalize(key))
    if any(i is not None for i in indices):
        return HIDDEN["index"](x, indices)
    return x if x is not self else wrap(lib.fbp_view_alias(handle_of(self), NULL))


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    """``self[key] = value``: value broadcasts to the shape of ``self[key]`` and is converted to self's dtype."""
    x, indices = _basic(self, _normalize(key)) if key.__class__ is not slice or key != _ALL else (self, [])
    if not isinstance(value, Tensor):
        if isinstance(value, (bool, int, float, complex)):
            value = _number(value, self)
        else:
            value = as_tensor(value)
    if any(i is not None for i in indices):
        if isinstance(key, Tensor) and value.dim() == 0 and key.dtype.name == "bool":
            value = value.clone()  # x[mask] = x[0] fills with the number of before: index_put_ refuses its own memory
        METHODS["index_put_"](x, indices, value if value.dtype is self.dtype else value.to(self.dtype), False)
        return
    shape = tuple(x.shape)
    extra = value.dim() - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):  # leading ones may be dropped
        value = value.reshape(value.shape[extra:])
    x.copy_(value)


def _number(value: Any, t: Tensor) -> Tensor:
    """A 0-d tensor of a number in t's dtype; RuntimeError for an integer that it cannot hold."""
    if isinstance(value, complex):
        return tensor(value)
    if t.dtype.is_floating_point or t.dtype.is_complex or t.dtype is bool_:
        return new_tensor(lib.fbp_full([], 0, scalar(value), t.dtype.num, t.device.num))
    return tensor(int(value), dtype=t.dtype, device=t.device)


Tensor.__getitem__ = _getitem
Tensor.__setitem__ = _setitem
