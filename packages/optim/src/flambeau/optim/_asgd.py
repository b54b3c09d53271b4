"""Averaged SGD: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (SIAM J. Control and
Optimization 30, 1992), with the schedule of Bottou's SVM-SGD."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, tensor, zeros_like

from ._checks import check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, held, new_step, number, scalar_dtype
from .optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(PerTensorOptimizer):
    """Gradient descent with a rate that falls, and beside it the average of the parameters, in ``state[p]["ax"]``.

    Args:
        params: parameters, or groups of them.
        lr: learning rate at the start.
        lambd: shrinks the parameters by ``lambd`` times the rate, and sets how fast that falls.
        alpha: the rate of step t is ``lr / (1 + lambd * lr * t) ** alpha``.
        t0: step after which averaging begins.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _scalar_state = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = dict(
            lr=lr,
            lambd=lambd,
            alpha=alpha,
            t0=t0,
            weight_decay=weight_decay,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["eta"] = tensor(number(group["lr"]), dtype=scalar_dtype())
        state["mu"] = tensor(1.0, dtype=scalar_dtype())
        state["ax"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, lambd, alpha, t0 = number(group["lr"]), group["lambd"], group["alpha"], group["t0"]
        weight_decay = group["weight_decay"]

        for p, grad, s in self._with_grad(group):
            ax, eta, mu = s["ax"], s["eta"].item(), s["mu"].item()
            t = advance(s)
            if weight_decay != 0:
                grad = grad.add(p, alpha=weight_decay)
            p.mul_(1 - lambd * eta)
            p.add_(grad, alpha=-eta)
            if mu != 1:
                ax.add_(p.sub(ax).mul_(mu))
            else:
                ax.copy_(held(p, group))
            s["eta"].fill_(lr / (1 + lambd * lr * t) ** alpha)
            s["mu"].fill_(1 / max(1, t - t0))
