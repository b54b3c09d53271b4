"""backward and grad: the two ways to run the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as fb
from flambeau import Tensor
from flambeau._autograd_hooks import CREATE, RETAIN, run_backward

__all__ = ["backward", "grad"]


def _as_tuple(x: Any) -> tuple:
    if x is None:
        return ()
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _root_grads(roots: tuple, grads: Any) -> tuple:
    """One gradient (or None) a root, checked."""
    if grads is None:
        return (None,) * len(roots)
    grads = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(grads) != len(roots):
        raise RuntimeError(f"Got {len(roots)} tensors and {len(grads)} gradients")
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        if g is None:
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        if g.shape != root.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {root.shape}."
            )
        if g.dtype.is_complex != root.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {root.dtype}."
            )
    return grads


def _flags(retain_graph: bool | None, create_graph: bool) -> int:
    retain = create_graph if retain_graph is None else retain_graph
    return RETAIN * bool(retain) | CREATE * bool(create_graph)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradient of the tensors' sum, weighted by ``grad_tensors``, to ``.grad`` of the leaves.

    Args:
        tensors: roots; each requires grad.
        grad_tensors: one weight a root, of its shape; None where it has one element (then 1).
        retain_graph: keep what the graph saved, for another run (default: ``create_graph``).
        create_graph: record the run itself, for higher derivatives.
        inputs: only these get a gradient; ones that are not leaves keep it, too.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("grad_tensors and grad_variables (its former name) were both given; give grad_tensors only")
        grad_tensors = grad_variables
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _as_tuple(tensors)
    wanted = None
    if inputs is not None:
        wanted = _as_tuple(inputs)
        for t in wanted:
            if not t.is_leaf:
                t.retain_grad()
    run_backward(roots, _root_grads(roots, grad_tensors), _flags(retain_graph, create_graph), wanted, False)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs' sum, weighted by ``grad_outputs``, with respect to the inputs, as a tuple.

    ``.grad`` of no tensor changes.

    Args:
        allow_unused: an input that the outputs do not depend on gives None instead of an error (default: ``materialize_grads``).
        is_grads_batched: the first dimension of each grad_outputs is a batch: one run each, results stacked.
        materialize_grads: zeros in place of None.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    if not wanted:
        raise ValueError("`inputs` argument to `grad()` cannot be empty.")
    flags = _flags(retain_graph, create_graph)
    if is_grads_batched:
        return _batched(roots, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    found = run_backward(roots, _root_grads(roots, grad_outputs), flags, wanted, True)
    for i, g in enumerate(found):
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this is the "
                "desired behavior."
            )
        if g is None and materialize_grads:
            found[i] = fb.zeros_like(wanted[i])
    return tuple(found)


def _batched(roots: tuple, wanted: tuple, grads: Any, retain: bool | None, create: bool, allow_unused: bool, zeros: bool) -> tuple:
    grads = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    n = grads[0].shape[0]
    rows = [
        grad(roots, wanted, [None if g is None else g[k] for g in grads], True if k < n - 1 else retain, create,
             allow_unused=allow_unused, materialize_grads=zeros)
        for k in range(n)
    ]  # fmt: skip
    return tuple(None if column[0] is None else fb.stack(column) for column in zip(*rows, strict=True))
