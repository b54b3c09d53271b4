"""RMSprop: Hinton, Neural networks for machine learning, lecture 6e (2012); centered: Graves, Generating sequences
with recurrent neural networks (2013), equations 38 to 41."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, zeros_like

from ._checks import check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, held, new_step, number
from .optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(PerTensorOptimizer):
    """Steps by the gradient over the root of its decaying mean square.

    Args:
        params: parameters, or groups of them.
        lr: learning rate.
        alpha: decay rate of the averages.
        eps: added to the root.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        momentum: share of the previous step that is repeated.
        centered: divides by the standard deviation, the mean being subtracted from the mean square.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = dict(
            lr=lr,
            momentum=momentum,
            alpha=alpha,
            eps=eps,
            centered=centered,
            weight_decay=weight_decay,
            capturable=capturable,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["square_avg"] = zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, alpha, eps = number(group["lr"]), group["alpha"], group["eps"]
        weight_decay, momentum, centered = group["weight_decay"], group["momentum"], group["centered"]

        for p, grad, s in self._with_grad(group):
            s["step"] += 1
            v = s["square_avg"]
            if weight_decay != 0:
                grad = grad.add(p, alpha=weight_decay)
            v.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if centered:
                g = s["grad_avg"]
                g.lerp_(grad, 1 - alpha)
                g = held(g, group)
                rms = v.addcmul(g, g, value=-1).sqrt_()
            else:
                rms = v.sqrt()
            # The root is kept by autograd for its own derivative.
            rms = rms.add(eps) if group["differentiable"] else rms.add_(eps)
            if momentum > 0:
                step = s["momentum_buffer"]
                step.mul_(momentum).addcdiv_(grad, rms)
                p.add_(step, alpha=-lr)
            else:
                p.addcdiv_(grad, rms, value=-lr)
