"""Shapes, layouts and memory formats: the small value types of PyTorch's API."""

from __future__ import annotations

from typing import Any

from ._types import Size


def _size_text(self: Any) -> str:
    return f"torch.Size([{', '.join(map(str, self))}])"


Size.__repr__ = _size_text
Size.__mul__ = Size.__rmul__ = lambda self, n: Size(tuple.__mul__(self, n))
Size.__reduce__ = lambda self: (Size, (tuple(self),))


class _Named:
    """A constant that prints as ``torch.<name>``; there is one object for each, also after pickling."""

    __slots__ = ("name", "num")

    def __init__(self, name: str, num: int) -> None:
        self.name = name
        self.num = num

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name


class layout(_Named):  # noqa: N801 - PyTorch's name
    """How a tensor's elements are stored; ``strided`` is the only layout of the core."""

    __slots__ = ()


class memory_format(_Named):  # noqa: N801 - PyTorch's name
    """In which order of dimensions a dense tensor lies in memory."""

    __slots__ = ()


_package = __name__.rpartition(".")[0]
Size.__module__ = layout.__module__ = memory_format.__module__ = _package

strided = layout("strided", 0)
sparse_coo = layout("sparse_coo", 1)
sparse_csr = layout("sparse_csr", 2)
sparse_csc = layout("sparse_csc", 3)
sparse_bsr = layout("sparse_bsr", 4)
sparse_bsc = layout("sparse_bsc", 5)

contiguous_format = memory_format("contiguous_format", 0)
preserve_format = memory_format("preserve_format", 1)
channels_last = memory_format("channels_last", 2)
channels_last_3d = memory_format("channels_last_3d", 3)


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense (N, C, ...) tensor whose channels vary fastest."""
    strides = [0] * len(sizes)
    step = 1
    for i in (1, *range(len(sizes) - 1, 1, -1), 0):
        strides[i] = step
        step *= max(sizes[i], 1)
    return tuple(strides)
