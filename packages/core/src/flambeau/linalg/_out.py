"""Results into tensors that the caller gives."""

from __future__ import annotations

from typing import Any

from .._dtype import can_cast
from .._tensor_base import Tensor


def deliver(name: str, result: Any, out: Any) -> Any:
    """The result, or ``out`` with the result in it. RuntimeError where a dtype does not fit."""
    if out is None:
        return result
    several = not isinstance(result, Tensor)
    for t, o in zip(result if several else (result,), out if several else (out,), strict=True):
        if o.requires_grad or t.requires_grad:
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                               "requires grad.")  # fmt: skip
        if not can_cast(t.dtype, o.dtype):
            raise RuntimeError(f"{name}: Expected result of dtype {t.dtype} to be safely castable to out's dtype, but got {o.dtype}")
        if o.shape != t.shape:
            o.resize_(t.shape)
        o.copy_(t)
    return type(result)(out) if several else out


def check_matrix(name: str, A: Tensor) -> None:  # noqa: N803
    """RuntimeError unless A has matrices, of floating point or complex numbers."""
    if A.dim() < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {A.dtype}")
