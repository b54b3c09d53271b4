"""Derivatives of functions: Jacobians, Hessians, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fb
from flambeau import Tensor

from ._backward import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(x: Any, what: str, name: str) -> tuple[tuple[Tensor, ...], bool]:
    """(as a tuple, whether it was one)."""
    many = isinstance(x, tuple)
    items = x if many else (x,)
    for i, t in enumerate(items):
        if not isinstance(t, Tensor):
            where = f"the value at index {i}" if many else "the value"
            raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {where} has type {type(t)}.")
    return items, many


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Inputs to differentiate by: with create_graph they stay connected to what made them."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _back(results: tuple, many: bool, create_graph: bool) -> Any:
    if not create_graph:
        results = tuple(_detached(r) for r in results)
    return results if many else results[0]


def _detached(x: Any) -> Any:
    return tuple(_detached(i) for i in x) if isinstance(x, tuple) else x.detach()


def _run(func: Callable, inputs: Any, create_graph: bool, name: str) -> tuple[tuple, bool, tuple, bool]:
    items, many_in = _tuple(inputs, "inputs", name)
    items = _leaves(items, create_graph)
    outputs, many_out = _tuple(func(*items), "outputs of the user-provided function", name)
    return items, many_in, outputs, many_out


def _independent(what: str, i: int, strict: bool) -> None:
    if strict:
        raise RuntimeError(f"{what} {i} of the user-provided function is independent of the inputs. This is not allowed in strict mode.")


def _grads(y: Tensor, inputs: tuple, v: Tensor | None, create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    if not y.requires_grad:
        _independent("Output", 0, strict)
        return tuple(fb.zeros_like(t) for t in inputs)
    found = grad(y, inputs, v, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return tuple(fb.zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True))


def _check_v(v: Any, like: tuple[Tensor, ...], name: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (fb.ones_like(like[0]),)
        raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single element.")
    items, _ = _tuple(v, "v", name)
    if len(items) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(items)}.")
    for i, (a, b) in enumerate(zip(items, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"Entry {i} in v has invalid size: should be {b.shape} but got {a.shape}.")
    return items


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), v times its Jacobian): v has the shape(s) of the outputs, the product those of the inputs."""
    with fb.enable_grad():
        items, many_in, outputs, many_out = _run(func, inputs, create_graph, "vjp")
        weights = _check_v(v, outputs, "vjp")
        used = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
        if used:
            found = grad([y for y, _ in used], items, [w for _, w in used], create_graph=create_graph, allow_unused=True)
        else:
            _independent("Output", 0, strict)
            found = (None,) * len(items)
        product = tuple(fb.zeros_like(t) if g is None else g for g, t in zip(found, items, strict=True))
    return _back(outputs, many_out, create_graph), _back(product, many_in, create_graph)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), its Jacobian times v): v has the shape(s) of the inputs, the product those of the outputs.

    Computed by two backward passes: J v is the derivative of (w J) by w, times v.
    """
    with fb.enable_grad():
        items, _, outputs, many_out = _run(func, inputs, create_graph, "jvp")
        direction = _check_v(v, items, "jvp") if v is not None or len(items) == 1 and items[0].numel() == 1 else _check_v(v, items, "jvp")
        dummies = tuple(fb.zeros_like(y).requires_grad_() for y in outputs)
        used = [(y, w) for y, w in zip(outputs, dummies, strict=True) if y.requires_grad]
        if not used:
            _independent("Output", 0, strict)
            return _back(outputs, many_out, create_graph), _back(tuple(fb.zeros_like(y) for y in outputs), many_out, create_graph)
        back = grad([y for y, _ in used], items, [w for _, w in used], create_graph=True, allow_unused=True)
        pairs = [(b, d) for b, d in zip(back, direction, strict=True) if b is not None and b.requires_grad]
        found: tuple = (None,) * len(dummies)
        if pairs:
            found = grad([b for b, _ in pairs], dummies, [d for _, d in pairs], create_graph=create_graph, allow_unused=True)
        product = tuple(fb.zeros_like(y) if g is None else g for g, y in zip(found, outputs, strict=True))
    return _back(outputs, many_out, create_graph), _back(product, many_out, create_graph)


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: for an output of shape S and an input of shape T, a tensor of shape S + T.

    With several inputs a tuple, with several outputs a tuple of those. ``vectorize`` gives the same result.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode". Got: {strategy!r}')
    with fb.enable_grad():
        items, many_in, outputs, many_out = _run(func, inputs, create_graph, "jacobian")
        rows = []
        for k, y in enumerate(outputs):
            if strict and not y.requires_grad:
                _independent("Output", k, strict)
            flat = y.reshape(-1)
            each = [_grads(flat[i], items, None if not y.dtype.is_complex else fb.ones_like(flat[i]), create_graph, False)
                    for i in range(flat.numel())]  # fmt: skip
            rows.append(tuple(
                fb.stack([g[j] for g in each]).reshape(tuple(y.shape) + tuple(x.shape)) if each
                else fb.zeros(tuple(y.shape) + tuple(x.shape), dtype=x.dtype)
                for j, x in enumerate(items)
            ))  # fmt: skip
    found = tuple(row if many_in else row[0] for row in rows)
    if not create_graph:
        found = _detached(found)
    return found if many_out else found[0]


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The matrix of second derivatives of a function with one element: for inputs of shapes S and T, of shape S + T."""
    _, many = _tuple(inputs, "inputs", "hessian")

    def first(*items: Tensor) -> Any:
        y = func(*items)
        if not isinstance(y, Tensor) or y.numel() != 1:
            raise RuntimeError("The function given to hessian should return a single Tensor with a single element.")
        j = jacobian(lambda *x: func(*x).reshape(()), items, create_graph=True, strict=strict)
        return j if many else j[0]

    return jacobian(first, inputs, create_graph=create_graph, strict=strict)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), its Hessian times v); func gives one element."""
    return vhp(func, inputs, v, create_graph, strict)


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(inputs), v times its Hessian); func gives one element. The Hessian is symmetric."""
    with fb.enable_grad():
        items, many_in, outputs, many_out = _run(func, inputs, create_graph, "vhp")
        if many_out or outputs[0].numel() != 1:
            raise RuntimeError("The function given to vhp should return a single Tensor with a single element.")
        direction = _check_v(v, items, "vhp")
        first = _grads(outputs[0], items, None, True, strict)
        pairs = [(g, d) for g, d in zip(first, direction, strict=True) if g.requires_grad]
        found: tuple = (None,) * len(items)
        if pairs:
            found = grad([g for g, _ in pairs], items, [d for _, d in pairs], create_graph=create_graph, allow_unused=True)
        product = tuple(fb.zeros_like(t) if g is None else g for g, t in zip(found, items, strict=True))
    return _back(outputs, many_out, create_graph), _back(product, many_in, create_graph)
