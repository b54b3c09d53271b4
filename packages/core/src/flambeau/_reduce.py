"""Reductions with several forms: max and min, variance, norms."""

from __future__ import annotations

from typing import Any

from ._functions import export, method, row
from ._gen import return_types
from ._gen.functions import ROOT
from ._structseq import structseq
from ._tensor_base import Tensor


def _extreme(name: str, both: str) -> Any:
    """max or min: of all elements, along a dimension, or of two tensors."""
    total, along, binary, structure = row(f"{name}_all"), row(f"{name}_dim"), ROOT[both], getattr(return_types, name)

    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        if other is None and isinstance(dim, Tensor) and (dim.dim() > 0 or dim.dtype.is_floating_point or not isinstance(out, tuple)):
            other, dim = dim, None
        if other is not None:
            return binary(input, other, out=out)
        if dim is None:
            return total(input, out=out)
        result = along(input, dim, keepdim, out=out)
        return structure(result)

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"""``{name}(input)``: the {name}imum of all elements; ``{name}(input, dim, keepdim)``: (values, indices) along a dimension;
    ``{name}(input, other)``: the larger or smaller of two, element by element. NaN wins. IndexError for a dimension out of range."""
    return method(extreme)


return_types.max, return_types.min = structseq("max", ("values", "indices")), structseq("min", ("values", "indices"))
max, min = _extreme("max", "maximum"), _extreme("min", "minimum")


def _spread(name: str) -> Any:
    """var, std and their forms with the mean: (dim, unbiased, keepdim) or (dim, correction=, keepdim=)."""
    general = row(name)

    def spread(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None,
               out: Any = None) -> Any:
        if isinstance(dim, bool):  # var(input, unbiased)
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = 1 if unbiased else 0
        kwargs = {} if out is None else {"out": out}
        return general(input, dim, correction=correction, keepdim=keepdim, **kwargs)

    spread.__name__ = spread.__qualname__ = name
    spread.__doc__ = f"""`{name}` over dimensions (all by default): squared deviations divided by n - correction (1 by default; 0 with
    ``unbiased=False``)."""
    return method(spread) if "mean" not in name else export(spread)


var, std, var_mean, std_mean = (_spread(n) for n in ("var", "std", "var_mean", "std_mean"))


@method
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """The p-norm of the elements, over all dimensions or the given ones; "fro" is p = 2, "nuc" the sum of singular values of matrices."""
    if isinstance(p, str):
        if p == "nuc":
            return _nuclear(input, dim, keepdim, out)
        if p != "fro":
            raise RuntimeError(f"norm(): only 'fro' and 'nuc' are norms by name, got p={p!r}")
        p = 2.0
    if p is None:
        p = 2.0
    if isinstance(p, Tensor):
        p = p.item()
    if not (input.dtype.is_floating_point or input.dtype.is_complex) and dtype is None:
        raise RuntimeError(f"norm(): the norm needs a floating-point or complex dtype, got {input.dtype}")
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return row("vector_norm")(input, float(p), dims, keepdim, dtype=dtype, out=out)


def _nuclear(input: Tensor, dim: Any, keepdim: bool, out: Tensor | None) -> Tensor:
    from . import linalg

    dims = (-2, -1) if dim is None else tuple(dim)
    x = input.movedim(dims, (-2, -1))
    t = linalg.svdvals(x).sum(-1)
    if keepdim:
        for d in sorted(d % input.dim() for d in dims):
            t = t.unsqueeze(d)
    return t if out is None else out.resize_(t.shape).copy_(t)
