"""Dropout and its variants."""

from __future__ import annotations

import warnings

import flambeau as fb
from flambeau import Tensor

_dropout, _dropout_ = fb.dropout, fb.dropout_


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes each element with probability ``p`` and divides the others by 1 - p; the identity unless ``training``."""
    if p < 0.0 or p > 1.0:
        _check(p)
    return _dropout_(input, p, training) if inplace else _dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1 under ``selu`` (Klambauer et al. 2017)."""
    _check(p)
    return (fb.alpha_dropout_ if inplace else fb.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    _check(p)
    return (fb.feature_alpha_dropout_ if inplace else fb.feature_alpha_dropout)(input, p, training)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool, unbatched: bool) -> Tensor:
    """Drops whole channels, dimension 1; where ``unbatched``, dimension 0."""
    if unbatched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = (fb.feature_dropout_ if inplace else fb.feature_dropout)(input, p, training)
    if unbatched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels. Shape: (N, C, L) or (C, L); RuntimeError for another."""
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
            "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _feature_dropout(input, p, training, inplace, input.dim() == 2)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels. Shape: (N, C, H, W); a 3-dimensional input is taken for (N, C, L), with a warning."""
    _check(p)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    elif input.dim() != 4:
        _warn_dim("dropout2d", input.dim(), 2)
    return _feature_dropout(input, p, training, inplace, False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels. Shape: (N, C, D, H, W) or (C, D, H, W); others with a warning."""
    _check(p)
    if input.dim() not in (4, 5):
        _warn_dim("dropout3d", input.dim(), 3)
    return _feature_dropout(input, p, training, inplace, input.dim() != 5)


def _warn_dim(name: str, ndim: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )
