"""Pickling and copying tensors: both go through storages, so that tensors that shared memory still do."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

from ._creation import empty_strided, make_subclass
from ._dtype import dtype
from ._storage import OF_DTYPE, UntypedStorage, storage_of, tensor_on, typed
from ._tensor_base import Tensor

CACHED = ("shape",)  # what the binding keeps in an instance's __dict__ for speed: no attribute of the user's
_absent = object()


def attributes(t: Tensor) -> dict[str, Any]:
    """What a user has set on a tensor object, slots of a subclass included."""
    found = {k: v for k, v in t.__dict__.items() if k not in CACHED}
    for cls in type(t).__mro__:
        if cls is Tensor:
            break
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and (value := getattr(t, name, _absent)) is not _absent:
                found[name] = value
    return found


def set_attributes(t: Tensor, state: Any) -> None:
    """Sets what `attributes` gave, or PyTorch's form of it: a dict, or (dict, slots)."""
    parts = state if isinstance(state, tuple) else (state,)
    for part in parts:
        for name, value in (part or {}).items():
            if name not in CACHED:
                object.__setattr__(t, name, value)


# ---- pickle -----------------------------------------------------------------------------------------------------


def rebuild_tensor_v2(
    storage: Any, offset: int, size: tuple, stride: tuple, requires_grad: bool, hooks: Any = None, metadata: dict | None = None
) -> Tensor:
    """A tensor on a storage with a dtype."""
    return _rebuild(storage.untyped(), storage.dtype, offset, size, stride, requires_grad, metadata)


def rebuild_tensor_v3(
    storage: Any, offset: int, size: tuple, stride: tuple, requires_grad: bool, hooks: Any, dt: dtype, metadata: dict | None = None
) -> Tensor:
    """A tensor on a storage, whose dtype is named: for those that PyTorch has no storage class for."""
    return _rebuild(storage.untyped(), dt, offset, size, stride, requires_grad, metadata)


def rebuild_meta_tensor(dt: dtype, size: tuple, stride: tuple, requires_grad: bool) -> Tensor:
    """A tensor on meta."""
    return empty_strided(size, stride, dtype=dt, device="meta", requires_grad=requires_grad)


def _rebuild(storage: UntypedStorage, dt: dtype, offset: int, size: tuple, stride: tuple, requires_grad: bool, metadata: Any) -> Tensor:
    t = tensor_on(storage, dt, size, stride, offset)
    if metadata:  # PyTorch's lazy conjugate and negative: computed here
        t = t.conj().resolve_conj() if metadata.get("conj") else t
        t = -t if metadata.get("neg") else t
    return t.requires_grad_() if requires_grad else t


def rebuild_from_type(rebuild: Any, cls: type, args: tuple, state: Any) -> Any:
    """A tensor of a subclass, or with attributes."""
    t = rebuild(*args)
    if type(t) is not cls:
        t = make_subclass(cls, t, t.requires_grad)
    if hasattr(cls, "__setstate__"):
        t.__setstate__(state)
    else:
        set_attributes(t, state)
    return t


def _parts(t: Tensor) -> tuple[Any, tuple]:
    """The function that makes the tensor anew, and its arguments."""
    if t._backward_hooks:
        hooks = list(t._backward_hooks.values())
        warnings.warn(f"backward hooks {hooks!r} of a tensor are not saved; register them again on what is loaded", stacklevel=4)
    d, requires_grad = t.dtype, t.requires_grad
    if t.device.num == 1:
        return rebuild_meta_tensor, (d, tuple(t.shape), t.stride(), requires_grad)
    where = (t.storage_offset(), tuple(t.shape), t.stride(), requires_grad, OrderedDict())
    if d in OF_DTYPE:
        return rebuild_tensor_v2, (typed(storage_of(t), d), *where)
    return rebuild_tensor_v3, (storage_of(t), *where, d)


def reduce_ex(self: Tensor, protocol: Any) -> tuple:
    """A tensor is pickled as its storage and its place in it. The history of one that is not a leaf is left out."""
    rebuild, args = _parts(self)
    state = self.__getstate__() if _overrides(type(self), "__getstate__") else attributes(self)
    if type(self) is Tensor and not state:
        return rebuild, args
    return rebuild_from_type, (rebuild, type(self), args, state)


def _overrides(cls: type, name: str) -> bool:
    return getattr(cls, name, None) is not getattr(object, name, None)


# ---- deepcopy ------------------------------------------------------------------------------------------------------


def deepcopy(self: Tensor, memo: dict) -> Tensor:
    """A copy with memory of its own, which copies of views share in turn; with the gradient and attributes. RuntimeError unless a leaf."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. If you were "
            "attempting to deepcopy a module, a tensor that an operation made may be one of its attributes: keep it detached."
        )
    if self.device.num == 1:
        t = empty_strided(tuple(self.shape), self.stride(), dtype=self.dtype, device="meta")
    else:
        storage = copy.deepcopy(storage_of(self), memo)
        t = tensor_on(storage, self.dtype, tuple(self.shape), self.stride(), self.storage_offset())
    if type(self) is not Tensor:
        t = make_subclass(type(self), t)
    if self.requires_grad:
        t.requires_grad_()
    memo[id(self)] = t
    if (grad := self.grad) is not None:
        t.grad = deepcopy(grad, memo) if type(grad) is Tensor else copy.deepcopy(grad, memo)
    set_attributes(t, copy.deepcopy(attributes(self), memo))
    return t


Tensor.__reduce_ex__ = reduce_ex
Tensor.__deepcopy__ = deepcopy
