"""Lets a module's hooks see, and change, the gradients of its inputs and outputs.

Two identity functions are put into the graph around the module: one behind its outputs, whose backward is the first
to run, and one before its inputs, whose backward runs when every gradient of the module's inputs is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from flambeau import Tensor
from flambeau.autograd import Function


class _Tap(Function):
    """Passes tensors on; in the backward pass their gradients go through ``seen``."""

    @staticmethod
    def forward(ctx: Any, seen: Callable, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.seen = seen
        return tuple([t.view_as(t) for t in tensors])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple:
        return (None, *ctx.seen(grads))


def _tap(values: tuple, seen: Callable[[tuple], tuple]) -> tuple[tuple, bool]:
    """``values`` with each tensor that requires grad passed through a tap, and whether there was one.

    ``seen`` gets and returns one gradient a value, None for those that have none.
    """
    where = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not where:
        return values, False

    def spread(grads: tuple) -> tuple:
        full = [None] * len(values)
        for i, g in zip(where, grads):
            full[i] = g
        full = seen(tuple(full))
        return tuple([full[i] for i in where])

    out = list(values)
    for i, t in zip(where, _Tap.apply(spread, *[values[i] for i in where])):
        out[i] = t
    return tuple(out), True


class BackwardHooks:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.n_inputs = 0
        self.inputs_tapped = False

    def inputs(self, args: tuple) -> tuple:
        """The arguments to call the module with."""
        self.n_inputs = len(args)
        if not self.hooks:
            return args
        args, self.inputs_tapped = _tap(args, self._on_inputs)
        return args

    def output(self, result: Any) -> Any:
        """The result that the caller gets."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}"
            )
            return result
        single = isinstance(result, Tensor)
        values, tapped = _tap((result,) if single else result, self._on_outputs)
        if single:
            return values[0]
        if not tapped or type(result) is tuple:
            return values
        return type(result)(*values)  # a named tuple

    def _on_outputs(self, grads: tuple) -> tuple:
        for hook in self.pre_hooks:
            new = hook(self.module, grads)
            if new is None:
                continue
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != len(grads):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(new)}, but expected {len(grads)}"
                )
            grads = new
        self.grad_outputs = grads
        if not self.inputs_tapped:
            # No input requires grad: no tap will run behind the module, and this is the last chance.
            for hook in self.hooks:
                if hook(self.module, (None,) * self.n_inputs, grads) is not None:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None "
                        "or None for all gradients."
                    )
            self.grad_outputs = None
        return grads

    def _on_inputs(self, grads: tuple) -> tuple:
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens because the "
                "gradient in your nn.Module flows to the Module's input without passing through the Module's output. "
                "Make sure that the output depends on the input and that the loss is computed based on the output."
            )
        outputs, self.grad_outputs = self.grad_outputs, None
        for hook in self.hooks:
            new = hook(self.module, grads, outputs)
            if new is None:
                continue
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != len(grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(new)}, but expected {len(grads)}"
                )
            grads = new
        return grads
