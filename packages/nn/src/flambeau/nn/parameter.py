"""Tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import flambeau as fb
from flambeau import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


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
        attributes = {k: v for k, v in self.__dict__.items() if k != "shape"}  # that one the core keeps for itself
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

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
        if data is None:
            data = fb.empty(0)
        # An alias of the data's own class, marked: a buffer is an ordinary tensor to every operator.
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether ``param`` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


class UninitializedTensorMixin:
    """A tensor without a shape: it can be moved, but not computed with, until ``materialize``."""

    _is_uninitialized = True
    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Becomes an uninitialized tensor of ``shape``, and of its final class."""
        kind = {"device": device or self.data.device, "dtype": dtype or self.data.dtype}
        self.data = fb.empty(tuple(shape), **kind)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        """Raises RuntimeError: there is nothing to share."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copy = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: int) -> tuple:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _ALLOWED or type(func).__name__ == "method-wrapper":  # the latter: property accesses
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating uninitialized parameters. Call `forward` with a dummy batch to "
            "initialize the parameters before calling functions on them."
        )


# What may be done to a tensor without a shape.
_ALLOWED = {
    "__hash__",
    "size",
    "copy_",
    "is_complex",
    "is_floating_point",
    "half",
    "float",
    "double",
    "char",
    "short",
    "int",
    "long",
    "bfloat16",
    "to",
    "type",
    "cpu",
    "cuda",
    "get_device",
    "_has_compatible_shallow_copy_type",
    "detach",
    "requires_grad_",
}


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape will be known later."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Tensor._make_subclass(cls, fb.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape will be known later."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        buffer = Tensor._make_subclass(cls, fb.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
