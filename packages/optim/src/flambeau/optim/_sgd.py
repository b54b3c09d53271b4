"""Stochastic gradient descent, with momentum as in Sutskever et al., On the importance of initialization and momentum
in deep learning (ICML 2013), in the form where the learning rate multiplies the velocity."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ._checks import check_flavours, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, number
from .optimizer import ParamsT

__all__ = ["SGD"]


class SGD(PerTensorOptimizer):
    """``p -= lr * v`` with ``v = momentum * v + (1 - dampening) * grad``, the first velocity being the gradient itself.

    Args:
        params: parameters, or groups of them.
        lr: learning rate; a tensor may require grad in a differentiable step.
        momentum: share of the velocity that stays.
        dampening: share of the gradient that does not enter the velocity.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        nesterov: looks ahead along the velocity; needs momentum and no dampening.
        maximize: climbs instead.
        foreach, fused: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    _scalar_state = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = dict(
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            foreach=foreach,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, defaults)
        check_flavours(fused, foreach, differentiable)

    def _with_grad(self, group: dict[str, Any]) -> list[tuple[Tensor, Tensor, dict[str, Any]]]:
        # The rule is linear, so complex parameters need no real views, and a sparse gradient can be added as it is.
        sign = -1 if group["maximize"] else 1
        # Without momentum nothing is remembered, and no entry of `state` may appear.
        state = self.state if group["momentum"] != 0 else None
        return [
            (p, p.grad if sign == 1 else -p.grad, state[p] if state is not None else {})
            for p in group["params"]
            if p.grad is not None
        ]

    def _update(self, group: dict[str, Any]) -> None:
        lr, weight_decay = group["lr"], group["weight_decay"]
        momentum, dampening, nesterov = group["momentum"], group["dampening"], group["nesterov"]
        lr_wants_grad = isinstance(lr, Tensor) and lr.requires_grad
        decay_wants_grad = isinstance(weight_decay, Tensor) and weight_decay.requires_grad
        decays = weight_decay != 0

        for p, grad, s in self._with_grad(group):
            if decay_wants_grad:
                grad = grad.addcmul(p.clone(), weight_decay)
            elif decays:
                grad = grad.add(p, alpha=number(weight_decay))
            if momentum != 0:
                v = s.get("momentum_buffer")
                if v is None:
                    v = s["momentum_buffer"] = grad.detach().clone()
                else:
                    v.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(v, alpha=momentum) if nesterov else v
            if lr_wants_grad:
                p.addcmul_(grad, lr, value=-1)
            else:
                p.add_(grad, alpha=-number(lr))
