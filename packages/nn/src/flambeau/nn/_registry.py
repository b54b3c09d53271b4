"""The tables that hold a module's parameters, buffers and submodules."""

from __future__ import annotations

import weakref
from typing import Any

KINDS = ("_parameters", "_buffers", "_modules")

_ABSENT = object()


class Registry(dict):
    """A dict that shows its entries as attributes of the module that owns it.

    ``module.weight`` would otherwise miss the instance's attributes, raise inside the interpreter and end in
    ``Module.__getattr__``, which costs ten times a plain attribute. So every write here writes the module's
    ``__dict__`` as well. Two kinds of entry stay table-only, because PyTorch's lookup order hides them: a name that
    the class defines, and a name that a plain instance attribute already holds.

    The owner is held weakly: a strong reference would make every module a cycle, whose memory waits for the collector.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: Any, entries: Any = ()) -> None:
        dict.__init__(self, entries)
        self._owner = weakref.ref(owner)
        if self:
            attributes, cls = owner.__dict__, type(owner)
            for name, value in self.items():
                if name not in attributes and not hasattr(cls, name):
                    attributes[name] = value

    def belongs_to(self, owner: Any) -> bool:
        """Whether a write here shows on ``owner`` (not so for the copy of a module's ``__dict__``)."""
        return self._owner() is owner

    def __setitem__(self, name: str, value: Any) -> None:
        owner = self._owner()
        if owner is not None:
            attributes = owner.__dict__
            shown = attributes.get(name, _ABSENT)
            if shown is _ABSENT:
                if not hasattr(type(owner), name):
                    attributes[name] = value
            elif shown is self.get(name, _ABSENT):
                attributes[name] = value
        dict.__setitem__(self, name, value)

    def __delitem__(self, name: str) -> None:
        value = self[name]
        dict.__delitem__(self, name)
        owner = self._owner()
        if owner is not None and owner.__dict__.get(name, _ABSENT) is value:
            del owner.__dict__[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name not in self:
            return dict.pop(self, name, *default)
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        name, value = dict.popitem(self)
        dict.__setitem__(self, name, value)
        del self[name]
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __ior__(self, other: Any) -> Registry:
        self.update(other)
        return self

    def __reduce__(self) -> tuple:
        # Copies and pickles are plain dicts: the module that they end up in makes its own registry of them.
        return dict, (dict(self),)

    __reduce_ex__ = lambda self, protocol: self.__reduce__()  # noqa: E731


def attach(owner: Any, kind: str, entries: dict) -> Registry:
    """Makes ``entries`` the ``kind`` table of ``owner``, in place of the one that it may have."""
    attributes = owner.__dict__
    old = attributes.get(kind)
    if isinstance(old, dict):
        for name, value in old.items():
            if attributes.get(name, _ABSENT) is value:
                del attributes[name]
    table = attributes[kind] = Registry(owner, entries)
    return table


def without_shown(attributes: dict) -> dict:
    """A copy of a module's ``__dict__`` as PyTorch has it: plain tables, and no entry shown as an attribute."""
    state = attributes.copy()
    for kind in KINDS:
        table = state.get(kind)
        if table is not None:
            for name, value in table.items():
                if state.get(name, _ABSENT) is value:
                    del state[name]
            state[kind] = dict(table)
    return state
