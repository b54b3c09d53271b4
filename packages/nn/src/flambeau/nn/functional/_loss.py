"""Losses.

All reduce as ``reduction`` says: "none" keeps a value an element, "mean" and "sum" give one. ``size_average`` and
``reduce`` are the older spelling of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

from .._reduction import get_enum, legacy_get_enum, legacy_get_string

_cross_entropy_loss, _nll_loss_nd = _nn.cross_entropy_loss, _nn.nll_loss_nd


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not valid")


def _legacy(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def _enum(size_average: bool | None, reduce: bool | None, reduction: str) -> int:
    if size_average is None and reduce is None:
        return get_enum(reduction)
    return legacy_get_enum(size_average, reduce)


def _same_size(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both broadcast against each other, with a warning where that changes anything."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    return fb.broadcast_tensors(input, target)


def _weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError(
            f"Weights and input must have the same size, got {tuple(weight.shape)} and {tuple(input.shape)}"
        )
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


# -- regression ------------------------------------------------------------------------------------------------------


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)**2; with ``weight``, the mean is over the weights."""
    reduction = _legacy(size_average, reduce, reduction)
    a, b = _same_size(input, target)
    if weight is not None:
        return _weighted((a - b) ** 2, weight, input, reduction)
    return _nn.mse_loss(a, b, get_enum(reduction))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|; with ``weight``, the mean is over the weights."""
    reduction = _legacy(size_average, reduce, reduction)
    a, b = _same_size(input, target)
    if weight is not None:
        return _weighted((a - b).abs(), weight, input, reduction)
    return _nn.l1_loss(a, b, get_enum(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d**2 / (2 beta) where the distance d is below ``beta``, d - beta / 2 elsewhere."""
    reduction = _legacy(size_average, reduce, reduction)
    a, b = _same_size(input, target)
    if beta == 0.0:
        return _nn.l1_loss(a, b, get_enum(reduction))
    return _nn.smooth_l1_loss(a, b, get_enum(reduction), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d**2 / 2 where the distance d is below ``delta``, delta * (d - delta / 2) elsewhere."""
    a, b = _same_size(input, target)
    if weight is not None:
        return _weighted(_nn.huber_loss(a, b, get_enum("none"), delta), weight, input, reduction)
    return _nn.huber_loss(a, b, get_enum(reduction), delta)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of counts under Poisson rates: ``input`` or, with ``log_input``, exp(input).

    ``full`` adds Stirling's approximation of log(target!).
    """
    reduction = _legacy(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return fb.poisson_nll_loss(input, target, log_input, full, eps, get_enum(reduction))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of ``target`` under normal distributions with means ``input`` and variances ``var``.

    Variances below ``eps`` count as ``eps``. ``full`` adds the constant log(2 pi) / 2.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: {var}")
        var = var * fb.ones_like(input)
    elif fb.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)  # one variance for all of a sample
        elif not _broadcasts_from_one(var, input):
            raise ValueError(f"var is of incorrect size: {tuple(var.shape)} for an input of {tuple(input.shape)}")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with fb.no_grad():  # in place: the gradient passes where the bound was put in, too
        var.clamp_(min=eps)
    loss = 0.5 * (fb.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def _broadcasts_from_one(var: Tensor, input: Tensor) -> bool:
    """Whether ``var`` has ``input``'s shape but for one dimension, of size 1."""
    if var.dim() != input.dim():
        return False
    other = [v for v, d in zip(var.shape, input.shape) if v != d]
    return other == [1]


# -- classification --------------------------------------------------------------------------------------------------


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log softmax of ``input`` (N, C, ...) at ``target``: class indices (N, ...), or probabilities of
    ``input``'s shape. The mean is over the weights of the classes, leaving out ``ignore_index``."""
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _cross_entropy_loss(input, target, weight, get_enum(reduction), ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus ``input`` (log probabilities, (N, C, ...)) at the class indices ``target`` (N, ...)."""
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _nll_loss_nd(input, target, weight, get_enum(reduction), ignore_index)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), logarithms being cut at -100."""
    number = _enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(fb.broadcast_shapes(target.shape, weight.shape))
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of sigmoid(input), computed without overflow; ``pos_weight`` multiplies the positive
    part."""
    number = _enum(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return fb.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input): ``input`` holds log probabilities, and so does ``target`` if ``log_target``.

    "batchmean" divides the sum by the batch size, which is the divergence's definition; "mean" by all elements.
    """
    reduction = _legacy(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    number = get_enum("sum" if reduction == "batchmean" else reduction)
    loss = fb.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss


# -- margins ---------------------------------------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where target is 1, max(0, margin - input) where it is -1."""
    return fb.hinge_embedding_loss(input, target, margin, _enum(size_average, reduce, reduction))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge between each label and each other class; ``target`` lists the labels, ended by -1."""
    return _nn.multilabel_margin_loss(input, target, _enum(size_average, reduce, reduction))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)), target being 1 or -1."""
    return _nn.soft_margin_loss(input, target, _enum(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of sigmoid(input) (N, C), averaged over the classes."""
    reduction = _legacy(size_average, reduce, reduction)
    loss = -(target * _nn.log_sigmoid(input) + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(dim=-1) / input.size(-1), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    return fb.cosine_embedding_loss(input1, input2, target, margin, _enum(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    number = _enum(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return fb.margin_ranking_loss(input1, input2, target, margin, number)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of max(0, margin - input[target] + input)**p."""
    number = _enum(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"weight must be one-dimensional, got {weight.dim()} dimensions")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d being the p-norm distance.

    ``swap`` takes the negative's distance to the positive where that is less (Balntas et al. 2016).
    """
    number = _enum(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return fb.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with a distance of the caller's, by default ``pairwise_distance``."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dims)) > 1:
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = fb.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = fb.minimum(far, distance(positive, negative))
    return _reduced(fb.clamp_min(margin + near - far, 0), reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of the target sequences, summed over all alignments (Graves et al. 2006).

    Shapes: ``log_probs`` (T, N, C), ``targets`` (N, S) or all in a row; the mean divides by the targets' lengths.
    """
    return fb.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)
