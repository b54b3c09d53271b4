"""Lends an optimizer other parameters and another state for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Within the context `optimizer` steps other parameters, with another state and other options.

    Args:
        optimizer: has stepped before.
        swapin_parameters: tensors in the order of the optimizer's own; they take their gradients along.
        swapin_optim_state: as `state_dict` returns it. What the optimizer does to its tensors in place shows there;
            options and entries of the state that it sets anew are forgotten at the end.

    Raises:
        RuntimeError: the optimizer has no state yet, or what is given doesn't fit its groups.
    """
    if not optimizer.state:
        raise RuntimeError("swap_in_optimizer_params_and_state requires initialized optimizer state.")
    groups = _groups(optimizer, list(swapin_parameters.values()), swapin_optim_state["param_groups"])
    state: defaultdict[Any, Any] = defaultdict(dict)
    for group, saved in zip(groups, swapin_optim_state["param_groups"], strict=True):
        for p, number in zip(group["params"], saved["params"], strict=True):
            state[p] = dict(swapin_optim_state["state"].get(number, {}))

    own = optimizer.param_groups, optimizer.state
    optimizer.param_groups, optimizer.state = groups, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own


def _groups(optimizer: Optimizer, params: list[Tensor], saved_groups: list[dict]) -> list[dict[str, Any]]:
    """Groups with the options of `saved_groups` and `params` dealt out in order."""
    own_groups = optimizer.param_groups
    if len(saved_groups) != len(own_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    groups, begin = [], 0
    for i, (saved, own) in enumerate(zip(saved_groups, own_groups, strict=True)):
        if set(saved) != set(own):
            raise RuntimeError(
                f"param group {i} of swapin_optim_state must have the keys of the live group. "
                f"Keys only in swap-in: {sorted(set(saved) - set(own))}. "
                f"Keys only in live: {sorted(set(own) - set(saved))}."
            )
        if len(saved["params"]) != len(own["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {i} has a different number of params than the live optimizer param group."
            )
        end = begin + len(own["params"])
        groups.append({**saved, "params": params[begin:end]})
        begin = end
    if len(params) < begin:
        raise RuntimeError(f"swapin_parameters has {len(params)} tensors where the optimizer has {begin} parameters.")
    return groups
