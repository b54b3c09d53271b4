"""Muon: Jordan et al., Muon: an optimizer for hidden layers in neural networks (2024), and Liu et al., Muon is scalable
for LLM training (2025)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, addmm, bfloat16, zeros_like

from ._checks import check_lr
from ._per_tensor import PerTensorOptimizer, number
from .optimizer import ParamsT

__all__ = ["Muon"]


class Muon(PerTensorOptimizer):
    """Momentum whose singular values are all moved near 1: for the matrices inside a network.

    Args:
        params: matrices, or groups of them.
        lr: learning rate.
        weight_decay: shrinks the parameters by ``lr * weight_decay``.
        momentum: decay rate of the average of the gradient.
        nesterov: looks ahead along the momentum.
        ns_coefficients: of the polynomial ``a x + b x**3 + c x**5`` that is applied to the singular values.
        eps: floor of the norm that the momentum is divided by first.
        ns_steps: how often the polynomial is applied.
        adjust_lr_fn: ``original`` (or None) multiplies the rate by ``max(1, n / m) ** 0.5`` for a matrix (n, m);
            ``match_rms_adamw`` by ``0.2 * max(n, m) ** 0.5``, so that rates for AdamW fit.

    Raises:
        ValueError: a parameter that is no matrix, or an option out of its range.
        RuntimeError: in a step, a complex parameter.
    """

    _younger_options: dict[str, Any] = {}
    _takes_complex = False

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor):
            check_lr(lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = dict(
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            nesterov=nesterov,
            ns_coefficients=ns_coefficients,
            eps=eps,
            ns_steps=ns_steps,
            adjust_lr_fn=adjust_lr_fn,
        )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}"
                    )

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["momentum_buffer"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, weight_decay, momentum = number(group["lr"]), group["weight_decay"], group["momentum"]

        for p, grad, s in self._with_grad(group):
            m = s["momentum_buffer"]
            m.lerp_(grad, 1 - momentum)
            update = grad.lerp(m, momentum) if group["nesterov"] else m
            update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            p.mul_(1 - lr * weight_decay)
            p.add_(update, alpha=-lr * _lr_ratio(group["adjust_lr_fn"], *p.shape))


def orthogonalized(g: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix (n, m) near the orthogonal factor of `g`, by Newton and Schulz's iteration, in bfloat16.

    Raises:
        ValueError: there are not three coefficients, or 100 steps or more.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError(f"Coefficients must be a tuple of exactly 3 values, got {len(coefficients)}")
    a, b, c = coefficients
    x = g.to(bfloat16)
    tall = g.shape[0] > g.shape[1]
    if tall:  # the smaller Gram matrix
        x = x.T
    # The norm bounds the largest singular value, and the iteration needs that to be at most about 1.
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        # a x + (b gram + c gram**2) x
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _lr_ratio(kind: str | None, n: int, m: int) -> float:
    return 0.2 * max(n, m) ** 0.5 if kind == "match_rms_adamw" else max(1, n / m) ** 0.5
