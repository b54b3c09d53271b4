"""``Variable``: the old name of a tensor that takes part in recording."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)

    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """``Variable(data)`` is ``data.detach().requires_grad_(requires_grad)``; every tensor is an instance."""
