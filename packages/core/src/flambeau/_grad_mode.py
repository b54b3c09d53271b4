"""Switching the recording of gradients, and inference mode, on and off: context managers that decorate, too.

The modes are the thread's; the core keeps them. A ``with`` block costs two calls into it and nothing else.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ._native import lib

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled"]

_set, _modes, _set_modes = lib.fb_ag_set_grad_enabled, lib.fb_ag_modes, lib.fb_ag_set_modes
is_grad_enabled: Callable[[], bool] = lib.fb_ag_grad_enabled
is_inference_mode_enabled: Callable[[], bool] = lib.fb_ag_inference_enabled


def _decorate(make: Callable[[], Any], fn: Any) -> Any:
    """fn, with every run of its body inside ``make()``: a generator's between one yield and the next."""
    if inspect.isclass(fn):
        raise TypeError(f"Cannot decorate the class {fn.__name__} with a context manager: decorate its methods")
    if not inspect.isgeneratorfunction(fn):

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with make():
                return fn(*args, **kwargs)

        return wrapper

    @functools.wraps(fn)
    def generator(*args: Any, **kwargs: Any) -> Any:
        body = fn(*args, **kwargs)
        step, value = body.send, None
        while True:
            try:
                with make():
                    out = step(value)
            except StopIteration as end:
                return end.value
            try:
                value = yield out
                step = body.send
            except GeneratorExit:
                with make():
                    body.close()
                raise
            except BaseException as error:
                step, value = body.throw, error

    return generator


class _Mode:
    """Sets gradients to ``_on`` between enter and exit; ``@mode`` and ``@mode()`` decorate."""

    __slots__ = ("prev",)
    _on = False

    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return object.__new__(cls)
        return _decorate(cls, orig_func)

    def __call__(self, func: Any) -> Any:
        return _decorate(type(self), func)

    def clone(self) -> Any:
        """Another one, for another block."""
        return type(self)()

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _set(self.prev)


class no_grad(_Mode):
    """Within it, results have ``requires_grad=False`` whatever their inputs: nothing is recorded, no memory is kept.

    Functions that take ``out`` or make leaves are as ever: ``fb.ones(2, requires_grad=True)`` requires grad.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        self.prev = _set(False)


class enable_grad(_Mode):
    """Turns recording on again within `no_grad` or ``set_grad_enabled(False)``."""

    __slots__ = ()

    def __enter__(self) -> None:
        self.prev = _set(True)


class set_grad_enabled:
    """Turns recording on or off at once; as a context manager, until its end; as a decorator, in each call.

    Args:
        mode: on (True) or off.
    """

    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _set(mode)

    def __call__(self, func: Any) -> Any:
        _set(self.prev)
        mode = self.mode
        return _decorate(lambda: set_grad_enabled(mode), func)

    def __enter__(self) -> None:
        _set(self.mode)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _set(self.prev)

    def clone(self) -> set_grad_enabled:
        """Another one with the same mode."""
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"{type(self).__qualname__}(mode={self.mode})"

    __repr__ = __str__


class inference_mode:
    """`no_grad`, and more: tensors made within it have no version counter and can never take part in recording.

    Args:
        mode: off (False) leaves inference mode within its block.
    """

    __slots__ = ("mode", "_prev")

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, (bool, int)):
            return object.__new__(cls)
        return _decorate(cls, mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)

    def __call__(self, func: Any) -> Any:
        mode = self.mode
        return _decorate(lambda: inference_mode(mode), func)

    def __enter__(self) -> None:
        self._prev = _modes()
        _set_modes(2 if self.mode else 1)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _set_modes(self._prev)

    def clone(self) -> inference_mode:
        """Another one with the same mode."""
        return type(self)(self.mode)
