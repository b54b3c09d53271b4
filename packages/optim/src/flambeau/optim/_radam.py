"""RAdam: Liu et al., On the variance of the adaptive learning rate and beyond (ICLR 2020)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, zeros_like

from ._checks import check_betas, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, new_step, number
from .optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(PerTensorOptimizer):
    """Adam that adapts its rate only once the mean square of the gradient is known well enough.

    Args:
        params: parameters, or groups of them.
        lr: learning rate.
        betas: decay rates of the averages of the gradient and of its square.
        eps: added to the root.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        decoupled_weight_decay: shrinks the parameters themselves, as AdamW does.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        check_not_negative(weight_decay=weight_decay)
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, eps, weight_decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        rho_inf = 2 / (1 - beta2) - 1  # length of the average that beta2 makes, at its longest

        for p, grad, s in self._with_grad(group):
            m, v = s["exp_avg"], s["exp_avg_sq"]
            t = advance(s)
            if weight_decay != 0:
                if group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            m.lerp_(grad, 1 - beta1)
            v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            m_hat = m / (1 - beta1**t)
            bias2 = 1 - beta2**t
            rho = rho_inf - 2 * t * beta2**t / bias2
            if rho > 5:  # the variance of the adaptive rate is finite, and r corrects for it
                r = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
                root = v.sqrt()
                denom = root.add(eps) if group["differentiable"] else root.add_(eps)
                p.add_(m_hat * lr * (bias2**0.5 / denom) * r, alpha=-1.0)
            else:
                p.add_(m_hat * lr, alpha=-1.0)
