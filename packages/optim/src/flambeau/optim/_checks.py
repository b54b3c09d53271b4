"""Checks of the options that many optimizers share, with PyTorch's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor


def check_lr(lr: float | Tensor) -> None:
    """A learning rate is at least 0, as a number or a tensor of one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(**options: Any) -> None:
    """Each option, given by its name, is at least 0."""
    for name, value in options.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Sequence[float | Tensor]) -> None:
    """Both decay rates lie in [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_flavours(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """At most one of the implementations that PyTorch knows is asked for."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
