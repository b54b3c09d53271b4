"""What a Tensor says of its history and gradient, and the calls through which `flambeau.autograd` reaches the engine.

The layer that records is off until `flambeau.autograd` is imported; ``requires_grad=True`` imports it, and where that
distribution is missing the error names it.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from . import _autograd_nodes as nodes
from ._autograd_nodes import NULL, RemovableHandle, add_hook, handles, node_object, watch
from ._errors import raise_error
from ._native import ffi, lib
from ._tensor_base import Tensor, handle_slot, new_tensor

_new, _retain, _handle = object.__new__, lib.fb_retain, handle_slot.__get__
_c_grad, _c_requires_grad, _backward_one = lib.fb_ag_grad, lib.fb_ag_requires_grad, lib.fbp_ag_backward_one
RETAIN, CREATE = 1, 2
_enabled = False


def enable() -> None:
    """Switches recording on; `flambeau.autograd` calls it when imported."""
    global _enabled
    if not _enabled:
        lib.fbp_ag_enable()
        _enabled = True


def _need() -> None:
    if not _enabled:
        from ._lazy import portion

        portion("autograd")
        enable()


class _Extras:
    """In a tensor's slot ``_a``: the object of its .grad, and a leaf's hooks."""

    __slots__ = ("grad", "hooks", "accumulated")

    def __init__(self) -> None:
        self.grad: Any = None
        self.hooks: OrderedDict = OrderedDict()
        self.accumulated: OrderedDict = OrderedDict()


def _extras(t: Tensor) -> _Extras:
    try:
        return t._a
    except AttributeError:
        t._a = _Extras()
        return t._a


# ---- properties ------------------------------------------------------------------------------------------------


def _get_requires_grad(self: Tensor) -> bool:
    try:
        return _c_requires_grad(self._h)
    except AttributeError:
        return _c_requires_grad(_handle(self))


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if value:
        _need()
    if lib.fbp_ag_set_requires_grad(_handle(self), bool(value)):
        raise_error()


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Turns recording of what is done with this leaf on or off, in place; returns the tensor itself."""
    _set_requires_grad(self, requires_grad)
    return self


def _get_grad(self: Tensor) -> Tensor | None:
    h = _c_grad(_handle(self))
    if not h:
        if not self.is_leaf and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
                "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
                ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
                "Tensor instead.",
                stacklevel=2,
            )
        return None
    extras = _extras(self)
    g = extras.grad
    if g is None or _handle(g) != h:
        g = extras.grad = _new(Tensor)
        g._h = _retain(h)
    return g


def _set_grad(self: Tensor, grad: Tensor | None) -> None:
    if grad is None:
        lib.fbp_ag_set_grad(_handle(self), NULL)
        try:
            self._a.grad = None
        except AttributeError:
            pass
        return
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if lib.fbp_ag_set_grad(_handle(self), _handle(grad)):
        raise_error()
    _extras(self).grad = grad


def _grad_fn_handle(t: Tensor) -> Any:
    """A new reference to the node that made t; NULL for a leaf."""
    n = lib.fbp_ag_grad_fn(_handle(t))
    if not n and lib.fbp_error_kind():
        raise_error()
    return n


def _get_grad_fn(self: Tensor) -> Any:
    n = _grad_fn_handle(self)
    if not n:
        return None
    node = node_object(n)
    lib.fb_node_release(n)
    return node


def _get_is_leaf(self: Tensor) -> bool:
    n = _grad_fn_handle(self)
    lib.fb_node_release(n)
    return not n


def _get_base(self: Tensor) -> Tensor | None:
    h = lib.fb_ag_base(_handle(self))
    return new_tensor(h) if h else None


def retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a tensor that is not a leaf in ``.grad``, too. RuntimeError unless it requires grad."""
    if lib.fbp_ag_retain_grad(_handle(self)):
        raise_error()


def detach_(self: Tensor) -> Tensor:
    """Takes the tensor out of the graph that made it, in place: it becomes a leaf. RuntimeError for views."""
    if lib.fbp_ag_detach_(_handle(self)):
        raise_error()
    return self


def is_inference(self: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return bool(lib.fbp_flags(_handle(self)) & 4)


def _is_view(self: Tensor) -> bool:
    return self._base is not None


# ---- hooks ------------------------------------------------------------------------------------------------------


def _accumulator(t: Tensor, hooks: int) -> None:
    """Has the engine call the leaf's hooks."""
    n = lib.fb_accumulator_of(_handle(t))
    if not n:
        raise_error()
    watch(n, hooks).leaf = weakref.ref(t)
    lib.fb_node_release(n)


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Calls ``hook(grad)`` whenever a gradient of this tensor is computed; a tensor that it returns takes grad's place.

    RuntimeError unless the tensor requires grad. Returns a handle whose ``remove()`` takes the hook back.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    n = _grad_fn_handle(self)
    if not n:
        _accumulator(self, nodes.TENSOR)
        return add_hook(_extras(self).hooks, hook)
    hooks = watch(n, nodes.TENSOR).tensor_hooks.setdefault(lib.fb_ag_output_nr(_handle(self)), OrderedDict())
    lib.fb_node_release(n)
    return add_hook(hooks, hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Calls ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``. RuntimeError unless it is a leaf that
    requires grad."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    _accumulator(self, nodes.ACCUMULATED)
    return add_hook(_extras(self).accumulated, hook)


def _get_hooks(self: Tensor) -> Any:
    try:
        return self._a.hooks or None
    except AttributeError:
        return None


# ---- backward -----------------------------------------------------------------------------------------------------


def backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Adds the gradient of this tensor with respect to the graph's leaves to their ``.grad``.

    Args:
        gradient: of the shape of this tensor: the gradient of some scalar with respect to it; may be absent for one element.
        retain_graph: keep what the graph saved, for another backward (default: the value of ``create_graph``).
        create_graph: record the derivative itself, so that it can be differentiated again.
        inputs: only these tensors get a gradient.
    """
    if gradient is None and inputs is None:
        if _backward_one(_handle(self), (create_graph if retain_graph is None else retain_graph) | 2 * create_graph):
            raise_error()
        return
    _need()
    from .autograd import backward as run

    run(self, gradient, retain_graph, create_graph, inputs=inputs)


def run_backward(
    roots: Sequence[Tensor], grads: Sequence[Tensor | None], flags: int, inputs: Sequence[Tensor] | None, capture: bool
) -> list[Tensor | None]:
    """The engine: grads of roots into ``.grad`` of all leaves (inputs None) or of inputs, or, with capture, as results."""
    c_roots, c_grads = handles(roots), handles(grads)
    n = -1 if inputs is None else len(inputs)
    c_inputs = NULL if inputs is None else handles(inputs)
    captured = ffi.new("fb_tensor *[]", max(n, 1)) if capture else NULL
    if lib.fbp_ag_backward(len(roots), c_roots, c_grads, n, c_inputs, captured, flags):
        raise_error()
    return [new_tensor(captured[i]) if captured[i] else None for i in range(n)] if capture else []


def bump_version(t: Tensor) -> None:
    """Counts a write to the tensor's memory that the core did not see."""
    if lib.fb_ag_version(_handle(t)) < 0 or lib.fbp_ag_bump_version(_handle(t)):
        raise_error()


Tensor.requires_grad = property(_get_requires_grad, _set_requires_grad, doc="Whether operations on the tensor are recorded.")
Tensor.grad = property(_get_grad, _set_grad, lambda self: _set_grad(self, None), doc="The gradient accumulated by backward, or None.")
Tensor.grad_fn = property(_get_grad_fn, doc="The node that made the tensor; None for a leaf.")
Tensor.is_leaf = property(_get_is_leaf, doc="Whether no recorded operation made the tensor.")
Tensor.output_nr = property(lambda self: lib.fb_ag_output_nr(_handle(self)), doc="Which result of grad_fn the tensor is.")
Tensor.retains_grad = property(lambda self: bool(lib.fb_ag_retains_grad(_handle(self))), doc="Whether retain_grad() was called.")
Tensor._base = property(_get_base, doc="The tensor that this one is a view of, or None.")
Tensor._backward_hooks = property(_get_hooks, doc="The hooks of a leaf, or None.")
for _fn in (
    requires_grad_, retain_grad, detach_, is_inference, _is_view, register_hook, register_post_accumulate_grad_hook, backward,
):  # fmt: skip
    _fn.__qualname__ = f"Tensor.{_fn.__name__}"
    setattr(Tensor, _fn.__name__, _fn)
