"""NAdam: Dozat, Incorporating Nesterov momentum into Adam (ICLR 2016 workshop)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, tensor, zeros_like

from ._checks import check_betas, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, held, new_step, number, scalar_dtype
from .optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(PerTensorOptimizer):
    """Adam that looks ahead along its momentum, whose decay rate grows towards the first beta.

    Args:
        params: parameters, or groups of them.
        lr: learning rate.
        betas: decay rates of the averages of the gradient and of its square.
        eps: added to the root.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        momentum_decay: how fast the decay rate of the momentum grows; the paper's 0.004.
        decoupled_weight_decay: shrinks the parameters themselves, as AdamW does.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _scalar_state = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["mu_product"] = tensor(1.0, dtype=scalar_dtype())
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps, weight_decay = number(group["lr"]), group["eps"], group["weight_decay"]
        (beta1, beta2), momentum_decay = group["betas"], group["momentum_decay"]

        for p, grad, s in self._with_grad(group):
            m, v = s["exp_avg"], s["exp_avg_sq"]
            t = advance(s)
            if weight_decay != 0:
                if group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            # The momentum's rate at this step and at the next, and the product of the rates so far.
            mu = beta1 * (1.0 - 0.5 * 0.96 ** (t * momentum_decay))
            mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
            s["mu_product"] *= mu
            mu_product = s["mu_product"].item()

            m.lerp_(grad, 1 - beta1)
            v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            root = v.div(1 - beta2**t).sqrt()
            denom = root.add(eps) if group["differentiable"] else root.add_(eps)
            p.addcdiv_(grad, denom, value=-lr * (1.0 - mu) / (1.0 - mu_product))
            p.addcdiv_(held(m, group), denom, value=-lr * mu_next / (1.0 - mu_product * mu_next))
