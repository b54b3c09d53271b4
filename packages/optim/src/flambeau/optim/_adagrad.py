"""Adagrad: Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization
(JMLR 12, 2011)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, full_like

from ._checks import check_flavours, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, new_step, number
from .optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(PerTensorOptimizer):
    """Steps by the gradient over the root of the sum of all its squares so far.

    The state exists from the start.

    Args:
        params: parameters, or groups of them.
        lr: learning rate.
        lr_decay: divides the rate of step t by ``1 + (t - 1) * lr_decay``.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        initial_accumulator_value: what the sum begins with.
        eps: added to the root.
        maximize: climbs instead.
        foreach, fused: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = dict(
            lr=lr,
            lr_decay=lr_decay,
            eps=eps,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, defaults)
        check_flavours(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, self.state[p], group)

    def share_memory(self) -> None:
        """Moves the sums into memory that other processes can share."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        first = group["initial_accumulator_value"]
        state["step"] = new_step()
        state["sum"] = full_like(p.detach(), complex(first, first) if p.is_complex() else first)

    def _update(self, group: dict[str, Any]) -> None:
        lr, lr_decay = number(group["lr"]), group["lr_decay"]
        eps, weight_decay = group["eps"], group["weight_decay"]

        for p, grad, s in self._with_grad(group):
            t = advance(s)
            if weight_decay != 0:
                grad = grad.add(p, alpha=weight_decay)
            s["sum"].addcmul_(grad, grad, value=1)
            root = s["sum"].sqrt()
            denom = root + eps if group["differentiable"] else root.add_(eps)
            p.addcdiv_(grad, denom, value=-(lr / (1 + (t - 1) * lr_decay)))
