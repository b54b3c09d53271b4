"""The names of classes and functions in files: PyTorch's when written, ours when read."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

from . import _allowed, _copying, _storage
from ._size import layout

_ROOT = __name__.rpartition(".")[0]
_UTILS = {
    _copying.rebuild_tensor_v2: "_rebuild_tensor_v2",
    _copying.rebuild_tensor_v3: "_rebuild_tensor_v3",
    _copying.rebuild_meta_tensor: "_rebuild_meta_tensor_no_storage",
}
_SPECIAL = {
    **{fn: ("torch._utils", name) for fn, name in _UTILS.items()},
    _copying.rebuild_from_type: ("torch._tensor", "_rebuild_from_type_v2"),
    _storage.UntypedStorage: ("torch.storage", "UntypedStorage"),
    _storage.TypedStorage: ("torch.storage", "TypedStorage"),
    _allowed.find_layout: ("torch.serialization", "_get_layout"),
}
_BACK = {**{names: value for value, names in _SPECIAL.items()}}


def torch_name(obj: Any, module: str, name: str) -> tuple[str, str]:
    """What PyTorch calls a thing of ours; others keep their name."""
    try:
        if obj in _SPECIAL:
            return _SPECIAL[obj]
    except TypeError:  # not hashable
        pass
    if module != _ROOT and not module.startswith(_ROOT + "."):
        return module, name
    if name.startswith("_rebuild_parameter"):
        return "torch._utils", name
    parts = module.split(".")
    while parts[-1].startswith("_"):  # where users find it, not the file that it is written in
        parts.pop()
        public = ".".join(parts)
        if getattr(importlib.import_module(public), name.partition(".")[0], None) is not None:
            module = public
    return "torch" + module[len(_ROOT) :], name


def renaming(module: Any, persistent_id: Callable) -> type:
    """A pickler of a pickle module that writes names by `torch_name`. It must be one written in Python, as pickle's own ``_Pickler``."""
    base = getattr(module, "_Pickler", None) or module.Pickler
    if not hasattr(base, "dispatch"):
        raise RuntimeError(f"pickle_module={module.__name__}: its Pickler is not written in Python, and would not write PyTorch's names")

    def save_global(self: Any, obj: Any, name: str | None = None) -> None:
        shown = name or getattr(obj, "__qualname__", None) or obj.__name__
        where = pickle.whichmodule(obj, shown)  # type: ignore[attr-defined]
        theirs, theirs_name = torch_name(obj, where, shown)
        if (theirs, theirs_name) == (where, shown):
            base.save_global(self, obj, name)
            return
        if self.proto >= 4:
            self.save(theirs)
            self.save(theirs_name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{theirs}\n{theirs_name}\n".encode())
        self.memoize(obj)

    def by_name(self: Any, obj: Any) -> None:
        if (getattr(obj, "__module__", None) or "").partition(".")[0] == _ROOT.partition(".")[0]:
            save_global(self, obj)
        else:
            base.dispatch[type(torch_name) if not isinstance(obj, type) else type](self, obj)

    def reducer_override(self: Any, obj: Any) -> Any:
        return (_allowed.find_layout, (str(obj),)) if type(obj) is layout else NotImplemented

    members = {
        "reducer_override": reducer_override,
        "save_global": save_global,
        "persistent_id": staticmethod(persistent_id),
        "dispatch": {**base.dispatch, type: by_name, type(torch_name): by_name},
    }
    return type("Pickler", (base,), members)


def find_class(find: Callable, module: str, name: str) -> Any:
    """The thing that a name of PyTorch's means here; for other modules what ``find`` says."""
    if module != "torch" and not module.startswith("torch."):
        return find(module, name)
    if (module, name) in _BACK:
        return _BACK[module, name]
    if module == "torch._utils":
        found = _allowed._FUNCTIONS.get(f"{module}.{name}")
        if found is None:
            raise AttributeError(f"{module}.{name}, which the file needs, has no counterpart here")
        return found[0]
    ours = _ROOT + module[len("torch") :]
    while True:  # PyTorch's classes lie in more folders than ours: torch.nn.modules.linear.Linear is flambeau.nn.Linear
        try:
            return getattr(importlib.import_module(ours), name) if "." not in name else find(ours, name)
        except (ImportError, AttributeError):
            if ours == _ROOT:
                raise AttributeError(f"{module}.{name}, which the file needs, has no counterpart here") from None
            ours = ours.rpartition(".")[0]
