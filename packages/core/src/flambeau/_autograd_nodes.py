"""Nodes of the graph as Python objects, hooks, and the callbacks through which the engine reaches Python.

Hooks on a leaf live on the Python tensor (a closure over it can then be collected with it); those on a node in `_watched`,
under the node's id, until the node dies.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ._errors import parked, raise_error
from ._native import ffi, lib
from ._tensor_base import Tensor, handle_slot, new_tensor

TENSOR, PRE, POST, ACCUMULATED = 1, 2, 4, 8  # enum of autograd.h
_new, _retain, _release, NULL = object.__new__, lib.fb_retain, lib.fb_release, ffi.NULL
_handle = handle_slot.__get__


class RemovableHandle:
    """Takes a hook back: by ``remove()``, or at the end of a ``with`` block. Holds the table of hooks weakly."""

    _ids = itertools.count()

    def __init__(self, hooks: Any) -> None:
        self.id = next(self._ids)
        self.hooks_dict_ref = weakref.ref(hooks)

    def remove(self) -> None:
        """Forgets the hook; a second call does nothing."""
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class _Watched:
    """What Python attached to one node."""

    __slots__ = ("tensor_hooks", "pre_hooks", "post_hooks", "object", "ctx", "metadata", "leaf")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, OrderedDict] = {}  # by number of the result
        self.pre_hooks: OrderedDict = OrderedDict()
        self.post_hooks: OrderedDict = OrderedDict()
        self.object: Any = None  # weakly, its Node
        self.ctx: Any = None  # of a Function
        self.metadata: dict | None = None
        self.leaf: Any = None  # weakly, the Python tensor of an accumulator


_watched: dict[int, _Watched] = {}


def watch(node: Any, hooks: int = 0) -> _Watched:
    """The entry of a node's handle; hooks: which callbacks it wants from now on."""
    key = lib.fb_ag_node_watch(node, hooks)
    entry = _watched.get(key)
    if entry is None:
        entry = _watched[key] = _Watched()
    return entry


