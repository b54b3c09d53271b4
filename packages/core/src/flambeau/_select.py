"""Selecting and rearranging: functions with several forms, and those made of generated ones."""

from __future__ import annotations

from typing import Any

from ._binding import index
from ._creation import arange, tensor, zeros_like
from ._dtype import bool_, int64
from ._functions import export, method, only_method, row
from ._gen.functions import HIDDEN, HIDDEN_INPLACE, METHODS, ROOT
from ._shapes import broadcast_shapes, wrap_dim
from ._tensor_base import Tensor

_nonzero = HIDDEN["nonzero"]


@method
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Indices of the elements that are not 0: an (n, ndim) tensor, or with ``as_tuple`` one 1-d tensor a dimension."""
    if not as_tuple:
        return _nonzero(input, out=out)
    return _nonzero(input.reshape(1) if input.dim() == 0 else input).unbind(1)


@method
def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not 0, one a row."""
    return _nonzero(input)


@export
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """input where condition (bool) is true, else other; all three broadcast. With the condition alone: ``nonzero(as_tuple=True)``."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return row("where")(condition, input, other, out=out)


@only_method
def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where condition is true, else other."""
    return where(condition, self, other)


Tensor.where = Tensor._where
del Tensor._where


def _scatter_form(dim: Any, index: Any, src: Any, value: Any, reduce: str | None) -> tuple[str, Any]:
    if src is None and value is None:
        raise TypeError("scatter() needs 'src' (a tensor) or 'value' (a number)")
    if isinstance(src, Tensor) and value is None:
        return ("src", src)
    return ("value", src if value is None else value)


@method
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
            out: Tensor | None = None) -> Tensor:
    """The input with out[index[i][j][k]][j][k] = src[i][j][k] (for dim 0), or a number for all; ``reduce``: "add" or "multiply" instead."""
    form, what = _scatter_form(dim, index, src, value, reduce)
    if reduce is not None:
        result = _scatter_reduced(input, dim, index, what, reduce)
        return result if out is None else out.resize_(result.shape).copy_(result)
    return HIDDEN["scatter_" + form](input, dim, index, what, out=out)


def _scatter_reduced(input: Tensor, dim: int, index: Tensor, what: Any, reduce: str) -> Tensor:
    how = {"add": "sum", "multiply": "prod"}.get(reduce)
    if how is None:
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}.")
    if not isinstance(what, Tensor):
        what = tensor(what, dtype=input.dtype).expand(index.shape)
    return ROOT["scatter_reduce"](input, dim, index, what, how)


@only_method
def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """In-place form of `scatter`."""
    form, what = _scatter_form(dim, index, src, value, reduce)
    if reduce is not None:
        return self.copy_(_scatter_reduced(self, dim, index, what, reduce))
    return HIDDEN_INPLACE[f"_hidden_scatter_{form}_"](self, dim, index, what)


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """The input with ``value`` (a number or 0-d tensor) in the entries of a dimension that index lists."""
    if isinstance(value, Tensor) and value.requires_grad:  # the value gets a gradient: the sum over where it went
        chosen = HIDDEN["index_fill_value"](zeros_like(input, dtype=bool_), dim, index, True)
        return where(chosen, value.to(input.dtype), input)
    return HIDDEN["index_fill_value"](input, dim, index, _number(value))


@only_method
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of `index_fill`."""
    return HIDDEN_INPLACE["_hidden_index_fill_value_"](self, dim, index, _number(value))


def _number(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.dim() != 0:
            raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s).")
        return value.item()
    return value


@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather` whose operands broadcast outside ``dim``; without a dim, from the flattened input."""
    if indices.dtype is not int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return take_along_dim(input.reshape(-1), indices.reshape(-1), 0, out=out)
    if input.dim() != indices.dim():
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.dim()} "
                           f"dimensions for input, and {indices.dim()} dimensions for indices")  # fmt: skip
    d = wrap_dim(dim, input.dim())
    a, b = list(input.shape), list(indices.shape)
    a[d] = b[d] = 1
    shape = list(broadcast_shapes(a, b))
    own = shape.copy()
    own[d], shape[d] = input.shape[d], indices.shape[d]
    if input.device.num == 0:  # negative indices count from the end
        indices = where(indices < 0, indices + input.shape[d], indices)
    return ROOT["gather"](input.expand(own), d, indices.expand(shape), out=out)


@method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved on by ``shifts`` along ``dims``, coming in again at the start; without dims, of the flattened tensor."""
    shifts = [shifts] if isinstance(shifts, int) else [index(s) for s in shifts]
    if not shifts:
        raise RuntimeError("`shifts` required")
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return HIDDEN["roll_one"](input.reshape(-1), shifts[0], 0).reshape(input.shape)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if input.dim() == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    for s, d in zip(shifts, dims, strict=True):
        input = HIDDEN["roll_one"](input, s, d)
    return input


@method
def fliplr(input: Tensor) -> Tensor:
    """The order of dimension 1 reversed."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@method
