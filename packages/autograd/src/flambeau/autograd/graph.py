"""The recorded graph: nodes, edges, and hooks over several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flambeau import Tensor
from flambeau._autograd_nodes import Node, RemovableHandle

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version", "register_multi_grad_hook"]


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node and the number of its result."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad; of a leaf, the one of its accumulator. RuntimeError otherwise."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    if node is None:
        node = tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Takes all the hooks back."""
        for h in self.handles:
            h.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Calls ``fn`` when the gradients of the tensors are known.

    mode "all": ``fn(grads)``, with None for a tensor without one, once every tensor has got its gradient in this backward;
    "any": ``fn(grad)`` for the first. Every tensor must take part in the backward, or "all" never fires.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    grads: list[Any] = [None] * len(tensors)
    seen: set[int] = set()

    def arrived(i: int, grad: Tensor) -> None:
        if mode == "any":
            if not seen:
                fn(grad)
        else:
            grads[i] = grad
        seen.add(i)
        if len(seen) == len(tensors):
            seen.clear()
            if mode == "all":
                got, grads[:] = list(grads), [None] * len(tensors)
                fn(got)

    return _MultiHandle([t.register_hook(lambda g, i=i: arrived(i, g)) for i, t in enumerate(tensors)])


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tells autograd that the tensors' memory was written to by other means. RuntimeError for inference tensors."""
    from flambeau._autograd_hooks import bump_version

    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump_version(t)
