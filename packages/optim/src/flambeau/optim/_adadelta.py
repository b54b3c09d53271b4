"""Adadelta: Zeiler, ADADELTA: an adaptive learning rate method (2012)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, zeros_like

from ._checks import check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, held, new_step, number
from .optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(PerTensorOptimizer):
    """Scales the gradient by the root mean square of the steps over that of the gradients.

    Args:
        params: parameters, or groups of them.
        lr: factor of the step; the paper's is 1.
        rho: decay rate of both mean squares.
        eps: added to both.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        defaults = dict(
            lr=lr,
            rho=rho,
            eps=eps,
            weight_decay=weight_decay,
            maximize=maximize,
            capturable=capturable,
            foreach=foreach,
            differentiable=differentiable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["square_avg"] = zeros_like(p)
        state["acc_delta"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, rho, eps = number(group["lr"]), group["rho"], group["eps"]
        weight_decay = group["weight_decay"]

        for p, grad, s in self._with_grad(group):
            s["step"] += 1
            if weight_decay != 0:
                grad = grad.add(p, alpha=weight_decay)
            s["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
            rms_grad = s["square_avg"].add(eps).sqrt_()
            rms_delta = s["acc_delta"].add(eps).sqrt_()
            delta = held(rms_delta, group).div_(rms_grad).mul_(grad)
            s["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
            p.add_(delta, alpha=-lr)
