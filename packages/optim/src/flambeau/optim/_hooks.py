"""Tables of hooks, and the handles that take a hook out again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable

_ids = itertools.count()


class RemovableHandle:
    """Takes its hook out of the table on `remove`, or at the end of a ``with`` block.

    The table is held weakly: a handle does not keep an optimizer alive.
    """

    def __init__(self, table: OrderedDict[int, Callable]) -> None:
        self.id = next(_ids)
        self._table = weakref.ref(table)

    def remove(self) -> None:
        """Takes the hook out; a second call does nothing."""
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def attach(table: OrderedDict[int, Callable], hook: Callable, prepend: bool = False) -> RemovableHandle:
    """Puts `hook` at the end of `table`, or at its start."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle
