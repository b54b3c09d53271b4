"""Batches of sequences of unequal lengths: padded, or packed step by step."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

PackedSequence_ = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
PackedSequence_.__name__ = PackedSequence_.__qualname__ = "PackedSequence_"


class PackedSequence(PackedSequence_):
    """Sequences of a batch, longest first, laid out step by step without padding.

    ``data`` (total steps, ...) holds the first element of every sequence, then the second of those that have one, ...;
    ``batch_sizes`` says how many there are at each step. ``sorted_indices`` is the permutation that sorted the batch,
    ``unsorted_indices`` the one that undoes it. Made by ``pack_padded_sequence`` and ``pack_sequence``.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, got {batch_sizes.device}. Instances of PackedSequence should be "
                "made by pack_sequence and pack_padded_sequence in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor) -> PackedSequence:
        def follow(indices: Tensor | None) -> Tensor | None:
            return None if indices is None else indices.to(data.device)

        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, follow(self.sorted_indices), follow(self.unsorted_indices))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` moved as by ``Tensor.to``; the sizes stay on the CPU."""
        return self._with(self.data.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` and the indices on a GPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` and the indices on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """``data`` in memory that can be copied to a GPU while other work goes on."""
        return self._with(self.data.pin_memory())

    def double(self) -> PackedSequence:
        """``data`` as float64."""
        return self.to(dtype=fb.double)

    def float(self) -> PackedSequence:
        """``data`` as float32."""
        return self.to(dtype=fb.float)

    def half(self) -> PackedSequence:
        """``data`` as float16."""
        return self.to(dtype=fb.half)

    def long(self) -> PackedSequence:
        """``data`` as int64."""
        return self.to(dtype=fb.long)

    def int(self) -> PackedSequence:
        """``data`` as int32."""
        return self.to(dtype=fb.int)

    def short(self) -> PackedSequence:
        """``data`` as int16."""
        return self.to(dtype=fb.short)

    def char(self) -> PackedSequence:
        """``data`` as int8."""
        return self.to(dtype=fb.int8)

    def byte(self) -> PackedSequence:
        """``data`` as uint8."""
        return self.to(dtype=fb.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether ``data`` is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``; None for None."""
    if permutation is None:
        return None
    places = fb.arange(0, permutation.numel(), device=permutation.device)
    return fb.empty_like(permutation, memory_format=fb.contiguous_format).scatter_(0, permutation, places)


def _runs(batch_sizes: list[int]) -> list[tuple[int, int, int]]:
    """Stretches of steps (start, stop) with the same batch size, and that size."""
    runs = []
    start = 0
    for stop in range(1, len(batch_sizes) + 1):
        if stop == len(batch_sizes) or batch_sizes[stop] != batch_sizes[start]:
            runs.append((start, stop, batch_sizes[start]))
            start = stop
    return runs


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs ``input`` (T, N, ...), or (N, T, ...) if ``batch_first``, leaving out what is beyond each of ``lengths``.

    With ``enforce_sorted`` the lengths must not increase. Raises RuntimeError for lengths that don't fit.
    """
    if not isinstance(lengths, Tensor):
        lengths = fb.as_tensor(lengths, dtype=fb.int64, device="cpu")
    if lengths.dim() != 1 or lengths.dtype != fb.int64 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} "
            f"{lengths.dtype} tensor"
        )
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = fb.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    counts = lengths.tolist()
    steps, batch = input.shape[:2]
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={batch})"
        )
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts[0] > steps:
        raise RuntimeError(f"lengths has an element {counts[0]}, more than the input's {steps} steps")
    sizes = []
    alive = batch
    for t in range(counts[0]):
        while counts[alive - 1] <= t:
            alive -= 1
        sizes.append(alive)
    pieces = [input[start:stop, :b].reshape(-1, *input.shape[2:]) for start, stop, b in _runs(sizes)]
    return PackedSequence(fb.cat(pieces), fb.tensor(sizes, dtype=fb.int64), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, N, ...), or (N, T, ...) if ``batch_first``, and the lengths: undoes
    ``pack_padded_sequence``.

    ``total_length`` is T; ValueError where that is less than the longest sequence.
    """
    sizes = sequence.batch_sizes.tolist()
    data, steps, batch = sequence.data, len(sizes), sizes[0]
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    rest = data.shape[1:]
    pieces = []
    offset = 0
    for start, stop, b in _runs(sizes):
        n = stop - start
        piece = data[offset : offset + n * b].reshape(n, b, *rest)
        offset += n * b
        if b < batch:
            piece = fb.cat([piece, data.new_full((n, batch - b, *rest), padding_value)], 1)
        pieces.append(piece)
    if total_length is not None and total_length > steps:
        pieces.append(data.new_full((total_length - steps, batch, *rest), padding_value))
    padded = fb.cat(pieces)
    lengths = [0] * batch
    for t, b in enumerate(sizes):
        lengths[:b] = [t + 1] * b
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = fb.tensor(lengths, dtype=fb.int64)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stacks tensors (L, ...) of unequal L to (T, N, ...), or (N, T, ...) if ``batch_first``."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        missing = longest - s.size(0)
        edges = (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(_nn.pad(s, [0] * (2 * (s.dim() - 1)) + list(edges), "constant", padding_value))
    return fb.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The tensors that ``pad_sequence`` stacked."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[:n] for s, n in zip(padded_sequences, lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L, ...) of unequal L; with ``enforce_sorted`` the longest must be first."""
    lengths = fb.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that ``pack_sequence`` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
