"""Products of tensors: tensordot, einsum, kron and the like, over matmul."""

from __future__ import annotations

from typing import Any

from ._functions import export, method
from ._gen.functions import ROOT
from ._tensor_base import Tensor


@method
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products summed over the last dimension of both; of a 0-d tensor, plain multiplication."""
    if input.dim() == 0 or other.dim() == 0:
        return ROOT["mul"](input, other, out=out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}")
    t = tensordot(input, other, dims=([-1], [-1]))
    return t if out is None else out.resize_(t.shape).copy_(t)


@export
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over pairs of dimensions: the last n of a with the first n of b (dims=n), or dims[0] of a with dims[1] of b."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        da, db = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        da, db = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(da) != len(db):
        raise RuntimeError(f"both dimension lists should have same length, got {len(da)} and {len(db)}")
    da, db = [d % a.dim() for d in da], [d % b.dim() for d in db]
    for i, j in zip(da, db, strict=True):
        if a.shape[i] != b.shape[j] and 1 in (a.shape[i], b.shape[j]):  # a size of 1 broadcasts: the other is summed
            a, b = (a, b.sum(j, keepdim=True)) if b.shape[j] != 1 else (a.sum(i, keepdim=True), b)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                               f"and second has size {b.shape[j]} in dim {j}")  # fmt: skip
    if a.dtype is not b.dtype:
        raise RuntimeError(f"both inputs should have same dtype, got {a.dtype} and {b.dtype}")
    ra, rb = [d for d in range(a.dim()) if d not in da], [d for d in range(b.dim()) if d not in db]
    n = 1
    for d in da:
        n *= a.shape[d]
    ka, kb = [a.shape[d] for d in ra], [b.shape[d] for d in rb]
    left = a.permute((*ra, *da)).reshape(_product(ka), n)
    right = b.permute((*db, *rb)).reshape(n, _product(kb))
    t = ROOT["mm"](left, right).reshape((*ka, *kb))
    return t if out is None else out.resize_(t.shape).copy_(t)


def _product(sizes: Any) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


@method
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of the input times all of other."""
    n = max(input.dim(), other.dim())
    a = input.reshape((1,) * (n - input.dim()) + tuple(input.shape))
    b = other.reshape((1,) * (n - other.dim()) + tuple(other.shape))
    left = a.reshape([s for d in a.shape for s in (d, 1)])
    right = b.reshape([s for d in b.shape for s in (1, d)])
    t = (left * right).reshape([x * y for x, y in zip(a.shape, b.shape, strict=True)])
    return t if out is None else out.resize_(t.shape).copy_(t)


