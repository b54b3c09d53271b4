"""From an index, or a list of them, to a batch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ._collate import default_collate
from .dataset import IterableDataset, whole_batches


def make_fetcher(dataset: Any, batched: bool, collate_fn: Callable, drop_last: bool) -> Callable[[Any], Any]:
    """A function that takes what the sampler yields and returns a batch (or, unless `batched`, one sample).

    For an iterable dataset it raises StopIteration at the end.
    """
    if isinstance(dataset, IterableDataset):
        return _Stream(dataset, batched, collate_fn, drop_last)
    if not batched:
        return lambda index: collate_fn(dataset[index])
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):

        def many(indices):
            return [dataset[i] for i in indices]

    whole = whole_batches(dataset) if collate_fn is default_collate else None
    if whole is None:
        return lambda indices: collate_fn(many(indices))

    def fetch(indices):
        if indices and type(indices) is list and all(type(i) is int for i in indices):
            return whole(indices)
        return collate_fn(many(indices))

    return fetch


class _Stream:
    """The next samples of an iterable dataset, whatever the index."""

    def __init__(self, dataset: IterableDataset, batched: bool, collate_fn: Callable, drop_last: bool) -> None:
        self._samples = iter(dataset)
        self._batched, self._collate, self._drop_last = batched, collate_fn, drop_last
        self._ended = False

    def __call__(self, index: Any) -> Any:
        if self._ended:  # an iterator that goes on after its end must not
            raise StopIteration
        if not self._batched:
            return self._collate(next(self._samples))
        batch = list(islice(self._samples, len(index)))
        self._ended = len(batch) < len(index)
        if not batch or (self._drop_last and self._ended):
            raise StopIteration
        return self._collate(batch)