def flipud(input: Tensor) -> Tensor:
    """The order of dimension 0 reversed."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


@method
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The tensor turned by k right angles from the first to the second of two dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    a, b = (wrap_dim(d, input.dim()) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return input.flip((a, b))
    return input.flip(b).transpose(a, b) if k == 1 else input.flip(a).transpose(a, b)


_searchsorted = row("searchsorted")


@method
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each entry of a dimension (or of the flattened tensor) repeated: as often as ``repeats`` says, a number or one for each entry."""
    if repeats is None:  # repeat_interleave(repeats): indices i, each repeats[i] times
        repeats, input = input, arange(input.numel())
        if repeats.dim() != 1:
            raise RuntimeError(f"repeat_interleave only accept 1D vector as repeat, got {repeats.dim()}D")
        return repeat_interleave(input, repeats, 0, output_size=output_size)
    x = input.reshape(-1) if dim is None else input
    d = 0 if dim is None else wrap_dim(dim, x.dim())
    if x.dim() == 0:
        x = x.reshape(1)
    size = x.shape[d]
    counts = [repeats] * size if isinstance(repeats, int) else repeats.reshape(-1).tolist() if isinstance(repeats, Tensor) else list(repeats)
    if isinstance(repeats, Tensor) and repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if len(counts) == 1 and size != 1:
        counts = counts * size
    if len(counts) != size:
        raise RuntimeError("repeats must have the same size as input along dim, "
                           f"but got repeats.size(0) = {len(counts)} and input.size({d}) = {size}")  # fmt: skip
    if any(c < 0 for c in counts):
        raise RuntimeError(f"repeats can not be negative, got {min(counts)}")
    total = sum(counts)
    if output_size is not None and output_size != total:
        raise RuntimeError(f"allocated size does not match required size: output_size={output_size}, the repeats add up to {total}")
    ends = tensor(counts, dtype=int64).cumsum(0)  # place j holds the first entry whose repeats end after j
    return x.index_select(d, _searchsorted(ends, arange(total), False, True))


@export
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64, device: Any = None, layout: Any = None) -> Tensor:
    """(2, n) row and column numbers of the lower triangle of a row x col matrix, row by row."""
    return _triangle(row, col, lambda r, c: c <= r + min(max(offset, -row), col), dtype)


@export
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64, device: Any = None, layout: Any = None) -> Tensor:
    """(2, n) row and column numbers of the upper triangle of a row x col matrix, row by row."""
    return _triangle(row, col, lambda r, c: c >= r + min(max(offset, -row), col), dtype)


def _triangle(row: int, col: int, inside: Any, dtype: Any) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got{min(row, col)}")
    return inside(arange(row).unsqueeze(1), arange(col)).nonzero().t().contiguous().to(dtype)


@method
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if input.dim() == 1:
        result = ROOT["diag_embed"](input, diagonal)
    elif input.dim() == 2:
        result = input.diagonal(diagonal).clone()
    else:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return result if out is None else out.resize_(result.shape).copy_(result)


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened tensor on its diagonal."""
    return ROOT["diag_embed"](input.reshape(-1), offset)


@method
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of the input with src in place of ``select(dim, index)``."""
    out = input.clone()
    part = out.select(dim, index)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {tuple(src.shape)}, slice size = {tuple(part.shape)}")
    part.copy_(src)
    return out


@method
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy of the input with src in place of a slice."""
    out = input.clone()
    part = HIDDEN["slice"](out, dim, start, end, step)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {tuple(src.shape)}, slice size = {tuple(part.shape)}")
    part.copy_(src)
    return out


@method
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of the input with src in place of a diagonal."""
    out = input.clone()
    part = out.diagonal(offset, dim1, dim2)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {tuple(src.shape)}, slice size = {tuple(part.shape)}")
    part.copy_(src)
    return out




def _expand_masks(indices: Any) -> list:
    """Index tensors without masks: a bool (or uint8) tensor stands for the places where it is true, one tensor a dimension."""
    out: list = []
    for i in indices:
        if isinstance(i, Tensor) and i.dtype.num <= 1:
            out.extend(nonzero(i, as_tuple=True))
        else:
            out.append(i)
    return out


@method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of the input with values, broadcast, written at (or, with accumulate, added to) the places that index tensors name."""
    return ROOT["index_put"](input, _expand_masks(indices), values, accumulate)


@only_method
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    return METHODS["index_put_"](self, _expand_masks(indices), values, accumulate)


export(index_put_, "index_put_")
