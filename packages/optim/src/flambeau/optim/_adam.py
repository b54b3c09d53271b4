"""Adam: Kingma and Ba, Adam: a method for stochastic optimization (ICLR 2015); amsgrad: Reddi, Kale and Kumar,
On the convergence of Adam and beyond (ICLR 2018); AdamW: Loshchilov and Hutter, Decoupled weight decay
regularization (ICLR 2019)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, maximum, zeros_like

from ._checks import check_betas, check_flavours, check_lr, check_not_negative
from ._per_tensor import PerTensorOptimizer, advance, new_step, number
from .optimizer import ParamsT

__all__ = ["Adam", "AdamW"]


class Adam(PerTensorOptimizer):
    """Steps by the mean of the gradient over the root of its mean square, both decaying averages.

    Args:
        params: parameters, or groups of them.
        lr: learning rate; a tensor may require grad in a differentiable step.
        betas: decay rates of the two averages; either both numbers or both tensors.
        eps: added to the root.
        weight_decay: adds ``weight_decay * p`` to the gradient.
        amsgrad: divides by the largest mean square so far.
        maximize: climbs instead.
        decoupled_weight_decay: shrinks the parameters themselves, as AdamW does.
        foreach, fused, capturable: accepted, and of no effect on the result.
        differentiable: records the step for autograd.

    Raises:
        ValueError: an option is out of its range.
    """

    _younger_options = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _sparse_advice = ", please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if foreach and not capturable and isinstance(lr, Tensor):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )
        super().__init__(params, defaults)
        check_flavours(fused, foreach, differentiable)

    def _name(self) -> str:
        return "Adam"

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        if group["differentiable"]:
            self._update_recording(group)
            return
        lr, eps, weight_decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = map(number, group["betas"])
        decoupled, amsgrad = group["decoupled_weight_decay"], group["amsgrad"]

        for p, grad, s in self._with_grad(group):
            m, v = s["exp_avg"], s["exp_avg_sq"]
            t = advance(s)
            if weight_decay != 0:
                if decoupled:  # the decay never enters the averages
                    p.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            m.lerp_(grad, 1 - beta1)
            v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            # Both averages start at zero, so early on they are too small by 1 - beta**t.
            step_size = lr / (1 - beta1**t)
            if amsgrad:
                v = maximum(s["max_exp_avg_sq"], v, out=s["max_exp_avg_sq"])
            denom = v.sqrt().div_((1 - beta2**t) ** 0.5).add_(eps)
            p.addcdiv_(m, denom, value=-step_size)

    def _update_recording(self, group: dict[str, Any]) -> None:
        """The same rule where lr and betas may require grad, and nothing that autograd keeps changes."""
        lr, eps, weight_decay = group["lr"], group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]

        for p, grad, s in self._with_grad(group):
            m, v = s["exp_avg"], s["exp_avg_sq"]
            t = advance(s)
            if weight_decay != 0:
                if group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            m.lerp_(grad, 1 - beta1)
            v.mul_(beta2).add_(grad * grad * (1 - beta2))
            if group["amsgrad"]:
                largest = s["max_exp_avg_sq"]
                v = largest.copy_(maximum(largest.clone(), v))
            denom = v.sqrt() / (1 - beta2**t) ** 0.5 + eps
            p.sub_(lr / (1 - beta1**t) * (m.clone() / denom))


class AdamW(Adam):
    """Adam with decoupled weight decay: ``p`` shrinks by ``lr * weight_decay`` and the averages see the bare gradient.

    Arguments are Adam's; `weight_decay` is 0.01 unless given.
    """

    _younger_options = {**Adam._younger_options, "decoupled_weight_decay": True}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
