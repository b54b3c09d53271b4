"""Forward and backward hooks: tables, registration, and the call that runs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from flambeau import Tensor

from ._handle import RemovableHandle

# A module makes each of its hook tables when it is first asked for: most modules never have one.
CALL_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)
STATE_TABLES = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)

_global_backward_pre_hooks: OrderedDict = OrderedDict()
_global_backward_hooks: OrderedDict = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: OrderedDict = OrderedDict()
_global_forward_hooks: OrderedDict = OrderedDict()
_global_forward_hooks_always_called: OrderedDict = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict = OrderedDict()
_global_buffer_registration_hooks: OrderedDict = OrderedDict()
_global_module_registration_hooks: OrderedDict = OrderedDict()
_global_parameter_registration_hooks: OrderedDict = OrderedDict()

# True once a global call hook was registered: from then on every call looks at the tables above.
any_global = [False]

_MIXED = "Cannot use both regular backward hooks and full backward hooks on {}. Please use only one of them."


def _add(table: OrderedDict, hook: Callable, prepend: bool = False, marks: tuple = ()) -> RemovableHandle:
    """Puts ``hook`` into ``table``, and its id into each of ``marks``."""
    handle = RemovableHandle(table, extra_dict=list(marks))
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def run_registration_hooks(table: OrderedDict, module: Any, name: str, value: Any) -> Any:
    """What the global registration hooks make of ``value``."""
    for hook in table.values():
        new = hook(module, name, value)
        if new is not None:
            value = new
    return value


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Calls ``hook(module, name, buffer)`` whenever a module registers a buffer; a result replaces the buffer."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Calls ``hook(module, name, submodule)`` whenever a module registers another; a result replaces it."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Calls ``hook(module, name, param)`` whenever a module registers a parameter; a result replaces it."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before each call of any module; a result replaces the arguments."""
    any_global[0] = True
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args[, kwargs], output)`` after each call of any module; a result replaces the output."""
    any_global[0] = True
    marks = (_global_forward_hooks_with_kwargs,) * with_kwargs + (_global_forward_hooks_always_called,) * always_call
    return _add(_global_forward_hooks, hook, marks=marks)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The older kind of backward hook, for every module; ``register_module_full_backward_hook`` is to be preferred."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is True:
        raise RuntimeError(_MIXED.format("any Module globally"))
    _global_is_full_backward_hook = False
    any_global[0] = True
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` before the backward pass of any module; a result replaces the gradients."""
    any_global[0] = True
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` in the backward pass of any module; a result replaces
    ``grad_input``."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is False:
        raise RuntimeError(_MIXED.format("any Module globally"))
    _global_is_full_backward_hook = True
    any_global[0] = True
    return _add(_global_backward_hooks, hook)


class HooksMixin:
    """The hook methods of ``Module``."""

    _is_full_backward_hook: bool | None = None

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_output)`` when the gradients of the outputs are known.

        ``grad_output`` is a tuple, with None for an output that has no gradient. A result other than None replaces it.
        ``prepend=True`` puts the hook before those that are there already.
        """
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The older kind of backward hook: sees the gradients of the module's last operation only.

        Raises RuntimeError when the module has full backward hooks.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(_MIXED.format("a single Module"))
        self._is_full_backward_hook = False
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are known.

        Both are tuples over the positional arguments and the outputs, with None where there is no gradient. A result
        other than None replaces ``grad_input``. Raises RuntimeError when the module has hooks of the older kind.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(_MIXED.format("a single Module"))
        self._is_full_backward_hook = True
        return _add(self._backward_hooks, hook, prepend)

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)``, or with ``with_kwargs`` ``hook(module, args, kwargs)``, before ``forward``.

        A result other than None replaces the positional arguments (one that isn't a tuple is the only argument); with
        ``with_kwargs`` it must be ``(args, kwargs)``.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) * with_kwargs
        return _add(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args, output)``, or with ``with_kwargs`` ``hook(module, args, kwargs, output)``, after
        ``forward``.

        A result other than None replaces the output. ``always_call=True`` runs the hook when ``forward`` raises, too.
        """
        marks = (self._forward_hooks_with_kwargs,) * with_kwargs + (self._forward_hooks_always_called,) * always_call
        return _add(self._forward_hooks, hook, prepend, marks)

    def _get_backward_hooks(self) -> tuple[list, list]:
        """The full backward hooks and the older ones, global ones first."""
        full: list = []
        older: list = []
        if _global_backward_hooks:
            (full if _global_is_full_backward_hook else older).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else older).extend(self._backward_hooks.values())
        return full, older

    def _get_backward_pre_hooks(self) -> list:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """``__call__`` with every hook."""
        done: set = set()
        try:
            return _call_with_hooks(self, args, kwargs, done)
        except Exception:
            _run_always_called(self, args, kwargs, done)
            raise


def _call_with_hooks(module: Any, args: tuple, kwargs: dict, done: set) -> Any:
    args, kwargs = _run_forward_pre(module, args, kwargs)
    full, older = module._get_backward_hooks()
    pre = module._get_backward_pre_hooks()
    backward = None
    if full or pre:
        from ._backward_hooks import BackwardHooks  # needs autograd, and few modules have such hooks

        backward = BackwardHooks(module, full, pre)
        args = backward.inputs(args)
    result = module.forward(*args, **kwargs)
    own_kwargs, own_always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    for key, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
        if key in own_always or key in _global_forward_hooks_always_called:
            done.add(key)
        if key in own_kwargs or key in _global_forward_hooks_with_kwargs:
            new = hook(module, args, kwargs, result)
        else:
            new = hook(module, args, result)
        if new is not None:
            result = new
    if backward is not None:
        result = backward.output(result)
    if older:
        _hook_last_node(module, result, older)
    return result


def _run_forward_pre(module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            new = hook(module, args, kwargs)
            if new is not None:
                if not (isinstance(new, tuple) and len(new) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {new}."
                    )
                args, kwargs = new
        else:
            new = hook(module, args)
            if new is not None:
                args = new if isinstance(new, tuple) else (new,)
    return args, kwargs


def _run_always_called(module: Any, args: tuple, kwargs: dict, done: set) -> None:
    """Runs the always-called hooks that the failed call didn't get to; what they raise is only a warning."""
    for own, table, marks, with_kwargs in (
        (False, _global_forward_hooks, _global_forward_hooks_always_called, _global_forward_hooks_with_kwargs),
        (True, module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs),
    ):
        for key, hook in table.items():
            if key not in marks or key in done:
                continue
            try:
                hook(module, args, kwargs, None) if key in with_kwargs else hook(module, args, None)
            except Exception as e:
                import warnings

                kind = "module" if own else "global module"
                warnings.warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced "
                    f"as another error was raised in forward: {e}"
                )


def _hook_last_node(module: Any, result: Any, hooks: list) -> None:
    """Registers hooks of the older kind on the node that made the first tensor in ``result``."""
    value = result
    while not isinstance(value, Tensor):
        if isinstance(value, dict):
            value = next(v for v in value.values() if isinstance(v, Tensor))
        else:
            value = value[0]
    if value.grad_fn is not None:
        for hook in hooks:
            value.grad_fn.register_hook(lambda grad_in, grad_out, hook=hook: hook(module, grad_in, grad_out))
