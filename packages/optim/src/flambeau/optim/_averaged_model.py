"""A module that holds the average of another one's parameters."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import chain
from typing import Any

from flambeau import Tensor, int64, tensor
from flambeau.autograd import no_grad
from flambeau.nn import Module

from .swa_utils import get_swa_avg_fn


class AveragedModel(Module):
    """A copy of `model`, in ``module``, whose parameters are averages of those that `update_parameters` has seen.

    Args:
        model: is copied.
        device: where the copy lives.
        avg_fn: from an average, a value and the number of values so far to the new average; the mean of all
            values unless given.
        multi_avg_fn: the same for lists of tensors at once, in place.
        use_buffers: averages buffers too; otherwise they are those of the last model seen.

    Raises:
        AssertionError: both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[list, list, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged copy makes of the arguments."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of `model` into the averages; the first ones become the averages."""
        averages = [x.detach() for x in self._averaged(self.module)]
        values = [x.detach().to(a.device) for a, x in zip(averages, self._averaged(model), strict=True)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(averages, values, self.n_averaged)
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, value in zip(averages, values, strict=True):
                average.copy_(average_of(average, value, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for mine, its in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(its.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Any:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
