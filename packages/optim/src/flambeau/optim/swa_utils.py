"""Averages of a model's parameters along a training.

Izmailov et al., Averaging weights leads to wider optima and better generalization (UAI 2018), and exponential moving
averages. `AveragedModel` is a module, so its first use imports flambeau-nn; nothing else here needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import cos, pi
from typing import TYPE_CHECKING, Any, Literal

from flambeau import Tensor
from flambeau.autograd import no_grad

from ._scheduler import LRScheduler, one_per_group
from .optimizer import Optimizer

if TYPE_CHECKING:
    from ._averaged_model import AveragedModel

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def __getattr__(name: str) -> Any:
    if name == "AveragedModel":
        from ._averaged_model import AveragedModel

        return AveragedModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _moves_in_place(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list, list, Any], None]:
    """A function that moves each average by ``1 - decay`` of its way to the current value, in place.

    Raises:
        ValueError: `decay` is not in [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def update(averages: list[Tensor], values: list[Tensor], count: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            if _moves_in_place(average):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Callable[[list, list, Any], None]:
    """A function that takes one more value into averages of `count` equal parts, in place."""

    @no_grad()
    def update(averages: list[Tensor], values: list[Tensor], count: Any) -> None:
        share = 1 / (int(count) + 1)
        for average, value in zip(averages, values, strict=True):
            if _moves_in_place(average):
                average.lerp_(value, share)
            else:
                average.copy_(average + (value - average) * share)

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function that returns ``decay * average + (1 - decay) * value``.

    Raises:
        ValueError: `decay` is not in [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def update(average: Tensor, value: Tensor, count: Any) -> Tensor:
        return decay * average + (1 - decay) * value

    return update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function that returns the average of `count` values and one more."""

    @no_grad()
    def update(average: Tensor, value: Tensor, count: Any) -> Tensor:
        return average + (value - average) / (count + 1)

    return update


@no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Measures anew the running statistics of all batch normalizations of `model`, in one pass over `loader`.

    Batches are tensors, or tuples or lists that begin with the model's input.
    """
    from flambeau import nn

    names = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
    kinds = tuple(getattr(nn, name) for name in names if hasattr(nn, name))
    norms = [m for m in model.modules() if isinstance(m, kinds)]
    if not norms:
        return
    momenta = [m.momentum for m in norms]
    for m in norms:
        m.reset_running_stats()
        m.momentum = None  # the plain average over all batches
    was_training = model.training
    model.train()
    try:
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    finally:
        for m, momentum in zip(norms, momenta, strict=True):
            m.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the rate in force to `swa_lr` in `anneal_epochs` steps, and stays there.

    Args:
        optimizer: whose rates are set.
        swa_lr: for all groups, or a list.
        anneal_epochs: number of steps.
        anneal_strategy: along half a cosine (``cos``), or ``linear``.
        last_epoch: step after which a training is resumed.

    Raises:
        ValueError: an unknown `anneal_strategy`, or `anneal_epochs` is no integer of at least 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, one_per_group(optimizer, "swa_lr", swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way is done after `step` steps."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - cos(pi * t)) / 2

    def get_lr(self) -> list:
        """The rates of this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal, lr = group["swa_lr"], group["lr"]
            # Another schedule may have set the rate meanwhile: start from the one that it now seems to come from.
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
