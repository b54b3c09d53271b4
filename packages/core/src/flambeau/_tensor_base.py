"""The Tensor object: one slot with a handle of the core. Its operations are added by `_tensor`."""

from __future__ import annotations

from typing import Any

from ._errors import raise_error
from ._types import TensorBase, set_tensor, wrap


class _TensorMeta(type):
    """Lets ``isinstance(p, Parameter)``-like classes be refined by packages, and ``Tensor(...)`` keep its legacy form."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Tensor:
            from ._creation import legacy_tensor

            return legacy_tensor(*args, **kwargs)
        return type.__call__(cls, *args, **kwargs)


class Tensor(TensorBase, metaclass=_TensorMeta):
    """An n-dimensional array of one dtype on one device.

    Made by `tensor`, `zeros`, `from_numpy` and the like. Its memory is a storage that views share.
    """

    # Beside the base's _h. _a: what autograd keeps, see _autograd_hooks.
    __slots__ = ("_a", "__weakref__", "__dict__")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Subclasses: ``Sub(data)`` is a Sub that shares data's memory."""
        from ._creation import legacy_tensor

        source = args[0] if len(args) == 1 and isinstance(args[0], Tensor) else legacy_tensor(*args, **kwargs)
        return cls._make_subclass(cls, source, source.requires_grad)


handle_slot = TensorBase.__dict__["_h"]
set_handle = handle_slot.__set__
new_tensor = wrap  # new_tensor(handle) takes over the handle's reference; NULL raises the core's error
Tensor.__module__ = __name__.rpartition(".")[0]

set_tensor(Tensor, raise_error)
