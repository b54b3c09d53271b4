"""The share of each process in distributed training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

from flambeau import Generator, randperm

from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """Every `num_replicas`-th index of a dataset, starting at `rank`; every process gets as many.

    Args:
        dataset: has a length.
        num_replicas: number of processes; asked of the process group unless given.
        rank: number of this one; likewise.
        shuffle: a random order, the same in all processes and another in each epoch (see `set_epoch`).
        seed: of the order.
        drop_last: leaves out what doesn't divide evenly; else some indices come twice.

    Raises:
        RuntimeError: the process group has to be asked, and flambeau-distributed is not installed.
        ValueError: `rank` is not in [0, num_replicas).
    """

    def __init__(
        self,
        dataset: Dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _process_group().get_world_size()
        if rank is None:
            rank = _process_group().get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)  # type: ignore[arg-type]
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[T_co]:
        size = len(self.dataset)  # type: ignore[arg-type]
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(size, generator=generator).tolist()
        else:
            order = list(range(size))
        if order and len(order) < self.total_size:  # start over from the front, as often as it takes
            order *= math.ceil(self.total_size / len(order))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the number that makes the next order differ from the one before."""
        self.epoch = epoch


def _process_group():
    try:
        from flambeau import distributed
    except ImportError:
        raise RuntimeError("Requires distributed package to be available: install flambeau-distributed") from None
    return distributed
