"""Order: sort, median, unique and searching, over the kernels that sort rows."""

from __future__ import annotations

from typing import Any

from ._creation import arange, empty, tensor
from ._dtype import bool_, int64
from ._functions import export, method, row
from ._gen import return_types
from ._structseq import structseq
from ._tensor_base import Tensor

_sort, _median_dim, _searchsorted = row("sort"), row("median_dim"), row("searchsorted")
return_types.sort, return_types.median = structseq("sort", ("values", "indices")), structseq("median", ("values", "indices"))
return_types.nanmedian = structseq("nanmedian", ("values", "indices"))


@method
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None, *, out: Any = None) -> Any:
    """(values, indices): the elements in order along a dimension, and where each came from. Always stable."""
    return return_types.sort(_sort(input, dim, bool(descending), out=out))


@method
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where each element of the sorted order came from."""
    return _sort(input, dim, descending)[1]


@method
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along dimension 0."""
    values = _sort(input, 0)[0]
    return values if out is None else out.resize_(values.shape).copy_(values)


def _make_median(name: str, ignore: bool) -> Any:
    structure = getattr(return_types, name)

    def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
        if dim is None:
            if input.numel() == 0:
                return tensor(float("nan"), dtype=input.dtype) if input.dtype.is_floating_point else tensor(-(2**63), dtype=input.dtype)
            return _median_dim(input.reshape(-1), 0, False, ignore)[0]
        return structure(_median_dim(input, dim, keepdim, ignore, out=out))

    median.__name__ = median.__qualname__ = name
    median.__doc__ = f"""The lower median of all elements, or (values, indices) along a dimension; NaN {"is left out" if ignore else "wins"}."""
    return method(median)


median, nanmedian = _make_median("median", False), _make_median("nanmedian", True)


@export
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                 out: Tensor | None = None, sorter: Tensor | None = None) -> Tensor:
    """Where each value would be inserted into sorted rows to keep their order: before equal elements, or after ("right")."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if not isinstance(input, Tensor):
        input = tensor(input, dtype=sorted_sequence.dtype if isinstance(input, int) else None)
    if input.dtype is not sorted_sequence.dtype:
        raise RuntimeError("torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got boundary tensor dtype "
                           f"{sorted_sequence.dtype} and input value tensor dtype {input.dtype}")  # fmt: skip
    return _searchsorted(sorted_sequence, input, out_int32, right or side == "right", out=out)


@export
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Tensor | None = None) -> Tensor:
    """Which of the buckets between sorted ``boundaries`` (1-d) each value falls into."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"torch.searchsorted(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def _runs(x: Tensor) -> tuple[Tensor, Tensor]:
    """Of a 1-d tensor: where a new run of equal values starts (bool), and the number of the run that each element is in."""
    n = x.numel()
    starts = empty(n, dtype=bool_)
    if n:
        starts[0] = True
        starts[1:] = x[1:] != x[:-1]
    return starts, starts.to(int64).cumsum(0) - 1


def _runs_of_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    n = x.shape[0]
    starts = empty(n, dtype=bool_)
    if n:
        starts[0] = True
        starts[1:] = (x[1:] != x[:-1]).reshape(n - 1, -1).any(1)
    return starts, starts.to(int64).cumsum(0) - 1


def _counts(starts: Tensor) -> Tensor:
    places = starts.nonzero().reshape(-1)
    ends = empty(places.numel(), dtype=int64)
    if places.numel():
        ends[:-1] = places[1:]
        ends[-1] = starts.numel()
    return ends - places


def _results(parts: list, wanted: list[bool]) -> Any:
    chosen = [p for p, w in zip(parts, [True, *wanted], strict=True) if w]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


@method
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The distinct elements (or slices of a dimension), in order; with ``return_inverse`` where each element went, and their counts."""
    wanted = [return_inverse, return_counts]
    if dim is None:
        flat = input.reshape(-1)
        values, order = _sort(flat, 0)
        starts, number = _runs(values)
        inverse = empty(flat.numel(), dtype=int64)
        inverse[order] = number
        return _results([values[starts], inverse.reshape(input.shape), _counts(starts)], wanted)
    rows = input.movedim(dim, 0)
    n = rows.shape[0]
    flat = rows.reshape(n, -1)
    order = arange(n)
    for column in range(flat.shape[1] - 1, -1, -1):  # stable sorts by the last column first give rows in lexicographic order
        order = order[_sort(flat[order, column], 0)[1]]
    ordered = flat[order]
    starts, number = _runs_of_rows(ordered)
    inverse = empty(n, dtype=int64)
    inverse[order] = number
    values = rows[order[starts]].movedim(0, dim)
    return _results([values, inverse, _counts(starts)], wanted)


@method
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """As `unique` without sorting: only neighbours that are equal count as one."""
    wanted = [return_inverse, return_counts]
    if dim is None:
        flat = input.reshape(-1)
        starts, number = _runs(flat)
        return _results([flat[starts], number.reshape(input.shape), _counts(starts)], wanted)
    rows = input.movedim(dim, 0)
    starts, number = _runs_of_rows(rows)
    return _results([rows[starts].movedim(0, dim), number, _counts(starts)], wanted)


@method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each value 0, 1, ... occurs in a 1-d tensor of non-negative integers, or the sum of its weights."""
    if input.dim() != 1 or input.dtype.is_floating_point or input.dtype.is_complex or (input.numel() and input.min().item() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got minlength={minlength}")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    n = max(minlength, int(input.max().item()) + 1 if input.numel() else 0)
    from ._creation import ones_like, zeros
    from ._dtype import float64

    w = ones_like(input, dtype=int64) if weights is None else weights if weights.dtype.name in ("float32", "float64") else weights.to(float64)
    return zeros(n, dtype=w.dtype).index_add_(0, input.to(int64), w)


@export
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements occur among the test elements (with ``invert``, which do not)."""
    x = elements if isinstance(elements, Tensor) else tensor(elements)
    t = (test_elements if isinstance(test_elements, Tensor) else tensor(test_elements)).reshape(-1)
    if t.numel() == 0:
        found = (x != x) & False if x.dtype is bool_ else empty(x.shape, dtype=bool_).fill_(False)
    else:
        values = _sort(t, 0)[0]
        flat = x.reshape(-1).to(values.dtype)
        at = _searchsorted(values, flat).clamp(max=values.numel() - 1)
        found = (values[at] == flat).reshape(x.shape)
    return found.logical_not() if invert else found