@export
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices, from left to right."""
    t = matrices[0]
    for m in matrices[1:]:
        t = ROOT["mm"](t, m)
    return t if out is None else out.resize_(t.shape).copy_(t)


# ---- einsum ------------------------------------------------------------------------------------------------


def _parse(equation: str, operands: list[Tensor]) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand's dimensions and of the result; "..." becomes labels ".0", ".1", ... from the right."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation: {len(operands)} for {equation!r}")
    labels = []
    widest = 0
    for i, (term, t) in enumerate(zip(terms, operands, strict=True)):
        head, dots, tail = term.partition("...")
        if not all(c.isalpha() and c.isascii() for c in head + tail):
            bad = next(c for c in head + tail if not (c.isalpha() and c.isascii()))
            raise RuntimeError(f"einsum(): invalid subscript given at index {term.index(bad)} in the equation string, "
                               f"subscripts must be in [a-zA-Z], got {bad!r}")  # fmt: skip
        free = t.dim() - len(head) - len(tail)
        if free < 0 or (free and not dots):
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does not match "
                               f"the number of dimensions ({t.dim()}) for operand {i} and no ellipsis was given")  # fmt: skip
        widest = max(widest, free)
        labels.append([*head, *(f".{k}" for k in range(free - 1, -1, -1)), *tail])
    dots_labels = [f".{k}" for k in range(widest - 1, -1, -1)]
    if arrow:
        head, dots, tail = right.partition("...")
        result = [*head, *(dots_labels if dots else []), *tail]
        for c in head + tail:
            if not any(c in ls for ls in labels):
                raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
            if (head + tail).count(c) > 1:
                raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    else:
        every = [c for ls in labels for c in ls if not c.startswith(".")]
        result = dots_labels + sorted(c for c in set(every) if every.count(c) == 1)
    return labels, result


def _diagonalize(t: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    """Repeated labels of one operand mean its diagonal."""
    i = 0
    while i < len(labels):
        j = next((k for k in range(i + 1, len(labels)) if labels[k] == labels[i]), None)
        if j is None:
            i += 1
            continue
        if t.shape[i] != t.shape[j]:
            raise RuntimeError(f"einsum(): subscript {labels[i]} is repeated for an operand but the sizes don't match, {t.shape[j]} != {t.shape[i]}")
        t = t.diagonal(0, i, j)
        labels = [c for k, c in enumerate(labels) if k not in (i, j)] + [labels[i]]
        i = 0
    return t, labels


def _contract(a: Tensor, la: list[str], b: Tensor, lb: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    """a and b as one batched matrix product; labels that nothing else needs are summed."""
    size = dict(zip(lb, b.shape, strict=True))
    for c, n in zip(la, a.shape, strict=True):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    both = [c for c in la if c in lb]
    batch = [c for c in both if c in keep]
    summed = [c for c in both if c not in keep]
    only_a, only_b = [c for c in la if c not in lb], [c for c in lb if c not in la]
    drop_a, drop_b = [c for c in only_a if c not in keep], [c for c in only_b if c not in keep]
    if drop_a:
        a = a.sum([la.index(c) for c in drop_a])
        la = [c for c in la if c not in drop_a]
    if drop_b:
        b = b.sum([lb.index(c) for c in drop_b])
        lb = [c for c in lb if c not in drop_b]
    only_a, only_b = [c for c in only_a if c in keep], [c for c in only_b if c in keep]
    order_a, order_b = batch + only_a + summed, batch + summed + only_b
    a = a.permute([la.index(c) for c in order_a]).expand([size[c] for c in order_a])
    b = b.permute([lb.index(c) for c in order_b]).expand([size[c] for c in order_b])
    sizes = [[size[c] for c in g] for g in (batch, only_a, summed, only_b)]
    m, k, n = (_product(s) for s in sizes[1:])
    if not summed and not (only_a and only_b):  # no sum: plain multiplication is cheaper than a product of matrices
        t = a.reshape(sizes[0] + sizes[1] + [1] * len(only_b)) * b.reshape(sizes[0] + [1] * len(only_a) + sizes[3])
    elif len(batch) == len(only_a) == len(summed) == len(only_b) == 1 or (len(only_a) <= 1 and len(summed) == 1 and len(only_b) <= 1):
        left = a if only_a else a.unsqueeze(len(batch))
        right = b if only_b else b.unsqueeze(-1)
        t = ROOT["matmul"](left, right).reshape(sizes[0] + sizes[1] + sizes[3])
    else:
        t = ROOT["matmul"](a.reshape(*sizes[0], m, k), b.reshape(*sizes[0], k, n)).reshape(sizes[0] + sizes[1] + sizes[3])
    return t, batch + only_a + only_b


@export
def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: ``einsum("bij,bjk->bik", a, b)``, or operands and lists of label numbers by turns.

    Contractions run from left to right, each as a batched matrix product. RuntimeError where labels and shapes disagree.
    """
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    else:
        equation, operands = _from_lists(args)
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    labels, result = _parse(equation, operands)
    size: dict[str, int] = {}
    for t, ls in zip(operands, labels, strict=True):
        for c, n in zip(ls, t.shape, strict=True):
            if size.get(c, 1) not in (1, n) and n != 1:
                raise RuntimeError(f"einsum(): subscript {c} has size {n} for an operand "
                                   f"which does not broadcast with previously seen size {size[c]}")  # fmt: skip
            size[c] = n if size.get(c, 1) == 1 else size[c]
    t, ls = _diagonalize(operands[0], labels[0])
    for i in range(1, len(operands)):
        keep = set(result).union(*labels[i + 1 :])
        t, ls = _contract(t, ls, *_diagonalize(operands[i], labels[i]), keep)
    gone = [k for k, c in enumerate(ls) if c not in result]
    if gone:
        t = t.sum(gone)
        ls = [c for c in ls if c in result]
    missing = [c for c in result if c not in ls]
    for c in missing:
        t, ls = t.unsqueeze(0), [c, *ls]
    return t.permute([ls.index(c) for c in result]) if ls != result else t


def _from_lists(args: tuple) -> tuple[str, list[Tensor]]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def text(labels: Any) -> str:
        return "".join("..." if c is Ellipsis else letters[c] for c in labels)

    operands, terms = list(args[0 : len(args) - len(args) % 2 : 2]), [text(a) for a in args[1::2]]
    equation = ",".join(terms)
    return (equation + "->" + text(args[-1]) if len(args) % 2 else equation), operands


