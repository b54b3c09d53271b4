"""The base class of all optimizers: parameter groups, state, hooks and checkpoints."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from flambeau import Tensor, float32

from ._hooks import RemovableHandle, attach

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = ParamsT

_global_step_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_step_post_hooks: OrderedDict[int, Callable] = OrderedDict()

_HOOK_TABLES = tuple(
    f"_optimizer_{event}_{when}_hooks"
    for event in ("step", "state_dict", "load_state_dict")
    for when in ("pre", "post")
)


class _Required:
    """Marks an option in `defaults` that every parameter group has to give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before each step of every optimizer."""
    return attach(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return attach(_global_step_post_hooks, hook)


def _with_hooks(step: Callable) -> Callable:
    """`step` between its pre and post hooks, noting that it ran (the schedulers ask)."""

    @functools.wraps(step)
    def hooked_step(*args, **kwargs):
        self = args[0]
        if type(self).step is not hooked_step:  # called by a subclass's own step, which has run the hooks
            return step(*args, **kwargs)
        for hook in chain(_global_step_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_step_post_hooks.values()):
            hook(self, args, kwargs)
        if "_opt_called" in self.__dict__:  # a scheduler watches this optimizer
            self._opt_called = True
        return result

    hooked_step.hooked = True
    return hooked_step


class Optimizer:
    """Holds the parameters in groups with options of their own, and what is remembered of each parameter.

    A subclass defines ``step(closure=None)``; its hooks run around it.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with such under ``"params"`` and options beside.
        defaults: the options of a group that does not give its own.

    Raises:
        TypeError: `params` is a single tensor or holds something other than tensors.
        ValueError: no parameters, a tensor that is no leaf, or one that is in two groups.
    """

    OptimizerPreHook: TypeAlias = Callable[["Optimizer", tuple, dict], tuple[tuple, dict] | None]
    OptimizerPostHook: TypeAlias = Callable[["Optimizer", tuple, dict], None]

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        if cls.step is not Optimizer.step and not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {_type_name(params)}"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for name in _HOOK_TABLES:
            setattr(self, name, OrderedDict())

    # -- groups ----------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; `param_group` itself is filled with the missing options and kept.

        Raises:
            TypeError: not a dict, parameters in a set (no order), or something that is no tensor.
            ValueError: a required option is missing, a tensor is no leaf or in another group,
                or names are given for some parameters only.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params, names = _split_names(params)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        self._check_params(params)

        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)

        ids = {id(p) for p in params}
        if len(ids) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if any(id(p) in ids for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        named = "param_names" in param_group
        if self.param_groups and named != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {'with' if named else 'without'} names to the optimizer"
            )
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Tensor]) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_type_name(p)}")
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients; with ``set_to_none=False`` fills them with zeros in place instead."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of the optimization; every subclass defines its own."""
        raise NotImplementedError

    # -- hooks -----------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: OptimizerPreHook) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before a step; it may return new ``(args, kwargs)``."""
        return attach(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: OptimizerPostHook) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after a step."""
        return attach(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before `state_dict` looks at anything."""
        return attach(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` on the finished dict; it may return another in its place."""
        return attach(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` on a shallow copy before it is loaded; it may return another."""
        return attach(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` when a state dict has been loaded."""
        return attach(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- checkpoints -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """``{"state": ..., "param_groups": ...}``, with parameters replaced by their running number over all groups."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number: dict[int, int] = {}
        seen = 0
        groups = []
        for group in self.param_groups:
            for i, p in enumerate(group["params"], seen):
                number.setdefault(id(p), i)
            seen += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(number[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned, of this optimizer or of PyTorch's own.

        Parameters are matched by position. Floating point state takes the dtype and device of its parameter.

        Raises:
            ValueError: the groups differ in number or in their number of parameters.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed

        saved_groups = deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(s["params"]) != len(g["params"]) for s, g in zip(saved_groups, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )

        param, group_of = {}, {}
        for saved, group in zip(saved_groups, self.param_groups, strict=True):
            for number, p in zip(saved["params"], group["params"], strict=True):
                param[number], group_of[number] = p, saved
        state: defaultdict[Tensor, Any] = defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in param:
                state[param[k]] = _fit(v, param[k], group_of[k])
            else:
                state[k] = v

        for saved, group in zip(saved_groups, self.param_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # fresh from pickle or copy: hooks don't travel
            self._make_hook_tables()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _fit(value: Any, p: Tensor, group: dict[str, Any], key: Any = None) -> Any:
    """State read from a checkpoint, in the dtype and on the device that parameter `p` wants it."""
    if isinstance(value, Tensor):
        if key == "step":  # a counter: of a low precision dtype it would stop at 2048 or 256
            on_device = group.get("capturable") or group.get("fused")
            return value.to(dtype=float32, device=p.device) if on_device else value
        return value.to(dtype=p.dtype, device=p.device) if p.is_floating_point() else value.to(device=p.device)
    if isinstance(value, dict):
        return {k: _fit(v, p, group, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fit(v, p, group) for v in value)
    return value


def _split_names(params: Iterable) -> tuple[list[Tensor], list[str]]:
    params = list(params)
    names = [item[0] for item in params if isinstance(item, tuple)]
    if names and len(names) != len(params):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [item[1] for item in params] if names else params, names


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
