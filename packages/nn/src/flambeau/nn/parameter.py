"""Tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import flambeau as fb
from flambeau import Tensor
from flambeau._spi import disabled_torch_function

__all__ = ["Buffer", "Parameter"]


class _ParameterMeta(type(Tensor)):
    """Lets a tensor of a user's own class, which can't change its type, count as a ``Parameter``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is trained: assigning it to a module's attribute adds it to ``module.parameters()``.

    Shares ``data``'s memory and has no history. ``data=None`` gives an empty parameter. Results of operations on a
    parameter are plain tensors.
    """

    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = fb.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A user's class keeps its type, and is marked instead.
        marked = data.detach().requires_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"data of type {type(data).__name__} can't become a Parameter: its detach() returned a "
                f"{type(marked).__name__}, and it must return the same type"
            )
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        copy = type(self)(self.data.clone(memory_format=fb.preserve_format), self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: int) -> tuple:
        attributes = self.__dict__
        if attributes:
            return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), attributes)
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict) -> Parameter:
    parameter = Parameter(data, requires_grad)
    parameter.__dict__.update(state)
    return parameter


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but isn't trained, such as a running mean.

    Assigning it to a module's attribute registers it; ``persistent`` says whether ``state_dict()`` contains it.
    """

    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
        if data is None:
            data = fb.empty(0)
        # An alias of the data's own class, marked: a buffer is an ordinary tensor to every operator.
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
