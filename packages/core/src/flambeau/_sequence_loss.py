"""ctc_loss: lengths may be lists or tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ._functions import export, row
from ._tensor_base import Tensor

_by_lists = row("ctc_loss_lists")


def _lengths(name: str, value: Tensor | Sequence[int]) -> list[int]:
    if not isinstance(value, Tensor):
        return list(value)
    if value.is_floating_point() or value.is_complex():
        raise RuntimeError(f"{name} must be integral")
    return value.reshape(-1).tolist()


@export
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of the targets, summed over all alignments (Graves et al. 2006).

    Shapes: ``log_probs`` (time, n, classes) or (time, classes), ``targets`` (n, length) or all in a row, lengths (n).
    ``reduction``: 0 none, 1 the mean of each loss divided by its target's length, 2 the sum. RuntimeError where lengths
    do not fit.
    """
    inputs, outputs = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    return _by_lists(log_probs, targets, inputs, outputs, blank, reduction, zero_infinity)
