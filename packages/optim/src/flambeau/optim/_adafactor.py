"""Adafactor: Shazeer and Stern, Adafactor: adaptive learning rates with sublinear memory cost (ICML 2018)."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, finfo, zeros_like

from ._checks import check_lr
from ._per_tensor import PerTensorOptimizer, advance, new_step, number
from .optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(PerTensorOptimizer):
    """Scales by second moments of which only row and column means are kept, relative to the parameter's own size.

    Args:
        params: parameters, or groups of them; real.
        lr: greatest relative step; falls with the root of the step number.
        beta2_decay: the decay rate of the moments at step t is ``1 - t ** beta2_decay``.
        eps: floor of the root of the moments (the dtype's precision if None), and of the parameter's size.
        d: greatest root mean square of an update, before the rate.
        weight_decay: shrinks the parameters by ``lr * weight_decay``.
        foreach: accepted, and of no effect on the result.
        maximize: climbs instead.

    State: ``row_var`` (..., n, 1) and ``col_var`` (..., 1, m) of a parameter (..., n, m); ``variance`` of a vector.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: in a step, a complex parameter.
    """

    _younger_options = {"foreach": None}
    _takes_complex = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            check_lr(lr)
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = dict(
            lr=lr,
            beta2_decay=beta2_decay,
            eps=eps,
            d=d,
            weight_decay=weight_decay,
            foreach=foreach,
            maximize=maximize,
        )
        super().__init__(params, defaults)

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        if p.dim() > 1:
            state["row_var"] = p.new_zeros((*p.shape[:-1], 1))
            state["col_var"] = p.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
        else:
            state["variance"] = zeros_like(p)

    def _update(self, group: dict[str, Any]) -> None:
        lr, (eps1, eps2), d = number(group["lr"]), group["eps"], group["d"]
        weight_decay = group["weight_decay"]

        for p, grad, s in self._with_grad(group):
            e = eps1 if eps1 is not None else finfo(p.dtype).eps
            t = advance(s)
            one_minus_beta2 = t ** group["beta2_decay"]
            rho = min(lr, 1 / t**0.5)
            alpha = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * rho
            if weight_decay != 0:
                p.mul_(1 - lr * weight_decay)
            if grad.dim() > 1:
                row, col = s["row_var"], s["col_var"]
                # Norms give the means of the squares without a tensor of squares.
                row.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.shape[-1]), one_minus_beta2)
                col.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.shape[-2]), one_minus_beta2)
                v = (row @ col).div_(row.mean(dim=-2, keepdim=True).clamp_(min=e))
            else:
                s["variance"].lerp_(grad.square(), one_minus_beta2)
                v = s["variance"].clone()
            update = v.clamp_(min=e * e).rsqrt_().mul_(grad)
            rms = update.norm(2).item() / update.numel() ** 0.5
            p.add_(update, alpha=-alpha / max(1.0, rms / d))
