"""Helpers that code written for PyTorch imports from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tuples import ntuple as _ntuple
from .._tuples import pair as _pair
from .._tuples import quadruple as _quadruple
from .._tuples import single as _single
from .._tuples import triple as _triple

__all__ = [
    "_list_with_default",
    "_ntuple",
    "_pair",
    "_quadruple",
    "_reverse_repeat_tuple",
    "_single",
    "_triple",
    "consume_prefix_in_state_dict_if_present",
]


def _reverse_repeat_tuple(t: Sequence, n: int) -> tuple:
    """Each element ``n`` times, last one first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Sequence, defaults: Sequence[int]) -> list[int]:
    """``out_size`` with the last of ``defaults`` in place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if s is None else s for s, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes ``prefix`` off the names in ``state_dict``, in place, and off its metadata: as when ``DataParallel`` had
    put it there."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            # The module itself has the prefix without its dot.
            if key.startswith(prefix) or key == prefix.rstrip("."):
                metadata[key[len(prefix) :]] = metadata.pop(key)
