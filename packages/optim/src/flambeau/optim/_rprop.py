"""Rprop: Riedmiller and Braun, A direct adaptive method for faster backpropagation learning (ICNN 1993), in the variant
of Igel and Huesken (2000) that forgets a gradient whose sign has changed."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, full_like, zeros_like

from ._checks import check_lr
from ._per_tensor import PerTensorOptimizer, held, new_step, number
from .optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(PerTensorOptimizer):
    """Steps by the sign of the gradient; the width grows while the sign stays and shrinks where it changes.

    Args:
        params: parameters, or groups of them.
        lr: width of the first step.
        etas: factors that a width shrinks and grows by.
        step_sizes: least and greatest width.
        maximize: climbs instead.
        foreach, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: not ``0 < etas[0] < 1 < etas[1]``, or a negative `lr`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = dict(
            lr=lr,
            etas=etas,
            step_sizes=step_sizes,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr = number(group["lr"])
        state["step"] = new_step()
        state["prev"] = zeros_like(p)
        state["step_size"] = full_like(p.detach(), complex(lr, lr) if p.is_complex() else lr)

    def _update(self, group: dict[str, Any]) -> None:
        (eta_minus, eta_plus), (least, greatest) = group["etas"], group["step_sizes"]

        for p, grad, s in self._with_grad(group):
            s["step"] += 1
            prev, width = s["prev"], s["step_size"]
            agreement = grad.detach().mul(prev)
            changed = agreement < 0
            factor = agreement.sign()
            factor.masked_fill_(factor == 0, 1.0).masked_fill_(agreement > 0, eta_plus).masked_fill_(changed, eta_minus)
            width.mul_(factor).clamp_(least, greatest)
            grad = grad.masked_fill(changed, 0.0)
            p.addcmul_(grad.sign(), held(width, group), value=-1)
            prev.copy_(grad)
