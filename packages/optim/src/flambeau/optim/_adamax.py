"""Adamax: Kingma and Ba, Adam: a method for stochastic optimization (ICLR 2015), section 7."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, maximum, zeros_like

from ._checks import check_betas, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, held, new_step, number
from .optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(PerTensorOptimizer):
    """Adam that divides by a decaying maximum of the gradient's magnitude instead of a root mean square.

    Args:
        params: parameters, or groups of them.
        lr: learning rate.
        betas: decay rates of the average and of the maximum.
        eps: added to the magnitude.
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
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_inf"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps, weight_decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]

        for p, grad, s in self._with_grad(group):
            m, u = s["exp_avg"], s["exp_inf"]
            t = advance(s)
            if weight_decay != 0:
                grad = grad.add(p, alpha=weight_decay)
            m.lerp_(grad, 1 - beta1)
            if group["differentiable"]:
                u.copy_(maximum(u * beta2, grad.abs() + eps))
            else:
                maximum(u.mul_(beta2), grad.abs().add_(eps), out=u)
            p.addcdiv_(held(m, group), held(u, group), value=-(lr / (1 - beta1**t)))
