"""Running the functions whose derivative is written in Python: `flambeau.autograd.Function` stands on this."""

from __future__ import annotations

from typing import Any

from ._autograd_nodes import NULL, node_object, watch
from ._errors import raise_error
from ._grad_mode import is_grad_enabled
from ._native import ffi, lib
from ._tensor_base import Tensor, handle_slot, new_tensor

_handle = handle_slot.__get__
_set = lib.fb_ag_set_grad_enabled
RESULT, PLAIN = -1, -2  # enum of variable.h


class BackwardContext:
    """The ctx of one application. The node's table holds it; it knows the node only weakly."""

    _node: Any = NULL
    _saved: Any = None
    _shapes: tuple = ()

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple:
        """The nodes of the inputs."""
        return node_object(self._node).next_functions if self._node else ()

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept: inputs as they are, outputs as tensors with this node as their history."""
        if self._node and lib.fb_ag_node_released(self._node):
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
                "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
                "calling backward."
            )
        if self._saved is None:
            return tuple(self.to_save or ())  # type: ignore[attr-defined]
        return tuple(None if s is None else s.get(self._node) for s in self._saved)

    saved_variables = saved_tensors

    def _run_backward(self, grads: tuple, n_inputs: int) -> list:
        """Gradients of the inputs; what the engine calls."""
        cls = self._forward_cls  # type: ignore[attr-defined]
        if self.materialize_grads:  # type: ignore[attr-defined]
            grads = tuple(
                new_tensor(lib.fb_ag_node_zeros(self._node, i)) if g is None and is_tensor else g
                for i, (g, is_tensor) in enumerate(zip(grads, self._shapes, strict=True))
            )
        fn = cls.vjp if cls.backward is cls._undefined else cls.backward
        got = fn(self, *grads)
        results = list(got) if isinstance(got, (tuple, list)) else [got]
        while len(results) > n_inputs and results[-1] is None:
            results.pop()
        if len(results) != n_inputs:
            raise RuntimeError(
                f"function {type(self).__name__} returned an incorrect number of gradients (expected {n_inputs}, got {len(results)})"
            )
        for i, r in enumerate(results):
            if r is None:
                continue
            if not isinstance(r, Tensor):
                raise TypeError(f"expected Variable or None (got {type(r).__name__})")
            if not self._tensor_inputs[i]:  # type: ignore[attr-defined]
                raise RuntimeError(
                    f"function {type(self).__name__} returned a gradient different from None at position {i + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
        return results


class _Saved:
    """A saved tensor: an input (or an intermediate one) itself, an output as a twin without history."""

    __slots__ = ("tensor", "nr", "version")

    def __init__(self, t: Tensor, nr: int) -> None:
        self.nr = nr
        self.tensor = t if nr < 0 else new_tensor(lib.fb_alias(_handle(t)))
        self.version = lib.fb_version_of(_handle(t))

    def get(self, node: Any) -> Tensor:
        h = _handle(self.tensor)
        if (now := lib.fb_version_of(h)) != self.version:
            shape = list(self.tensor.shape)
            raise RuntimeError(
                f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.tensor.type()} {shape}] is at version {now}; expected version {self.version} instead. Hint: enable anomaly "
                "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
                "check_nan=False)."
            )
        if self.nr < 0:
            return self.tensor
        t = new_tensor(lib.fb_alias(h))
        if node and lib.fbp_ag_set_history(_handle(t), node, self.nr):
            raise_error()
        return t


def _finish(ctx: Any, node: Any, args: tuple, outputs: tuple) -> tuple:
    """Gives the outputs their history."""
    dirty = {id(t) for t in ctx.dirty_tensors}
    plain = {id(t) for t in ctx.non_differentiable}
    position = {id(a): i for i, a in enumerate(args) if isinstance(a, Tensor)}
    kinds, results = [], []
    for o in outputs:
        kind = PLAIN
        if isinstance(o, Tensor):
            at = position.get(id(o))
            if at is not None and id(o) in dirty:
                kind = at
                if lib.fbp_ag_check_inplace(_handle(o)):
                    raise_error()
                if lib.fbp_ag_bump_version(_handle(o)):
                    raise_error()
            elif id(o) in plain or not (o.dtype.is_floating_point or o.dtype.is_complex):
                kind = PLAIN
            else:
                kind = RESULT
                if at is not None:  # an input as it is: the output is another tensor with the same memory
                    o = _view(o)
        kinds.append(kind)
        results.append(o)
    for t in ctx.dirty_tensors:
        if not any(t is o for o in outputs):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.")  # fmt: skip
    # an output that is saved has no history yet: what backward gets back has this node's
    saved = {id(o): i for i, (o, k) in enumerate(zip(outputs, kinds, strict=True)) if isinstance(o, Tensor) and k != PLAIN
             and (id(o) not in position or k >= 0)}  # fmt: skip
    if node:
        c_outputs = ffi.new("fb_tensor *[]", [_handle(o) if isinstance(o, Tensor) else NULL for o in results] or 1)
        if lib.fbp_ag_function_finish(node, len(results), c_outputs, ffi.new("int32_t[]", kinds or 1)):
            raise_error()
        ctx._saved = None if ctx.to_save is None else [None if t is None else _Saved(t, saved.get(id(t), -1)) for t in ctx.to_save]
        ctx.to_save = None
        ctx._shapes = tuple(isinstance(o, Tensor) for o in results)
        ctx.dirty_tensors = ctx.non_differentiable = ()
    return tuple(results)


def _view(t: Tensor) -> Tensor:
    was = _set(False)
    try:
        return t.view_as(t)
    finally:
        _set(was)


def apply(cls: Any, args: tuple, two_steps: bool) -> Any:
    """``cls.apply(*args)``; two_steps: forward takes no ctx, setup_context follows."""
    tensors = tuple(isinstance(a, Tensor) for a in args)
    needs = tuple(is_tensor and a.requires_grad for a, is_tensor in zip(args, tensors, strict=True))
    recording = is_grad_enabled() and any(needs)
    ctx = object.__new__(cls._backward_cls)
    ctx.needs_input_grad = needs if recording else (False,) * len(args)
    ctx._tensor_inputs = tensors
    node = NULL
    if recording:
        inputs = ffi.new("fb_tensor *[]", [_handle(a) if t else NULL for a, t in zip(args, tensors, strict=True)] or 1)
        node = lib.fb_ag_function_new(cls._backward_cls.__name__.encode(), len(args), inputs)
        if not node:
            raise_error()
        ctx._node = node
    try:
        was = _set(False)
        try:
            if two_steps:
                outputs = cls.forward(*args)
                cls.setup_context(ctx, args, outputs)
            else:
                outputs = cls.forward(ctx, *args)
        finally:
            _set(was)
        single = not isinstance(outputs, tuple)
        results = _finish(ctx, node, args, (outputs,) if single else outputs)
        if node:
            watch(node).ctx = ctx
    finally:
        if node:
            lib.fb_node_release(node)  # the outputs hold it
    return results[0] if single else results
