"""What registering a hook returns."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook back: by ``remove()``, or at the end of a ``with`` block.

    Holds the hook tables weakly, so that a handle kept by the user doesn't keep the module alive.
    """

    def __init__(self, hooks: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks)
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)

    def remove(self) -> None:
        """Forgets the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.id, self.hooks_dict_ref(), tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        global _ids
        self.id, hooks, extra = state
        # A table that was gone when the handle was pickled is an empty one here, which dies at once.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if table is None else table) for table in extra)
        _ids = itertools.count(max(next(_ids), self.id + 1))

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
