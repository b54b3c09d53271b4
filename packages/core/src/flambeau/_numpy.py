"""NumPy in and out, sharing memory. This module is imported when first used: NumPy alone would double the import time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ._binding import real_handle
from ._creation import _lend
from ._dtype import BY_NAME, dtype
from ._native import lib
from ._tensor_base import Tensor
from ._types import Memory

_to_numpy: dict[int, Any] = {}
_lendable = lib.fbp_lendable


def _ml_dtype(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"Got unsupported ScalarType {name}: NumPy has no such dtype; install ml_dtypes, or convert to float32 first") from None
    return getattr(ml_dtypes, name)


def numpy_dtype(d: dtype) -> Any:
    """The NumPy dtype of a dtype; bfloat16 and float8 need the package ml_dtypes (TypeError without it)."""
    found = _to_numpy.get(d.num)
    if found is None:
        found = np.dtype(_ml_dtype(d.name) if d.name.startswith(("bfloat", "float8")) else d.name)
        _to_numpy[d.num] = found
    return found


def from_numpy_dtype(d: Any) -> dtype:
    """The dtype of a NumPy dtype; TypeError where there is none."""
    found = BY_NAME.get(d.name)
    if found is None or d.hasobject:
        raise TypeError(
            f"can't convert np.ndarray of type {d}. The only supported types are: float64, float32, float16, complex64, complex128, int64, "
            "int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def from_array(array: Any, copy: bool) -> Tensor:
    """A tensor of a NumPy array's values; shares its memory unless ``copy`` or where the layout has no strides in elements."""
    a = np.asarray(array)
    dt = from_numpy_dtype(a.dtype)
    if copy or not a.dtype.isnative or any(s < 0 or s % a.itemsize for s in a.strides):
        a = np.array(a, dtype=a.dtype.newbyteorder("="), order="C", copy=True)
    item = a.itemsize
    strides = [s // item for s in a.strides]
    nbytes = (1 + sum((n - 1) * s for n, s in zip(a.shape, strides, strict=True))) * item if a.size else 0
    return _lend(a, a.__array_interface__["data"][0], nbytes, a.shape, strides, dt)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares a NumPy array's memory. TypeError for anything but an array of a supported dtype.

    ValueError for strides that are negative or not a multiple of the element size: copy the array first.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is not supported.")
    if any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not supported. "
                         "(You can probably work around this by making a copy of your array  with array.copy().)")  # fmt: skip
    if ndarray.size and any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory.")
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Writing to this tensor "
                      "is undefined behavior; copy the array to be safe.", UserWarning, stacklevel=2)  # fmt: skip
    return from_array(ndarray, copy=False)


def to_numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array on the same memory. RuntimeError for a tensor that requires grad, unless ``force``; TypeError on meta."""
    h = real_handle(self)
    plain = _to_numpy.get(_lendable(h))
    if plain is not None:
        return ndarray(self.shape, plain, self)  # the tensor itself is the buffer
    if lib.fb_ag_requires_grad(h):
        if not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return to_numpy(self.detach())
    if lib.fbp_device_type(h):
        raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    dt = _to_numpy.get(lib.fbp_dtype(h)) or numpy_dtype(self.dtype)
    shape = self.shape
    n = lib.fb_numel(h)
    if n == 0:
        return np.empty(shape, dt)
    item = dt.itemsize
    strides = self.stride()
    reach = 1 + sum([(k - 1) * s for k, s in zip(shape, strides, strict=True)])
    return ndarray(shape, dt, Memory(lib.fbp_address(h), reach * item, self), 0, [s * item for s in strides])


Tensor.numpy = to_numpy  # from now on without the detour through `_tensor`
