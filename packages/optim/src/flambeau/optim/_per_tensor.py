"""What optimizers share whose rule treats each parameter by itself: the loop, the step counter, complex numbers.

PyTorch has up to three implementations of a rule (`foreach`, `fused`, and one tensor at a time), equal in their results
up to rounding. Here there is one, so those options, and `capturable`, change nothing; they are kept for checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor, float32, float64, get_default_dtype, tensor, view_as_real
from flambeau.autograd import enable_grad, no_grad

from .optimizer import Optimizer


class PerTensorOptimizer(Optimizer):
    """Runs `_update` on each group; a subclass gives that and `_start`, the first state of a parameter."""

    # Options that checkpoints of older versions lack, with the value that keeps the behaviour of their time.
    _younger_options: dict[str, Any] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    # State that older checkpoints hold as Python numbers.
    _scalar_state: tuple[str, ...] = ("step",)
    # Follows "<name> does not support sparse gradients".
    _sparse_advice = ""
    _takes_complex = True

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient; returns what `closure`, which computes the loss anew, returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with enable_grad() if self.defaults.get("differentiable") else no_grad():
            for group in self.param_groups:
                self._update(group)
        return loss

    def _start(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Fills the empty `state` of `p`."""

    def _update(self, group: dict[str, Any]) -> None:
        """Applies the rule to all of ``self._with_grad(group)``."""
        raise NotImplementedError

    def _with_grad(self, group: dict[str, Any]) -> list[tuple[Tensor, Tensor, dict[str, Any]]]:
        """(parameter, gradient, state) of the parameters that have a gradient.

        The gradient points downhill whether minimizing or maximizing. Complex tensors appear as their
        real views, one dimension more: a complex parameter is optimized as the pair of its parts.
        """
        found = []
        maximize = group.get("maximize", False)
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad.is_sparse:
                raise RuntimeError(f"{self._name()} does not support sparse gradients{self._sparse_advice}")
            is_complex = p.is_complex()
            if is_complex and not self._takes_complex:
                raise RuntimeError(f"{self._name()} does not support complex parameters")
            state = self.state[p]
            if not state:
                self._start(p, state, group)
            if maximize:
                grad = -grad
            if is_complex:
                p, grad = view_as_real(p), view_as_real(grad)
                state = {k: view_as_real(v) if v.is_complex() else v for k, v in state.items()}
            found.append((p, grad, state))
        return found

    def _name(self) -> str:
        return type(self).__name__

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._younger_options.items():
                group.setdefault(name, value)
        for s in self.state.values():
            if isinstance(s, dict):
                for name in self._scalar_state:
                    if name in s and not isinstance(s[name], Tensor):
                        s[name] = tensor(float(s[name]), dtype=scalar_dtype())


def scalar_dtype():
    """The dtype of step counters and of other single numbers in the state."""
    return float64 if get_default_dtype() == float64 else float32


def new_step() -> Tensor:
    """A step counter at 0. It is a tensor, as in PyTorch's checkpoints, and in float32 whatever the parameter is."""
    return tensor(0.0, dtype=scalar_dtype())


def advance(state: dict[str, Any]) -> float:
    """Counts one step and returns its number, the first being 1."""
    state["step"] += 1
    return state["step"].item()


def held(x: Tensor, group: dict[str, Any]) -> Tensor:
    """A tensor of the state as a factor: in a differentiable step a copy, since later steps change the state in place
    while autograd still needs the factor."""
    return x.clone() if group["differentiable"] else x


def number(x: float | Tensor) -> float:
    """An option that may be a tensor of one element, as a Python number."""
    return x.item() if isinstance(x, Tensor) else x
