"""What a dataset can know about the worker process that it is in."""

from __future__ import annotations

from typing import Any


class WorkerInfo:
    """Read-only: `id` of this worker among `num_workers`, its `seed`, and its copy of the `dataset`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.__dict__.update(id=id, num_workers=num_workers, seed=seed, dataset=dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v}" for k, v in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """About the worker that this is called in; None in the main process."""
    return current
