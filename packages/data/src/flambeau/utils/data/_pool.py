"""The worker processes of one loader, seen from the parent.

Each worker has two pipes to itself, one for tasks and one for results. Nothing is shared between workers, so one
that is killed can neither hold a lock that others need nor garble their results, and its end shows at once: the pipe
closes, and the process's sentinel becomes ready.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection, wait
from typing import Any

from ._worker import Job, decode, encode, worker_main

# Seconds that workers get to finish the batch at hand when the loader is done; what still runs is then ended.
PATIENCE = 5.0


class WorkerDied(RuntimeError):
    """A worker process is gone that was not told to end."""


class WorkerPool:
    """Starts the processes of a loader, talks to them, and ends them."""

    def __init__(self, context: Any, job: Job) -> None:
        self._owner = os.getpid()
        self._processes: list[Any] = []
        self._tasks: list[Connection] = []
        self._results: list[Connection] = []
        self._told_to_end: set[int] = set()
        self._stopped = False
        forks = context.get_start_method() == "fork"
        try:
            for i in range(job.num_workers):
                task_reader, task_writer = context.Pipe(duplex=False)
                result_reader, result_writer = context.Pipe(duplex=False)
                self._tasks.append(task_writer)
                self._results.append(result_reader)
                inherited = [*self._tasks, *self._results] if forks else []
                process = context.Process(
                    target=worker_main, args=(job, i, task_reader, result_writer, inherited), daemon=True
                )
                try:
                    process.start()
                    self._processes.append(process)
                finally:
                    task_reader.close()
                    result_writer.close()
        except BaseException:
            self.stop()
            raise

    def send(self, worker: int, message: Any) -> None:
        """Gives a worker something to do; one that has died is left for `receive` to find."""
        with contextlib.suppress(OSError):
            self._tasks[worker].send_bytes(encode(message))

    def receive(self, workers: Iterable[int], timeout: float) -> list[tuple[int, tuple]]:
        """The next message of each of `workers` that has one, as (worker, message); waits for the first.

        Raises:
            WorkerDied: a worker that was not told to end has ended.
            RuntimeError: `timeout` seconds (0: any number) passed.
        """
        awaited = {self._results[w]: w for w in workers}
        sentinels = {p.sentinel: w for w, p in enumerate(self._processes) if w not in self._told_to_end}
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait([*awaited, *sentinels], left)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            # What a worker sent before it died is good.
            messages = []
            for connection in ready:
                if connection in awaited:
                    try:
                        messages.append((awaited[connection], decode(connection.recv_bytes())))
                    except (EOFError, OSError):
                        self._report_death([awaited[connection]])
            if messages:
                return messages
            self._report_death([sentinels[s] for s in ready if s in sentinels])

    def _report_death(self, workers: list[int]) -> None:
        dead = []
        for w in workers:
            self._processes[w].join(1.0)  # the pipe may close a moment before the process is gone
            dead.append(self._processes[w])
        pids = ", ".join(str(p.pid) for p in dead)
        cause = None
        for p in dead:
            if p.exitcode is not None and p.exitcode < 0:
                cause = RuntimeError(
                    f"DataLoader worker (pid {p.pid}) is killed by signal: {_signal_name(-p.exitcode)}. "
                )
            elif p.exitcode is not None:
                cause = RuntimeError(
                    f"DataLoader worker (pid {p.pid}) exited unexpectedly with exit code {p.exitcode}. "
                )
        raise WorkerDied(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause

    def end(self, worker: int) -> None:
        """Tells one worker that there is no more for it to do."""
        if worker not in self._told_to_end:
            self._told_to_end.add(worker)
            self.send(worker, None)

    def stop(self, patience: float = PATIENCE) -> None:
        """Ends all workers and closes all pipes; a second call does nothing.

        Workers get `patience` seconds to finish the batch at hand.

        In a process that was forked off the one that made the pool, only the pipes are closed.
        """
        if self._stopped:
            return
        self._stopped = True
        mine = os.getpid() == self._owner
        if mine:
            for i in range(len(self._processes)):
                self.end(i)
        for connection in (*self._tasks, *self._results):
            connection.close()
        if not mine:
            return
        deadline = time.monotonic() + patience
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()


def _signal_name(number: int) -> str:
    try:
        return signal.strsignal(number) or str(number)
    except ValueError:
        return str(number)
