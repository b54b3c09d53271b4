"""Calling a module with other parameters than its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from flambeau import Tensor

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with the tensors of ``parameters_and_buffers``, by dotted name, in place of its own.

    The module is as before afterwards, but for what the call changed in place. ``tie_weights`` gives a tensor that has
    several names in the module the same replacement under each. ``strict`` raises RuntimeError unless the names are
    just those of the module. ``args`` that isn't a tuple is the one argument.
    """
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **({} if kwargs is None else kwargs))


@contextlib.contextmanager
def replaced(
    module: Any, tensors: dict[str, Tensor], *, tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """Swaps tensors of ``module`` while the block runs."""
    if tie_weights:
        tensors = _with_tied(module, tensors)
    own = {
        name
        for members in (module.named_parameters, module.named_buffers)
        for name, _ in members(remove_duplicate=False)
    }
    if strict:
        unexpected, missing = [n for n in tensors if n not in own], sorted(own - set(tensors))
        if unexpected or missing:
            text = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
            text += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
            raise RuntimeError(f"Error(s) in loading tensors for {module._get_name()}:\n\t" + "\n\t".join(text))
    places = [_place(module, name) for name in tensors]
    saved = []
    try:
        for (table, name), tensor in zip(places, tensors.values()):
            saved.append((table, name, table[name]))
            table[name] = tensor
        yield
    finally:
        for table, name, before in reversed(saved):
            table[name] = before


def _place(module: Any, path: str) -> tuple[dict, str]:
    """The table that holds the parameter or buffer at ``path``, and its name there."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            return table, name
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    raise TypeError(f"{path} is not a parameter or buffer")


def _with_tied(module: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """``tensors`` with an entry for every other name of the module's tensors that they replace."""
    names: dict[int, list[str]] = {}
    for members in (module.named_parameters, module.named_buffers):
        for name, tensor in members(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    out = dict(tensors)
    for group in names.values():
        given = {id(tensors[n]): tensors[n] for n in group if n in tensors}
        if len(given) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(group)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for tensor in given.values():
            for name in group:
                out[name] = tensor
    return out
