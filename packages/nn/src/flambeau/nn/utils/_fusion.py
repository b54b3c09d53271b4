"""Folding a batch norm in evaluation into the layer before it.

y = (x - mean) * rstd * weight + bias is affine, so that its scale goes into the layer's weight, the rest into its bias.
"""

from __future__ import annotations

import copy
from typing import Any

import flambeau as fb
from flambeau import Tensor

from ..parameter import Parameter


def _fold(
    w: Tensor, b: Tensor | None, mean: Tensor, var: Tensor, eps: float, gamma: Any, beta: Any, shape: list[int]
) -> tuple[Parameter, Parameter]:
    w_dtype, b_dtype = w.dtype, w.dtype if b is None else b.dtype
    b = fb.zeros_like(mean) if b is None else b
    gamma = fb.ones_like(mean) if gamma is None else gamma
    beta = fb.zeros_like(mean) if beta is None else beta
    scale = gamma * fb.rsqrt(var + eps)
    new_w = (w * scale.reshape(shape)).to(dtype=w_dtype)
    new_b = ((b - mean) * scale + beta).to(dtype=b_dtype)
    return Parameter(new_w, w.requires_grad), Parameter(new_b, b.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution that does what it and the batch norm behind it do.

    ``transpose`` is for transposed convolutions, whose output channels are the weight's second dimension.
    """
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer that does what it and the batch norm behind it do."""
    return _fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _require_eval(*modules: Any) -> None:
    if any(m.training for m in modules):
        raise AssertionError("Fusion only for eval! Both modules must be in evaluation mode")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of ``conv`` with the batch norm ``bn`` folded in; both must be in evaluation mode."""
    _require_eval(conv, bn)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn has no running statistics to fold in")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of ``linear`` with the batch norm ``bn`` folded in; both must be in evaluation mode."""
    _require_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"{linear.out_features} and {bn.num_features}"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn has no running statistics to fold in")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
