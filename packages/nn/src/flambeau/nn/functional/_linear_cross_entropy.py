"""The cross entropy of a linear map's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import Tensor, _nn

from .._reduction import get_enum

if TYPE_CHECKING:
    from .._linear_cross_entropy import LinearCrossEntropyOptions


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``.

    Shapes: ``input`` (N, in) or (in,), ``linear_weight`` (C, in) or, for a loss with further dimensions, (C, d1, ...,
    in); ``target`` as for ``cross_entropy`` of (N, C, d1, ...). ``ignore_index=None`` is -100. ``options`` are hints on
    how to save memory: whatever they say, the logits are made in one piece here.
    """
    *outputs, in_features = linear_weight.shape
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if input.shape[-1] != in_features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {in_features}, respectively"
        )
    flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _nn.linear(input, linear_weight.reshape(-1, in_features), flat_bias)
    if len(outputs) > 1:
        if input.dim() != 2:
            raise RuntimeError(
                f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
                f"input, (N, {in_features}), got unbatched input with shape {tuple(input.shape)}"
            )
        logits = logits.view(input.shape[0], *outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return _nn.cross_entropy_loss(logits, target, weight, get_enum(reduction), ignored, label_smoothing)
