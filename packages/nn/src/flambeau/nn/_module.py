"""The base class of all layers and models."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from flambeau import Tensor

from . import _hooks
from ._convert import ConvertMixin
from ._hooks import HooksMixin, run_registration_hooks
from ._registry import KINDS, Registry, attach, without_shown
from ._state import StateMixin
from ._tree import TreeMixin
from .parameter import Buffer, Parameter

_any_global_hook = _hooks.any_global

# Attributes that are made when first asked for.
_ON_DEMAND = dict.fromkeys((*_hooks.CALL_TABLES, *_hooks.STATE_TABLES), OrderedDict)
_ON_DEMAND["_non_persistent_buffers_set"] = set


class Module(TreeMixin, HooksMixin, StateMixin, ConvertMixin):
    """A part of a model: parameters, buffers, submodules, and a ``forward`` that uses them.

    Assigning a ``Parameter``, a ``Buffer`` or another ``Module`` to an attribute registers it. Calling the module
    calls ``forward`` with the same arguments.
    """

    training: bool
    dump_patches: bool = False
    # Whether Module.__init__ passes its arguments on to the next class in the method resolution order.
    call_super_init: bool = False
    # True on an instance once one of its call hook tables exists.
    _may_have_hooks: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            if not self.call_super_init:
                what = (
                    f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                    if kwargs
                    else f"takes 1 positional argument but {len(args) + 1} were given"
                )
                raise TypeError(f"{type(self).__name__}.__init__() {what}")
        attributes = self.__dict__
        attributes["training"] = True
        for kind in KINDS:
            attributes[kind] = Registry(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._may_have_hooks or _any_global_hook[0]:
            return self._call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def forward(self, *input: Any) -> None:
        """What the module computes; subclasses define it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: there is no compiler, and the module runs as it is."""

    # -- registering -------------------------------------------------------------------------------------------------

    def _check_name(self, name: Any, kind: str, table: dict) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f"""{kind} name can't contain ".", got: {name}""")
        if name == "":
            raise KeyError(f"""{kind} name can't be empty string \"\"""")
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _table(self, kind: str, what: str) -> Registry:
        table = self.__dict__.get(kind)
        if table is None:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        return table

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds ``param``, to be used as attribute ``name``. With None the name exists, but is no parameter.

        Raises KeyError for a name that is taken or has a dot, TypeError for what isn't a ``Parameter``, ValueError for
        a tensor with a history.
        """
        table = self._table("_parameters", "parameter")
        self._check_name(name, "parameter", table)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            if _hooks._global_parameter_registration_hooks:
                param = run_registration_hooks(_hooks._global_parameter_registration_hooks, self, name, param)
        table[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds ``tensor`` to the state without training it, to be used as attribute ``name``.

        ``persistent=False`` keeps it out of ``state_dict()``. Raises KeyError for a name that is taken or has a dot,
        TypeError for what isn't a tensor.
        """
        table = self._table("_buffers", "buffer")
        self._check_name(name, "buffer", table)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        if _hooks._global_buffer_registration_hooks:
            tensor = run_registration_hooks(_hooks._global_buffer_registration_hooks, self, name, tensor)
        table[name] = tensor
        if not persistent:
            self._non_persistent_buffers_set.add(name)
        elif "_non_persistent_buffers_set" in self.__dict__:
            self._non_persistent_buffers_set.discard(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds ``module`` as a submodule, to be used as attribute ``name``.

        Raises KeyError for a name that is taken or has a dot, TypeError for what isn't a ``Module``.
        """
        table = self._table("_modules", "module")
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name(name, "module", table)
        if _hooks._global_module_registration_hooks:
            module = run_registration_hooks(_hooks._global_module_registration_hooks, self, name, module)
        table[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as ``add_module``."""
        self.add_module(name, module)

    # -- attributes --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Registered entries are plain attributes (see Registry), so this runs only for the few that are hidden, for
        # tables made on demand, and for what doesn't exist.
        attributes = self.__dict__
        for kind in KINDS:
            table = attributes.get(kind)
            if table is not None and name in table:
                return table[name]
        make = _ON_DEMAND.get(name)
        if make is not None and "_parameters" in attributes:
            if name in _hooks.CALL_TABLES:
                attributes["_may_have_hooks"] = True
            table = attributes[name] = make()
            return table
        found = getattr(type(self), name, None)
        if isinstance(found, property):
            # It was the property's code that missed an attribute: once more, for that error to be seen.
            return found.__get__(self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, (Tensor, Module)):
            if isinstance(value, Module):
                modules = self._table("_modules", "module")
                self._release(name, modules)
                if _hooks._global_module_registration_hooks:
                    value = run_registration_hooks(_hooks._global_module_registration_hooks, self, name, value)
                modules[name] = value
                return
            if isinstance(value, Parameter):
                self._release(name, self._table("_parameters", "parameters"))
                self.register_parameter(name, value)
                return
        parameters = attributes.get("_parameters")
        if parameters is not None:
            if name in parameters:
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                    )
                self.register_parameter(name, None)
                return
            if name in attributes["_modules"]:
                if value is not None:
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                    )
                attributes["_modules"][name] = None
                return
            is_buffer = isinstance(value, Tensor) and isinstance(value, Buffer)
            if is_buffer or name in attributes["_buffers"]:
                self._set_buffer(name, value, is_buffer)
                return
            if name in KINDS:
                attach(self, name, value)
                return
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self._table("_buffers", "buffers")  # raises: there are no tables yet
        object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any, is_buffer: bool) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if is_buffer:
            buffers = self._table("_buffers", "buffers")
            if name not in buffers:
                self._release(name, buffers)
            self.register_buffer(name, value, value.persistent)
            return
        if _hooks._global_buffer_registration_hooks:
            value = run_registration_hooks(_hooks._global_buffer_registration_hooks, self, name, value)
        self._buffers[name] = value

    def _release(self, name: str, table: dict) -> None:
        """Frees ``name`` from everything but ``table``."""
        attributes = self.__dict__
        for kind in KINDS:
            other = attributes[kind]
            if other is not table and name in other:
                del other[name]
        if name not in table:
            attributes.pop(name, None)
        hidden = attributes.get("_non_persistent_buffers_set")
        if hidden:
            hidden.discard(name)

    def __delattr__(self, name: str) -> None:
        attributes = self.__dict__
        for kind in KINDS:
            table = attributes.get(kind, ())
            if name in table:
                del table[name]
                if kind == "_buffers" and "_non_persistent_buffers_set" in attributes:
                    attributes["_non_persistent_buffers_set"].discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *_ON_DEMAND}
        for kind in KINDS:
            names.update(self.__dict__.get(kind, ()))
        # A ModuleList's "0" is no attribute that could be typed.
        return sorted(name for name in names if not name[0].isdigit())

    # -- copies ------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict:
        return without_shown(self.__dict__)

    def __setstate__(self, state: dict) -> None:
        attributes = self.__dict__
        attributes.update(state)
        for kind in KINDS:
            attach(self, kind, attributes.get(kind) or {})
        if any(attributes.get(name) for name in _hooks.CALL_TABLES):
            attributes["_may_have_hooks"] = True

    def _replicate_for_data_parallel(self) -> Module:
        """A copy that shares everything but its tables, and has no parameters."""
        replica = self.__new__(type(self))
        state = without_shown(self.__dict__)
        state["_parameters"] = {}
        Module.__setstate__(replica, state)
        replica._is_replica = True
        return replica

    # -- text --------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of ``repr(module)``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): " + indented(repr(module), 2) for name, module in self._modules.items()]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        lines = extra_lines + child_lines
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def typename(value: Any) -> str:
    """The type's dotted name, as PyTorch writes it in messages."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ in ("builtins", None) else f"{cls.__module__}.{cls.__qualname__}"


def indented(text: str, spaces: int) -> str:
    """``text`` with all lines but the first moved right."""
    return text.replace("\n", "\n" + " " * spaces)
