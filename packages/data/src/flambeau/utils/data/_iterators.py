"""One pass over the data: in this process, or with workers."""

from __future__ import annotations

import multiprocessing
import warnings
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._failure import WorkerFailure
from ._fetch import make_fetcher
from .dataset import IterableDataset
from .sampler import new_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader


class LoaderIterator:
    """Counts what it yields; a subclass gives ``_next_data``."""

    def __init__(self, loader: DataLoader) -> None:
        self._timeout = loader.timeout
        self._dataset = loader.dataset
        self._iterable = isinstance(loader.dataset, IterableDataset)
        # The sampler draws from the generator when it is first asked, so the seed of the workers comes before its own.
        self._indices: Iterator = iter(loader._index_sampler)
        self._base_seed = new_seed(loader.generator)
        self._promised = None
        self._restart(loader)

    def _restart(self, loader: DataLoader) -> None:
        self._yielded = 0
        self._promised = loader._IterableDataset_len_called

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._yielded += 1
        if self._iterable and self._promised is not None and self._yielded > self._promised:
            self._warn_of_surplus()
        return data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_surplus(self) -> None:
        warnings.warn(
            f"Length of IterableDataset {self._dataset} was reported to be {self._promised} (when accessing "
            f"len(dataloader)), but {self._yielded} samples have been fetched. With several workers this happens where "
            "the dataset does not divide its samples among them, see get_worker_info().",
            UserWarning,
            stacklevel=3,
        )


class InProcessIterator(LoaderIterator):
    """Makes each batch when it is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._fetch = make_fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetch(next(self._indices))


class WorkerIterator(LoaderIterator):
    """Keeps a few tasks ahead of the loop at every worker, and yields their results in the order of the tasks.

    Tasks are numbered; task number k goes to the next worker in turn. `_owner` tells which worker has a
    task whose result has not come, `_arrived` holds results that came before their turn.
    """

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        # After the seed has been drawn: the pool's module imports NumPy.
        from ._pool import WorkerPool
        from ._worker import Job

        context = loader.multiprocessing_context or multiprocessing.get_context()
        job = Job(
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            self._base_seed,
            loader.num_workers,
            loader.worker_init_fn,
        )
        self._pool = WorkerPool(context, job)
        # Not __del__: this one also runs at the end of the interpreter while everything is still there.
        self._stop = weakref.finalize(self, self._pool.stop)
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order
        self._num_workers = loader.num_workers
        self._ahead = max(1, loader.prefetch_factor)
        self._epoch = 0
        self._begin()

    @property
    def alive(self) -> bool:
        """Whether the workers are still there."""
        return self._stop.alive

    def begin_again(self, loader: DataLoader) -> None:
        """A new pass with the same workers; what is left of the last one is dropped."""
        self._restart(loader)
        self._indices = iter(loader._index_sampler)
        self._epoch += 1
        for w in range(self._num_workers):
            self._pool.send(w, (self._epoch,))
        self._begin()

    def _begin(self) -> None:
        self._sent = 0
        self._turn = 0
        self._owner: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._active = list(range(self._num_workers))
        self._next_worker = 0
        for _ in range(self._ahead * self._num_workers):
            self._give_task()

    def _give_task(self) -> None:
        try:
            index = next(self._indices)
        except StopIteration:
            return
        worker = self._choose_worker()
        if worker is None:
            return
        self._pool.send(worker, (self._epoch, self._sent, index))
        self._owner[self._sent] = worker
        self._sent += 1

    def _choose_worker(self) -> int | None:
        if not self._active:
            return None
        if not self._in_order:  # the one with the least to do
            load = list(self._owner.values())
            return min(self._active, key=load.count)
        while self._next_worker not in self._active:
            self._next_worker = (self._next_worker + 1) % self._num_workers
        worker = self._next_worker
        self._next_worker = (worker + 1) % self._num_workers
        return worker

    def _next_data(self) -> Any:
        while True:
            task = self._task_to_yield() if self.alive else None
            if task is None:
                if not self._persistent:
                    self._stop()
                raise StopIteration
            if task in self._arrived:
                data = self._arrived.pop(task)
                self._give_task()
                if isinstance(data, WorkerFailure):
                    data.reraise()
                return data
            self._receive(task)

    def _task_to_yield(self) -> int | None:
        """The task whose result is due; None at the end."""
        if not self._in_order:
            return next(iter(self._arrived), next(iter(self._owner), None))
        while self._turn < self._sent:
            if self._turn in self._arrived or self._turn in self._owner:
                return self._turn
            self._turn += 1  # yielded, or lost with a stream that ended
        return None

    def _receive(self, task: int) -> None:
        from ._pool import WorkerDied
        from ._worker import END

        workers = {self._owner[task]} if self._in_order else set(self._owner.values())
        try:
            messages = self._pool.receive(workers, self._timeout)
        except WorkerDied:
            self._pool.stop(patience=0)
            self._stop()
            raise
        for worker, (epoch, number, kind, value) in messages:
            if epoch != self._epoch:
                continue
            if kind == END:
                self._end_of_stream(worker)
            else:
                del self._owner[number]
                self._arrived[number] = value

    def _end_of_stream(self, worker: int) -> None:
        """An iterable dataset has nothing more in this worker; its open tasks are void."""
        self._active.remove(worker)
        self._owner = {task: w for task, w in self._owner.items() if w != worker}
        if not self._persistent:
            self._pool.end(worker)
        self._give_task()
