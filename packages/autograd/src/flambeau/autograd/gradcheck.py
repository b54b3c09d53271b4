"""Checking derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as fb
from flambeau import Tensor

from ._backward import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative does not agree with finite differences."""


def _as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outputs: tuple) -> list[Tensor]:
    return [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]


def _run(func: Callable, inputs: tuple) -> list[Tensor]:
    with fb.no_grad():
        return [y.clone() for y in _as_tuple(func(*inputs)) if isinstance(y, Tensor)]


def _flat(t: Tensor) -> list:
    return t.detach().reshape(-1).tolist()


def _steps(x: Tensor, eps: float) -> list[complex | float]:
    """Directions to step in: along the real axis, and for a complex input along the imaginary one."""
    return [eps, 1j * eps] if x.dtype.is_complex else [eps]


def _numerical(func: Callable, inputs: tuple, which: int, outputs: list[int], eps: float) -> list[list[list[complex]]]:
    """d output / d x by central differences: [direction][element of x][element of the outputs, one after another]."""
    x = inputs[which]
    flat = x.data.reshape(-1) if x.is_contiguous() else None
    if flat is None:
        raise GradcheckError(f"gradcheck expects contiguous inputs; input {which} is not")
    directions = []
    for step in _steps(x, eps):
        rows = []
        for k in range(flat.numel()):
            kept = flat[k].item()
            flat[k] = fb.tensor(kept + step, dtype=x.dtype)
            up = [v for i in outputs for v in _flat(_run(func, inputs)[i])]
            flat[k] = fb.tensor(kept - step, dtype=x.dtype)
            down = [v for i in outputs for v in _flat(_run(func, inputs)[i])]
            flat[k] = fb.tensor(kept, dtype=x.dtype)
            rows.append([(a - b) / (2 * eps) for a, b in zip(up, down, strict=True)])
        directions.append(rows)
    return directions


def _close(a: complex, b: complex, rtol: float, atol: float) -> bool:
    return abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b)


def _analytical(ys: list[Tensor], x: Tensor, weight: complex) -> list[list[complex]]:
    """Gradients of each element of the outputs, weighted: [element of the outputs][element of x]."""
    rows = []
    for y in ys:
        for k in range(y.numel()):
            w = fb.zeros_like(y, memory_format=fb.contiguous_format)
            w.reshape(-1)[k] = weight if y.dtype.is_complex else 1.0
            (g,) = grad(y, x, w, retain_graph=True, allow_unused=True)
            rows.append([0.0] * x.numel() if g is None else _flat(g))
    return rows


def _compare(func: Callable, inputs: tuple, eps: float, atol: float, rtol: float, nondet_tol: float) -> None:
    outputs = _as_tuple(func(*inputs))
    tensors = [y for y in outputs if isinstance(y, Tensor)]
    chosen = [i for i, y in enumerate(tensors) if y.requires_grad]
    ys = [tensors[i] for i in chosen]
    if not ys:
        raise GradcheckError("gradcheck: no output requires grad; there is nothing to check")
    for which, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        numerical = _numerical(func, inputs, which, chosen, eps)
        # For real L = Re(conj(w) y), the gradient g of L holds dL/dRe x + i dL/dIm x.
        weights = [1.0, 1j] if any(y.dtype.is_complex for y in ys) else [1.0]
        sizes = [y.numel() for y in ys]
        owner = [i for i, n in enumerate(sizes) for _ in range(n)]
        for w in weights:
            got = _analytical(ys, x, w)
            again = _analytical(ys, x, w)
            for j, row in enumerate(got):
                y = ys[owner[j]]
                if w == 1j and not y.dtype.is_complex:
                    continue
                for k, g in enumerate(row):
                    if not _close(g, again[j][k], 0, nondet_tol):
                        raise GradcheckError(
                            f"Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                            f"different values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism "
                            f"was {nondet_tol}."
                        )
                    wy = w if y.dtype.is_complex else 1.0
                    parts = [(wy.conjugate() * d[k][j]).real if isinstance(wy, complex) or isinstance(d[k][j], complex) else wy * d[k][j]
                             for d in numerical]  # fmt: skip
                    want = parts[0] if len(parts) == 1 else complex(parts[0], parts[1])
                    if not _close(g, want, rtol, atol):
                        raise GradcheckError(
                            f"Jacobian mismatch for output {owner[j]} with respect to input {which}: element {j - sum(sizes[: owner[j]])} "
                            f"of the output by element {k} of the input is numerically {want}, analytically {g}"
                        )


def _check_undefined(func: Callable, inputs: tuple) -> None:
    """Backward must take undefined gradients for any of several outputs."""
    ys = _differentiable(_as_tuple(func(*inputs)))
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    for y in ys:
        grad(y, wanted, fb.zeros_like(y), retain_graph=True, allow_unused=True)


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of ``func`` with central differences of step ``eps``, for every input that requires grad.

    Inputs should be float64 or complex128. Complex numbers follow the convention of backward: for real L, the gradient is
    dL/dRe + i dL/dIm. The check is always complete; ``fast_mode`` changes nothing.

    Returns True; GradcheckError (False with ``raise_exception=False``) where they differ.
    """
    if check_forward_ad or check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck compares backward only: check_forward_ad and check_batched_grad must be False")
    items = _as_tuple(inputs)
    if not any(isinstance(x, Tensor) and x.requires_grad for x in items):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    try:
        if check_backward_ad:
            _compare(func, items, eps, atol, rtol, nondet_tol)
        if check_undefined_grad:
            _check_undefined(func, items)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Checks the gradients of the gradients of ``func``, as `gradcheck` does those of func.

    Args:
        grad_outputs: weights of the outputs (default: normal draws, from a generator of this function's own).
    """
    if check_fwd_over_rev or check_batched_grad:
        raise NotImplementedError("gradgradcheck compares backward over backward only: check_fwd_over_rev must be False")
    items = _as_tuple(inputs)
    if grad_outputs is None:
        ys = _differentiable(_as_tuple(func(*items)))
        generator = fb.Generator()
        generator.manual_seed(0)
        weights = tuple(fb.randn(y.shape, dtype=y.dtype, generator=generator).requires_grad_() for y in ys)
    else:
        weights = _as_tuple(grad_outputs)
    n = len(weights)

    def first(*args: Any) -> tuple:
        with fb.enable_grad():
            xs, ws = args[:-n], args[-n:]
            wanted = tuple(x for x in xs if isinstance(x, Tensor) and x.requires_grad)
            ys = _differentiable(_as_tuple(func(*xs)))
            return tuple(g for g in grad(ys, wanted, ws, create_graph=True, allow_unused=True) if g is not None)

    return gradcheck(
        first, (*items, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
    )  # fmt: skip
