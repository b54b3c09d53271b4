"""Small functions of the root namespace: predicates, numbers, settings of threads and memory."""

from __future__ import annotations

import math
from typing import Any

from ._binding import raise_error, real_handle
from ._dtype import DTYPES, dtype, get_default_dtype
from ._native import ffi, lib
from ._storage import is_storage
from ._tensor_base import Tensor, new_tensor

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares a NumPy array's memory. TypeError for anything but an array of a supported dtype.

    ValueError for strides that are negative or not a multiple of the element size: copy the array first.
    """
    from ._numpy import from_numpy

    return from_numpy(ndarray)


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


def is_conj(input: Tensor) -> bool:
    return input.is_conj()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0. RuntimeError unless there is exactly one."""
    if input.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if input.numel() == 0 else 'more than one value'} is ambiguous")
    return bool(input.item())


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under inference_mode."""
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    return input.shape == other.shape


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an arithmetic operation on the two, tensors or numbers."""
    from ._binding import scalar

    kept = [t if isinstance(t, Tensor) else new_tensor(lib.fbp_wrapped(scalar(t))) for t in (tensor1, tensor2)]
    num = lib.fbp_result_type([real_handle(t) for t in kept], 2)
    if num < 0:
        raise_error()
    if all(not isinstance(t, Tensor) for t in (tensor1, tensor2)):
        found = DTYPES[num]
        return get_default_dtype() if found.is_floating_point else get_default_dtype().to_complex() if found.is_complex else found
    return DTYPES[num]


def get_num_threads() -> int:
    """How many threads a parallel operator may use."""
    return lib.fb_num_threads()


def set_num_threads(n: int) -> None:
    """Sets how many threads a parallel operator may use. Results are the same bits for every number."""
    if n.__class__ is not int:
        raise TypeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {n}")
    if lib.fbp_set_num_threads(n):
        raise_error()


def get_num_interop_threads() -> int:
    return 1


def set_num_interop_threads(n: int) -> None:
    """Accepted for PyTorch's API: operators do not run beside each other here."""


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operators choose a lower precision by themselves: never here."""
    return False


def memory_stats() -> dict[str, int]:
    """Bytes and counts of the CPU allocator: ``allocated``, ``reserved`` and their peaks, ``live_tensors``, ``live_storages`` ..."""
    s = ffi.new("fb_memory_stats *")
    lib.fb_get_memory_stats(s)
    return {name: getattr(s, name) for name, _ in ffi.typeof("fb_memory_stats").fields}


def reset_peak_memory_stats() -> None:
    """The peaks start anew from what is allocated now."""
    lib.fb_reset_peak_memory_stats()


def empty_cache() -> None:
    """Gives memory that the allocator keeps for re-use back to the system."""
    lib.fb_empty_cache()


class finfo:  # noqa: N801 - PyTorch's name
    """Limits of a floating-point dtype: ``bits, eps, max, min, tiny, smallest_normal, resolution, dtype``."""

    # mantissa bits, largest exponent (of 2), smallest normal exponent, largest significand as a fraction of 2
    _FORMATS = {
        "float16": (10, 15, -14), "bfloat16": (7, 127, -126), "float32": (23, 127, -126), "float64": (52, 1023, -1022),
        "float8_e5m2": (2, 15, -14), "float8_e4m3fn": (3, 8, -6),
    }  # fmt: skip

    def __init__(self, type: dtype | None = None) -> None:
        d = get_default_dtype() if type is None else type
        d = d.to_real() if isinstance(d, dtype) else d
        if not isinstance(d, dtype) or d.name not in self._FORMATS:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d}'")
        mantissa, top, low = self._FORMATS[d.name]
        self.bits = d.itemsize * 8
        self.eps = 2.0**-mantissa
        # e4m3fn gives its largest significand to NaN
        self.max = 448.0 if d.name == "float8_e4m3fn" else (2.0 - self.eps) * 2.0**top
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        self.resolution = {"float16": 0.001, "bfloat16": 0.01, "float32": 1e-6, "float64": 1e-15}.get(d.name, 1.0)
        self.dtype = d.name

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:  # noqa: N801 - PyTorch's name
    """Limits of an integer dtype: ``bits, max, min, dtype``."""

    def __init__(self, type: dtype) -> None:
        if not isinstance(type, dtype) or type.is_floating_point or type.is_complex or type.name == "bool":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.dtype = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


__all__ = [
    "empty_cache", "finfo", "from_numpy", "get_num_interop_threads", "get_num_threads", "iinfo",
    "is_autocast_enabled", "is_complex", "is_conj", "is_floating_point", "is_inference", "is_nonzero", "is_same_size",
    "is_storage", "is_tensor", "memory_stats", "numel", "reset_peak_memory_stats", "result_type",
    "set_num_interop_threads", "set_num_threads",
]  # fmt: skip
