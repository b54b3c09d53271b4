"""Resampling and rearranging images."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import flambeau as fb
from flambeau import Tensor, _nn

from ._pool import _tuple

channel_shuffle = fb.channel_shuffle
native_channel_shuffle = fb.native_channel_shuffle
pixel_shuffle = fb.pixel_shuffle
pixel_unshuffle = fb.pixel_unshuffle

# (mode, spatial dimensions) -> operator. Those of the second table take align_corners.
_NEAREST = {
    ("nearest", 1): _nn.upsample_nearest1d,
    ("nearest", 2): _nn.upsample_nearest2d,
    ("nearest", 3): _nn.upsample_nearest3d,
    ("nearest-exact", 1): _nn._upsample_nearest_exact1d,
    ("nearest-exact", 2): _nn._upsample_nearest_exact2d,
    ("nearest-exact", 3): _nn._upsample_nearest_exact3d,
}
_SMOOTH = {
    ("linear", 1): _nn.upsample_linear1d,
    ("bilinear", 2): _nn.upsample_bilinear2d,
    ("bicubic", 2): _nn.upsample_bicubic2d,
    ("trilinear", 3): _nn.upsample_trilinear3d,
}
_NEED_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resamples the spatial dimensions to ``size``, or by ``scale_factor``.

    ``mode``: nearest, nearest-exact, area, linear (N, C, L), bilinear and bicubic (N, C, H, W), trilinear
    (N, C, D, H, W). ``align_corners`` keeps the corner pixels' values; ``antialias`` widens the filter when shrinking.
    """
    smooth = mode not in ("nearest", "area", "nearest-exact")
    if not smooth:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif align_corners is None:
        align_corners = False
    spatial = input.dim() - 2
    size, scales = _size_and_scales(input, spatial, size, scale_factor, mode)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute_scale_factor or mode == "area"):
        # The scale that is used is the one between the two sizes.
        size, scales = [int(d * s) for d, s in zip(input.shape[2:], scales)], None
    if antialias:
        if mode not in ("bilinear", "bicubic", "lanczos") or input.dim() != 4:
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a "
                f"4-D tensor as input, got mode={mode!r} and {input.dim()} dimensions"
            )
        return getattr(_nn, f"_upsample_{mode}2d_aa")(input, size, align_corners, scales)
    op = _NEAREST.get((mode, spatial))
    if op is not None:
        return op(input, size, scales)
    op = _SMOOTH.get((mode, spatial))
    if op is not None:
        return op(input, size, align_corners, scales)
    if mode == "area" and spatial in (1, 2, 3):
        from . import _pool

        return getattr(_pool, f"adaptive_avg_pool{spatial}d")(input, size)
    if spatial in (1, 2, 3) and mode in _NEED_DIMS:
        raise NotImplementedError(f"Got {spatial + 2}D input, but {mode} mode needs {_NEED_DIMS[mode]}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported "
        f"(got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
        f"(got {mode})"
    )


def _size_and_scales(input: Tensor, spatial: int, size: Any, scale_factor: Any, mode: str) -> tuple:
    """Both as lists with a value a spatial dimension, or None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    name = "output" if scale_factor is None else "scale_factor"
    value = size if scale_factor is None else scale_factor
    if isinstance(value, (list, tuple)):
        if len(value) != spatial:
            raise ValueError(
                f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(input.shape[2:])} and {name} of {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format and output size in (o1, o2, ...,oK) format."
            )
        value = list(value)
    else:
        value = [value] * spatial
    return (value, None) if scale_factor is None else (None, value)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of ``interpolate``."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of ``interpolate`` with mode nearest."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of ``interpolate`` with mode bilinear and aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_GRID_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_GRID_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Samples ``input`` (N, C, H, W) at ``grid`` (N, H', W', 2), whose x and y run from -1 to 1; likewise in 3-D."""
    if mode not in _GRID_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _GRID_PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
        align_corners = False
    return fb.grid_sampler(input, grid, _GRID_MODES[mode], _GRID_PADDINGS[padding_mode], align_corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for ``grid_sample`` that an affine map makes of the output's pixels.

    Shapes: ``theta`` (N, 2, 3) and ``size`` (N, C, H, W) -> (N, H, W, 2); (N, 3, 4) and (N, C, D, H, W) in 3-D.
    """
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    expected = (2, 3) if len(size) == 4 else (3, 4)
    if theta.dim() != 3 or tuple(theta.shape[1:]) != expected:
        raise ValueError(
            f"Expected a batch of {expected[0]}D affine matrices of shape Nx{expected[0]}x{expected[1]} "
            f"for size {size}. Got {theta.shape}."
        )
    spatial = size[2:]
    if align_corners and min(spatial) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. See "
            "the documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return fb.affine_grid_generator(theta, size, align_corners)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of an image as columns. Shapes: (N, C, H, W) -> (N, C * kernel elements, windows)."""
    return _nn.im2col(input, *[_tuple(v, 2) for v in (kernel_size, dilation, padding, stride)])


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Adds the columns of ``unfold`` back to an image of ``output_size``."""
    return _nn.col2im(input, *[_tuple(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)])
