"""What a worker process does: it takes tasks from one pipe and puts batches into another.

Messages to a worker: ``(epoch, task, index)``, a fetch; ``(epoch,)``, a new pass over the data; ``None``, the end.
Messages from it: ``(epoch, task, kind, value)`` with one of the kinds below.
"""

from __future__ import annotations

import pickle
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

# Imported here although only seeded: a worker that is forked shares the parent's, and import takes long.
import numpy as np
from flambeau import manual_seed, set_num_threads

from . import _worker_info
from ._failure import WorkerFailure
from ._fetch import make_fetcher
from .dataset import IterableDataset

BATCH, FAILURE, END = range(3)

# Seconds between looks whether the parent is alive, should its pipe not have told.
PARENT_CHECK = 5.0


@dataclass
class Job:
    """What all workers of a loader have in common."""

    dataset: Any
    batched: bool
    collate_fn: Callable
    drop_last: bool
    base_seed: int
    num_workers: int
    init_fn: Callable[[int], Any] | None


def encode(message: Any) -> bytes:
    """A message as the bytes that cross the pipe."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


decode = pickle.loads


def worker_main(job: Job, worker_id: int, tasks: Connection, results: Connection, inherited: list[Connection]) -> None:
    """Runs until told to end, or until the parent is gone.

    `inherited` are the parent's own ends of pipes that a fork has copied: while they are open here, nobody can see
    that the parent has closed them.
    """
    for connection in inherited:
        connection.close()
    try:
        _Worker(job, worker_id, tasks, results).run()
    except KeyboardInterrupt:
        pass  # the parent gets it too, and it is the one to tell


class _Worker:
    def __init__(self, job: Job, worker_id: int, tasks: Connection, results: Connection) -> None:
        self.job, self.tasks = job, tasks
        self.where = f"in DataLoader worker process {worker_id}"
        self.epoch = 0
        self.waiting: deque[tuple] = deque()
        self.fetch: Callable[[Any], Any] | None = None
        self.broken: WorkerFailure | None = None
        self.ended = False  # an iterable dataset is, until the next epoch
        self.outbox = _Outbox(results)

        set_num_threads(1)
        seed = job.base_seed + worker_id
        seed_everything(seed, job.base_seed, worker_id)
        _worker_info.current = _worker_info.WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
        try:
            if job.init_fn is not None:
                job.init_fn(worker_id)
            self.fetch = self._fetcher()
        except Exception:
            self.broken = WorkerFailure(self.where)

    def _fetcher(self) -> Callable[[Any], Any]:
        return make_fetcher(self.job.dataset, self.job.batched, self.job.collate_fn, self.job.drop_last)

    def run(self) -> None:
        while self._receive():
            if self.waiting:
                self._do(*self.waiting.popleft())

    def _receive(self) -> bool:
        """Reads the messages that have come, waiting for one if there is nothing to do. False: it is time to end."""
        try:
            while not self.waiting or self.tasks.poll():
                if not self.tasks.poll(PARENT_CHECK):
                    parent = parent_process()
                    if parent is not None and not parent.is_alive():
                        return False
                    continue
                message = decode(self.tasks.recv_bytes())
                if message is None:
                    return False
                if len(message) == 1:
                    self._begin(message[0])
                elif not self.ended:
                    self.waiting.append(message)
        except (EOFError, OSError):  # the parent is gone, or has closed its end
            return False
        return True

    def _begin(self, epoch: int) -> None:
        """Drops what is left of the pass before and starts another."""
        self.epoch = epoch
        self.waiting.clear()
        self.ended = False
        if self.broken is None:
            try:
                self.fetch = self._fetcher()
            except Exception:
                self.broken = WorkerFailure(self.where)

    def _do(self, epoch: int, task: int, index: Any) -> None:
        if self.broken is not None:
            kind, value = FAILURE, self.broken
        else:
            kind, value = self._result(index)
        if kind == END:
            self.ended = True
            self.waiting.clear()
        try:
            data = encode((epoch, task, kind, value))
        except Exception:  # a batch that can't be pickled
            data = encode((epoch, task, FAILURE, WorkerFailure(self.where)))
        self.outbox.put(data)

    def _result(self, index: Any) -> tuple[int, Any]:
        try:
            return BATCH, self.fetch(index)
        except StopIteration:
            if isinstance(self.job.dataset, IterableDataset):
                return END, None
            return FAILURE, WorkerFailure(self.where)
        except Exception:
            return FAILURE, WorkerFailure(self.where)


class _Outbox:
    """Sends from a thread of its own, so that the next batch is made while a finished one waits for the parent.

    How many can wait is bounded by the number of tasks that the parent has given out.
    """

    def __init__(self, results: Connection) -> None:
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._results = results
        # A daemon: a worker that ends doesn't wait for a parent that no longer reads.
        threading.Thread(target=self._send_all, daemon=True).start()

    def put(self, data: bytes) -> None:
        self._queue.put(data)

    def _send_all(self) -> None:
        while True:
            try:
                self._results.send_bytes(self._queue.get())
            except OSError:
                return


def seed_everything(seed: int, base_seed: int, worker_id: int) -> None:
    """Seeds the random numbers of this process: Python's, NumPy's and ours."""
    random.seed(seed)
    manual_seed(seed)
    # Of NumPy's legacy generator, neighbouring seeds must not be close: hash the words of worker and seed.
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