def add_hook(hooks: OrderedDict, hook: Callable) -> RemovableHandle:
    """Adds the hook under a new handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


# ---- nodes ----------------------------------------------------------------------------------------------------


class Node:
    """What made a tensor: one step of the recorded graph (``tensor.grad_fn``)."""

    __slots__ = ("_n", "__weakref__")

    def __del__(self, _release: Any = lib.fb_node_release) -> None:
        _release(self._n)

    def name(self) -> str:
        """For example "AddBackward0"."""
        return ffi.string(lib.fb_ag_node_name(self._n)).decode()

    @property
    def next_functions(self) -> tuple:
        """For each differentiable input: (its node, which of that node's results it is), or (None, 0)."""
        n = self._n
        return tuple((node_object(lib.fb_ag_node_next(n, i)), lib.fb_ag_node_next_nr(n, i)) for i in range(lib.fb_ag_node_n_next(n)))

    @property
    def metadata(self) -> dict:
        """A dictionary of the user's, which lives as long as the node."""
        entry = watch(self._n)
        if entry.metadata is None:
            entry.metadata = {}
        return entry.metadata

    def register_hook(self, fn: Callable) -> RemovableHandle:
        """Calls ``fn(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces grad_inputs."""
        return add_hook(watch(self._n, POST).post_hooks, fn)

    def register_prehook(self, fn: Callable) -> RemovableHandle:
        """Calls ``fn(grad_outputs)`` before the node runs; what it returns replaces grad_outputs."""
        return add_hook(watch(self._n, PRE).pre_hooks, fn)

    def _sequence_nr(self) -> int:
        return lib.fb_ag_node_seq(self._n)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self._saved(name[len("_saved_") :])
        if name == "variable" and (leaf := lib.fb_ag_node_leaf(self._n)):
            return _leaf_object(self._n, leaf)
        entry = _watched.get(lib.fb_ag_node_watch(self._n, 0))
        if entry is not None and entry.ctx is not None:
            return getattr(entry.ctx, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _saved(self, name: str) -> Any:
        i = 0
        while saved := lib.fb_ag_node_saved_name(self._n, i):
            if ffi.string(saved).decode() == name:
                out = ffi.new("fb_tensor **")
                if lib.fbp_ag_node_saved(self._n, i, out):
                    raise_error()
                return new_tensor(out[0]) if out[0] else None
            i += 1
        raise AttributeError(f"{type(self).__name__!r} object has no attribute '_saved_{name}'")


_classes: dict[str, type] = {}


def node_object(n: Any) -> Node | None:
    """The Python object of a borrowed node handle: the same one each time, as long as somebody holds it."""
    if not n:
        return None
    entry = watch(n)
    node = entry.object() if entry.object is not None else None
    if node is None:
        name = ffi.string(lib.fb_ag_node_name(n)).decode()
        cls = _classes.get(name)
        if cls is None:
            cls = _classes[name] = type(name, (Node,), {"__slots__": (), "__module__": __name__.rpartition(".")[0]})
        node = _new(cls)
        node._n = lib.fb_node_retain(n)
        entry.object = weakref.ref(node)
    return node


def _leaf_object(n: Any, leaf: Any) -> Tensor:
    entry = watch(n)
    t = entry.leaf() if entry.leaf is not None else None
    return t if t is not None else new_tensor(_retain(leaf))


# ---- callbacks: each catches everything, parks it and reports failure ---------------------------------------------


def park(error: BaseException) -> int:
    """Keeps an exception for when C has unwound; the value that a callback then returns."""
    parked.append(error)
    return lib.fbp_ag_fail()


def wrap(handle: Any) -> Tensor | None:
    """A tensor on a borrowed handle; None for NULL."""
    if not handle:
        return None
    t = _new(Tensor)
    t._h = _retain(handle)
    return t


def replace(to: Any, i: int, value: Any) -> None:
    """Puts a tensor (or None) into an array of owned handles."""
    h = NULL if value is None else _handle(value)
    old = to[i]
    if h != old:
        to[i] = _retain(h)
        _release(old)


def _checked(hook: Callable, got: Any, grad: Tensor) -> Tensor:
    if not isinstance(got, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(got).__name__}'")
    if got.shape != grad.shape:
        raise RuntimeError(f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has changed the size of value")
    if got.dtype != grad.dtype:
        raise RuntimeError(f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has changed the type of value "
                           f"(was {grad.dtype} got {got.dtype})")  # fmt: skip
    return got


@ffi.def_extern()
def fbp_ag_tensor_hooks(key: int, nr: int, grad: Any) -> int:
    try:
        entry = _watched.get(key)
        hooks: Any = None
        if entry is not None:
            leaf = entry.leaf() if entry.leaf is not None else None
            hooks = leaf._a.hooks if leaf is not None else entry.tensor_hooks.get(nr)
        if not hooks:
            return 0
        g = wrap(grad[0])
        for hook in list(hooks.values()):
            got = hook(g)
            if got is not None:
                g = _checked(hook, got, g)
        replace(grad, 0, g)
    except BaseException as error:
        return park(error)
    return 0


def _replace_all(to: Any, n: int, values: Any, what: str) -> None:
    values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if len(values) != n:
        raise RuntimeError(f"hook has returned an incorrect number of values (got {len(values)}, but expected {n})")
    for i, v in enumerate(values):
        if v is not None and not isinstance(v, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(v).__name__}'")
        replace(to, i, v)


@ffi.def_extern()
def fbp_ag_pre_hooks(key: int, n: int, grads: Any) -> int:
    try:
        entry = _watched.get(key)
        for hook in list(entry.pre_hooks.values()) if entry is not None else ():
            got = hook(tuple(wrap(grads[i]) for i in range(n)))
            if got is not None:
                _replace_all(grads, n, got, "grad_outputs")
    except BaseException as error:
        return park(error)
    return 0


@ffi.def_extern()
def fbp_ag_post_hooks(key: int, n_inputs: int, grad_inputs: Any, n: int, grads: Any) -> int:
    try:
        entry = _watched.get(key)
        for hook in list(entry.post_hooks.values()) if entry is not None else ():
            got = hook(tuple(wrap(grad_inputs[i]) for i in range(n_inputs)), tuple(wrap(grads[i]) for i in range(n)))
            if got is not None:
                _replace_all(grad_inputs, n_inputs, got, "grad_inputs")
    except BaseException as error:
        return park(error)
    return 0


@ffi.def_extern()
def fbp_ag_accumulated(key: int, leaf: Any) -> int:
    try:
        entry = _watched.get(key)
        t = entry.leaf() if entry is not None and entry.leaf is not None else None
        if t is not None:
            for hook in list(t._a.accumulated.values()):
                hook(t)
    except BaseException as error:
        return park(error)
    return 0


@ffi.def_extern()
def fbp_ag_function(key: int, n: int, grads: Any, n_inputs: int, grad_inputs: Any) -> int:
    try:
        ctx = _watched[key].ctx
        results = ctx._run_backward(tuple(wrap(grads[i]) for i in range(n)), n_inputs)
        for i, r in enumerate(results):
            if r is not None:
                grad_inputs[i] = _retain(_handle(r))
    except BaseException as error:
        return park(error)
    return 0


node_made: Callable[[_Watched], None] | None = None  # anomaly mode: called for each node
node_failed: Callable[[str, _Watched], None] | None = None


def anomaly_mode() -> int:
    """0: off, 1: failures are explained, 2: NaN is a failure, too."""
    return lib.fb_ag_anomaly()


def set_anomaly_mode(mode: int, made: Callable[[_Watched], None], failed: Callable[[str, _Watched], None]) -> None:
    """From now on made(entry) is called for each recorded node, failed(name, entry) for one whose function failed."""
    global node_made, node_failed
    lib.fb_ag_set_anomaly(mode)
    node_made, node_failed = (made, failed) if mode else (None, None)
    lib.fbp_ag_watch_nodes(bool(mode))


@ffi.def_extern()
def fbp_ag_made(node: Any) -> int:
    try:
        if node_made is not None:
            node_made(watch(node))
    except BaseException as error:
        return park(error)
    return 0


@ffi.def_extern()
def fbp_ag_failed(node: Any) -> int:
    try:
        if node_failed is not None:
            node_failed(ffi.string(lib.fb_ag_node_name(node)).decode(), watch(node))
    except BaseException as error:
        return park(error)
    return 0


@ffi.def_extern()
def fbp_ag_poll() -> int:
    try:
        _nothing()  # entering a function is where Python looks for signals
    except BaseException as error:
        return park(error)
    return 0


def _nothing() -> None:
    for _ in ():
        pass


@ffi.def_extern()
def fbp_ag_freed(key: int) -> None:
    entry = _watched.pop(key, None)
    if entry is not None and entry.ctx is not None:
        entry.ctx._node = NULL


def handles(tensors: Iterable[Any]) -> Any:
    """A C array of the handles of tensors (None: NULL), borrowed."""
    return ffi.new("fb_tensor *[]", [NULL if t is None else _handle(t) for t in tensors] or 1)
