"""L-BFGS: Nocedal and Wright, Numerical optimization (2nd edition, 2006), algorithms 7.4 and 7.5, in the form of Mark
Schmidt's minFunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor, cat, view_as_real
from flambeau.autograd import enable_grad, no_grad

from ._checks import check_lr
from ._per_tensor import number
from ._strong_wolfe import strong_wolfe
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of the gradient; takes all parameters as one vector.

    Args:
        params: parameters; one group only.
        lr: width of a step, or of the first try of a line search.
        max_iter: iterations a step.
        max_eval: evaluations of the closure a step; ``max_iter * 5 // 4`` unless given.
        tolerance_grad: ends a step where no element of the gradient is larger.
        tolerance_change: ends a step where neither parameters nor loss change by more.
        history_size: number of changes that are kept.
        line_search_fn: None or ``strong_wolfe``.

    Raises:
        ValueError: more than one group, or a negative `lr`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = dict(
            lr=lr,
            max_iter=max_iter,
            max_eval=max_eval,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=history_size,
            line_search_fn=line_search_fn,
        )
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss and its gradients.

        Returns the loss at the start.
        """
        with no_grad():
            return self._step(closure)

    def _step(self, closure: Callable[[], Any]) -> Any:
        (group,) = self.param_groups
        lr = group["lr"]
        if isinstance(lr, Tensor):  # kept in the state as the last width, which a schedule must not change
            lr = lr.clone()
        max_iter, tolerance_change = group["max_iter"], group["tolerance_change"]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        def evaluate() -> tuple[Any, Tensor]:
            with enable_grad():
                loss = closure()
            return loss, self._flat_grad()

        def is_done(grad: Tensor) -> bool:
            return bool(grad.abs().max() <= group["tolerance_grad"])

        # PyTorch keeps the state of all in that of the first parameter.
        s = self.state[group["params"][0]]
        s.setdefault("func_evals", 0)
        s.setdefault("n_iter", 0)

        first_loss, grad = evaluate()
        loss, evaluations = float(first_loss), 1
        s["func_evals"] += 1
        if is_done(grad):
            return first_loss

        d, t = s.get("d"), s.get("t")
        ys, ss, ro = s.get("old_dirs"), s.get("old_stps"), s.get("ro")  # changes of gradient and position, 1 / y.s
        h, last_grad, last_loss = s.get("H_diag"), s.get("prev_flat_grad"), s.get("prev_loss")

        n = 0
        while n < max_iter:
            n += 1
            s["n_iter"] += 1
            if s["n_iter"] == 1:
                d, ys, ss, ro, h = grad.neg(), [], [], [], 1
            else:
                h = _remember(ys, ss, ro, h, grad.sub(last_grad), d.mul(t), group["history_size"])
                d = _two_loops(ys, ss, ro, h, grad, s.setdefault("al", [None] * group["history_size"]))

            last_grad = grad.clone() if last_grad is None else last_grad.copy_(grad)
            last_loss = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if s["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break

            new_evaluations = 0
            if group["line_search_fn"] is not None:
                start = [p.clone() for p in group["params"]]

                def along(t, start=start, d=d):
                    self._move(t, d)
                    loss, grad = evaluate()
                    for p, x in zip(group["params"], start, strict=True):
                        p.copy_(x)
                    return float(loss), grad

                tries = min(25, group["max_eval"] - evaluations)
                point, new_evaluations = strong_wolfe(along, d, t, loss, grad, slope, max_steps=tries)
                t, loss, grad = point.t, point.loss, point.grad
                self._move(t, d)
                done = is_done(grad)
            else:
                self._move(t, d)
                done = False
                if n != max_iter:  # else nobody would use the result
                    new_loss, grad = evaluate()
                    loss, new_evaluations = float(new_loss), 1
                    done = is_done(grad)
            evaluations += new_evaluations
            s["func_evals"] += new_evaluations

            if n == max_iter or evaluations >= group["max_eval"] or done:
                break
            if d.mul(t).abs().max() <= tolerance_change or abs(loss - last_loss) < tolerance_change:
                break

        s.update(d=d, t=t, old_dirs=ys, old_stps=ss, ro=ro, H_diag=h, prev_flat_grad=last_grad, prev_loss=last_loss)
        return first_loss

    def _flat_grad(self) -> Tensor:
        """All gradients as one vector; complex ones as their parts."""
        flat = []
        for p in self.param_groups[0]["params"]:
            g = p.grad
            if g is None:
                g = p.new_zeros(p.shape)
            elif g.is_sparse:
                g = g.to_dense()
            flat.append((view_as_real(g) if g.is_complex() else g).reshape(-1))
        return cat(flat, 0)

    def _move(self, t: Any, d: Tensor) -> None:
        """Adds ``t * d`` to the parameters."""
        t, begin = number(t), 0
        for p in self.param_groups[0]["params"]:
            if p.is_complex():
                p = view_as_real(p)
            end = begin + p.numel()
            p.add_(d[begin:end].view_as(p), alpha=t)
            begin = end


def _remember(ys: list, ss: list, ro: list, h: Any, y: Tensor, step: Tensor, size: int) -> Any:
    """Adds a change to the history if the curvature along it is positive; returns the scale of the first Hessian."""
    curvature = y.dot(step)
    if not curvature > 1e-10:
        return h
    if len(ys) == size:
        for history in (ys, ss, ro):
            history.pop(0)
    ys.append(y)
    ss.append(step)
    ro.append(1.0 / curvature)
    return curvature / y.dot(y)


def _two_loops(ys: list, ss: list, ro: list, h: Any, grad: Tensor, al: list) -> Tensor:
    """The negative gradient times the inverse Hessian that the history implies."""
    q = grad.neg()
    for i in reversed(range(len(ys))):
        al[i] = ss[i].dot(q) * ro[i]
        q.add_(ys[i], alpha=-number(al[i]))
    r = q.mul(h)
    for i in range(len(ys)):
        r.add_(ss[i], alpha=number(al[i] - ys[i].dot(r) * ro[i]))
    return r
