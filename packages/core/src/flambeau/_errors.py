"""From the core's error kinds to Python's exception classes."""

from __future__ import annotations

from typing import NoReturn

from ._native import ffi, lib


class OutOfMemoryError(RuntimeError, MemoryError):
    """An allocation failed."""


class LinAlgError(RuntimeError):
    """A matrix does not admit the decomposition or solution that was asked for."""


OutOfMemoryError.__module__ = __name__.rpartition(".")[0]
LinAlgError.__module__ = __name__.rpartition(".")[0] + ".linalg"

# In the order of enum fb_error.
_CLASSES = (
    RuntimeError, RuntimeError, RuntimeError, RuntimeError, RuntimeError, ValueError, TypeError, IndexError, NotImplementedError,
    OutOfMemoryError, OverflowError, LinAlgError, RuntimeError,
)  # fmt: skip
_PYTHON = 12
parked: list[BaseException] = []  # what a Python callback raised while C was running


def raise_error() -> NoReturn:
    """Raises what the core reported on this thread."""
    kind = lib.fbp_error_kind()
    if kind == _PYTHON and parked:
        lib.fb_error_clear()
        error = parked.pop()
        parked.clear()
        raise error
    message = ffi.string(lib.fb_error_message()).decode(errors="replace")
    lib.fb_error_clear()
    raise _CLASSES[kind](message or "unknown error")


@ffi.def_extern()
def fbp_on_warning(message: object) -> None:
    import warnings

    try:
        warnings.warn(ffi.string(message).decode(errors="replace"), UserWarning, stacklevel=3)
    except Warning as error:  # warnings are errors here; C cannot be unwound, so the next call raises it
        parked.append(error)


@ffi.def_extern()
def fbp_on_release(handle: object) -> None:
    """The last tensor on memory that Python lent is gone."""
    lent.discard(handle)


class _Lent:
    """Objects whose memory tensors use, by the address of their handle."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[object, object]] = {}

    def add(self, owner: object) -> object:
        handle = ffi.new_handle(owner)
        self._objects[int(ffi.cast("intptr_t", handle))] = (handle, owner)
        return handle

    def discard(self, handle: object) -> None:
        self._objects.pop(int(ffi.cast("intptr_t", handle)), None)

    def __len__(self) -> int:
        return len(self._objects)


lent = _Lent()
lib.fbp_install_hooks()
