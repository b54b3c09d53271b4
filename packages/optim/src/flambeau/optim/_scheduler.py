"""The base of the learning rate schedules."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor

from .optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler."
)


class LRScheduler:
    """Sets the learning rate of each group of an optimizer, step by step.

    A subclass gives ``get_lr()``, the rates at step `last_epoch` derived from the rates in force, so that schedules
    can be chained and changes by hand last; and, where there is one, ``_get_closed_form_lr()``, the same from the
    initial rates alone.

    Args:
        optimizer: whose rates are set; the first use records them in each group as ``initial_lr``.
        last_epoch: the step after which a training is resumed, or -1 to start afresh.

    Raises:
        TypeError: `optimizer` is none.
        KeyError: resuming, and a group has no ``initial_lr``.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer "
                    f"with last_epoch={last_epoch}"
                )
        self.base_lrs: list[float | Tensor] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        # From now on the optimizer notes that it has stepped.
        optimizer.__dict__.setdefault("_opt_called", False)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # -- what users call -------------------------------------------------------------------------------

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next step, or (deprecated) to step `epoch`."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def get_last_lr(self) -> list[float | Tensor]:
        """The rates that the last step set, one a group."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The rates of step `last_epoch`; meant for `step` alone."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    # -- what subclasses use ---------------------------------------------------------------------------

    def _lrs(self) -> list[float | Tensor]:
        """The rates in force."""
        return values_of(self.optimizer, "lr")

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
            self._set_lrs(rates)

    def _set_lrs(self, rates: list[float | Tensor]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            set_value(group, "lr", rate)
        self._last_lr = self._lrs()

    @contextmanager
    def _within_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _check_order(self) -> None:
        # A schedule that runs ahead of its optimizer skips the first rate unnoticed.
        if not getattr(self.optimizer.step, "hooked", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order, "
                "or the first value of the schedule is skipped.",
                UserWarning,
                stacklevel=3,
            )


def copied(value: Any) -> Any:
    """A value that later in-place changes of a tensor don't reach."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """The option `key` of every group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: float | Tensor) -> None:
    """Sets an option; one that is a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def one_per_group(optimizer: Optimizer, name: str, value: Any) -> list[Any]:
    """`value` as a list with an element for each group: itself, if it is a list of that length.

    Raises:
        ValueError: a list of another length.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups ({groups}), got {len(value)}")
    return [copied(v) for v in value]
