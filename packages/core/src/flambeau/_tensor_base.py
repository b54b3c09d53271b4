"""The Tensor object: one slot with a handle of the core. Its operations are added by `_tensor`."""

from __future__ import annotations

from typing import Any

from ._native import ffi, lib

_new = object.__new__
_unpack, _sizes, _ndim = ffi.unpack, lib.fb_sizes, lib.fb_ndim


class _TensorMeta(type):
    """Lets ``isinstance(p, Parameter)``-like classes be refined by packages, and ``Tensor(...)`` keep its legacy form."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Tensor:
            from ._creation import legacy_tensor

            return legacy_tensor(*args, **kwargs)
        return type.__call__(cls, *args, **kwargs)


class Tensor(metaclass=_TensorMeta):
    """An n-dimensional array of one dtype on one device.

    Made by `tensor`, `zeros`, `from_numpy` and the like. Its memory is a storage that views share.
    """

    __slots__ = ("_h", "_a", "__weakref__", "__dict__")  # _a: what autograd keeps, see _autograd_hooks

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Subclasses: ``Sub(data)`` is a Sub that shares data's memory."""
        from ._creation import legacy_tensor

        source = args[0] if len(args) == 1 and isinstance(args[0], Tensor) else legacy_tensor(*args, **kwargs)
        return cls._make_subclass(cls, source, source.requires_grad)

    def __del__(self, _release: Any = lib.fb_release) -> None:
        try:
            _release(self._h)
        except AttributeError:  # its making failed, or a subclass hides the handle
            h = _slot(self, None)
            if h is not None:
                _release(h)


def _slot(t: Tensor, default: Any) -> Any:
    try:
        return _handle_of(t)
    except AttributeError:
        return default


_handle_of = Tensor.__dict__["_h"].__get__
set_handle = Tensor.__dict__["_h"].__set__
Tensor.__module__ = __name__.rpartition(".")[0]


def new_tensor(handle: Any) -> Tensor:
    """Wraps a handle, taking over its reference; NULL raises the core's error."""
    if not handle:
        from ._errors import raise_error

        raise_error()
    t = _new(Tensor)
    t._h = handle
    return t
