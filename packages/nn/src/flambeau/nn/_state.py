"""state_dict() and load_state_dict(): a module's parameters and buffers by dotted name."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import flambeau as fb
from flambeau import Tensor

from ._handle import RemovableHandle
from .parameter import Parameter

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The names that the module lacks a value for, and those that it has no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WithModule:
    """A hook that gets its module as first argument; holds it weakly, for it lies in the module's own table."""

    def __init__(self, hook: Callable, module: Any) -> None:
        import weakref

        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> tuple:
        return self.hook, self.module()

    def __setstate__(self, state: tuple) -> None:
        self.__init__(*state)


class StateMixin:
    """The state methods of ``Module``."""

    # What the layout of the state is numbered; a subclass that changes its layout raises it and converts older ones
    # in `_load_from_state_dict`, where it finds the number that was saved under "version" in `local_metadata`.
    _version: int = 1

    def get_extra_state(self) -> Any:
        """State beside the tensors, to be overridden together with ``set_extra_state``; saved by ``state_dict()``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. A module that has extra "
            "state overrides get_extra_state() and set_extra_state()."
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes back what ``get_extra_state`` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. A module that has extra "
            "state overrides get_extra_state() and set_extra_state()."
        )

    # -- saving ------------------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name, in an ``OrderedDict``.

        The values share the module's memory; they are detached unless ``keep_vars``. ``destination`` is a dict to add
        to, ``prefix`` goes before each name. Its ``_metadata`` attribute has each module's state version.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        hooks = self.__dict__
        for hook in hooks.get("_state_dict_pre_hooks", {}).values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in hooks.get("_state_dict_hooks", {}).values():
            new = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if new is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif new is not None:
                destination = new
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Adds this module's own entries to ``destination``."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        hidden = self.__dict__.get("_non_persistent_buffers_set", ())
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in hidden:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict()``; it may change the dict,
        and must return None."""
        hook._from_public_api = True
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict()`` collects."""
        handle = RemovableHandle(self._state_dict_pre_hooks)
        self._state_dict_pre_hooks[handle.id] = hook
        return handle

    # -- loading -----------------------------------------------------------------------------------------------------

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self._load_state_dict_pre_hooks)
        self._load_state_dict_pre_hooks[handle.id] = _WithModule(hook, self) if with_module else hook
        return handle

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` before the module takes its entries."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Calls ``hook(module, incompatible_keys)`` after loading; it may change the two lists, and must return
        None."""
        handle = RemovableHandle(self._load_state_dict_post_hooks)
        self._load_state_dict_post_hooks[handle.id] = hook
        return handle

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes this module's own entries (not its submodules') out of ``state_dict``, and notes what is wrong."""
        for hook in self.__dict__.get("_load_state_dict_pre_hooks", {}).values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        hidden = self.__dict__.get("_non_persistent_buffers_set", ())
        own = {name: p for name, p in self._parameters.items() if p is not None}
        own.update((name, b) for name, b in self._buffers.items() if b is not None and name not in hidden)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                message = self._load_entry(name, key, current, state_dict[key], assign)
                if message:
                    error_msgs.append(message)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_entry(self, name: str, key: str, current: Tensor, value: Any, assign: bool) -> str | None:
        """Copies ``value`` into ``current``, or puts it in its place; what went wrong, if anything."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
        lazy = getattr(current, "_is_uninitialized", False)
        if not lazy and current.dim() == 0 and value.dim() == 1:
            value = value[0]  # scalars were saved as one-element vectors before PyTorch 0.4
        if not lazy and value.shape != current.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {current.shape}."
            )
        if current.is_meta and not value.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)"
            )
        try:
            with fb.no_grad():
                if not assign:
                    current.copy_(value)
                    return None
                if isinstance(current, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(current.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=current.requires_grad)
                setattr(self, name, value)
        except Exception as e:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {current.size()} and '
                f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {e.args}."
            )
        return None

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies the values of ``state_dict`` into this module and those below it.

        ``strict``: names must match exactly. ``assign``: the values replace the module's tensors instead of being
        copied into them. Returns the missing and the unexpected names; raises RuntimeError that lists them when
        ``strict``, and for shapes that differ.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        incompatible = _IncompatibleKeys([], [])
        errors: list[str] = []

        def load(module: Any, entries: dict, prefix: str) -> None:
            local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(entries, prefix, local, True, *incompatible, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in entries.items() if k.startswith(below)}, below)
            for hook in module.__dict__.get("_load_state_dict_post_hooks", {}).values():
                if hook(module, incompatible) is not None:
                    raise RuntimeError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict, "")
        if strict:
            missing, unexpected = incompatible
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: " + _quoted(unexpected) + ". ")
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: " + _quoted(missing) + ". ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return incompatible


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
