"""Functions whose derivative the user writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau as fb
from flambeau import Tensor
from flambeau._autograd_functions import BackwardContext, apply

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` tells ``backward``; attributes of the user's own may be added."""

    needs_input_grad: tuple[bool, ...]
    to_save: tuple | None = None
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads: bool = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs, outputs or intermediate tensors: ``ctx.saved_tensors`` in backward. To be called once at most.

        A tensor that is written to in place afterwards makes backward raise.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Says which inputs ``forward`` changed in place. They must be among the outputs, too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says which outputs have no derivative; backward then gets zeros (or None) for them."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """False: gradients that are undefined reach backward as None, not as zeros."""
        self.materialize_grads = value


class _FunctionMeta(type):
    def __init__(cls, name: str, bases: tuple, attributes: dict) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(name + "Backward", (BackwardContext, FunctionCtx), {"_forward_cls": cls, "__module__": cls.__module__})


class Function(FunctionCtx, metaclass=_FunctionMeta):
    """An operation with a derivative of its own.

    Subclasses define static methods: ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs, output)``,
    and ``backward(ctx, *grad_outputs)``, which returns one gradient (or None) for each argument of forward. They are used by
    ``Sub.apply(*args)``, never instantiated. forward runs without recording.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            f"on the class itself: {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs from the inputs."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Saves what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of the inputs from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = _undefined = backward

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward on the arguments, and records it where a tensor among them requires grad."""
        return apply(cls, args, cls.setup_context is not Function.setup_context)


class _Twice(Function):
    """Stands for a derivative that must not be differentiated."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable) -> Callable:
    """Decorates a backward that does not record what it does: differentiating its results raises RuntimeError."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with fb.no_grad():
            outputs = fn(ctx, *args)
        if not fb.is_grad_enabled():
            return outputs
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        tensors = [t.detach().requires_grad_() for t in results if t is not None]
        marked = iter(_Twice.apply(*tensors) if tensors else ())
        results = tuple(None if t is None else next(marked) for t in results)
        return results if isinstance(outputs, tuple) else results[0]

    return wrapper
