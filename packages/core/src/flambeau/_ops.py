"""``flambeau.ops.aten``: every operator of the table by its own name, also those that users reach through other functions."""

from __future__ import annotations

from typing import Any

from ._gen import functions as _f


class _Namespace:
    """Operators as attributes. AttributeError, naming the operator, for one that the table doesn't have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        for table in (_f.ROOT, _f.HIDDEN, _f.NN, _f.METHODS):
            if name in table:
                return table[name]
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted({*_f.ROOT, *_f.HIDDEN, *_f.NN, *_f.METHODS})


class _Ops:
    """The operator namespaces; ``aten`` is the only one."""

    aten = _Namespace("aten")


ops = _Ops()
