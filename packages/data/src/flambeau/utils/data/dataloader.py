"""The data loader: a dataset, the order of its samples, and who makes the batches."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from flambeau import Generator

from ._collate import default_collate, default_convert
from ._iterators import InProcessIterator, LoaderIterator, WorkerIterator
from ._worker_info import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, EndlessNone, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

# Parts of a loader that the others were derived from.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, made in this process or by workers ahead of time.

    Args:
        dataset: a `Dataset`, or anything with ``__getitem__`` and ``__len__``; or an `IterableDataset`.
        batch_size: samples a batch; None yields single samples.
        shuffle: a new random order in each pass.
        sampler: the order, instead of `shuffle`.
        batch_sampler: yields lists of indices; instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: processes that make batches; 0: this one does.
        collate_fn: from a list of samples to a batch; `default_collate`, or `default_convert` for single samples.
        pin_memory: wants batches in page-locked memory; without an accelerator there is a warning and no effect.
        drop_last: leaves out a shorter batch at the end.
        timeout: seconds to wait for a batch of a worker; 0: any number.
        worker_init_fn: called with the number of the worker in each, after seeding.
        multiprocessing_context: a start method's name, or a context.
        generator: of the order, and of the seed of the workers.
        prefetch_factor: batches that each worker is ahead; 2 unless given.
        persistent_workers: keeps the workers for the next pass.
        pin_memory_device: accepted, and of no effect.
        in_order: yields batches in the order of the sampler, also where a later one is ready first.

    Worker number i is seeded with a base seed, drawn from `generator` in each pass, plus i.

    Raises:
        ValueError: options that exclude each other or are out of range.
        TypeError: `multiprocessing_context` is neither a name nor a context.
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    prefetch_factor: int | None
    _iterator: LoaderIterator | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. Let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            given = dict(shuffle=shuffle or None, sampler=sampler, batch_sampler=batch_sampler)
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = EndlessNone()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.__initialized = True
        self.check_worker_number_rationality()

    # -- iteration -------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                UserWarning,
                stacklevel=2,
            )
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if isinstance(self._iterator, WorkerIterator) and self._iterator.alive:
            self._iterator.begin_again(self)
        else:
            self._iterator = self._get_iterator()
        return self._iterator

    def _get_iterator(self) -> LoaderIterator:
        if self.num_workers == 0:
            return InProcessIterator(self)
        self.check_worker_number_rationality()
        return WorkerIterator(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Batches in a pass; of an iterable dataset, as far as its own length is right.

        Raises:
            TypeError: the dataset or the sampler has no length.
        """
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        self._IterableDataset_len_called = length
        return length

    # -- options ---------------------------------------------------------------------------------------

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The context that workers are started in; None: Python's default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def check_worker_number_rationality(self) -> None:
        """Warns where there are more workers than processors for them."""
        if not self.num_workers:
            return
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if usable is not None and self.num_workers > usable:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {usable}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                UserWarning,
                stacklevel=3,
            )
