"""Layers that find out the size of their input from the first one."""

from __future__ import annotations

from typing import Any

import flambeau as fb
from flambeau import Tensor

from ._batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ._conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ._instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from ._linear import Linear
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Makes a layer's parameters when it is first called, in ``initialize_parameters(*args)``.

    ``cls_to_become`` is the class of the layer afterwards. Put before the layer's class; until then, an optimizer
    can't be given the parameters.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Gives the parameters the shapes of those that are loaded."""
        for table in (self._parameters, self._buffers):
            for name, own in table.items():
                key = prefix + name
                if key in state_dict and own is not None and is_lazy(own) and not is_lazy(state_dict[key]):
                    own.materialize(state_dict[key].shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Makes the parameters, for the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether there is anything left to make."""
        tables = (self._parameters, self._buffers)
        return any(is_lazy(t) for table in tables for t in table.values())

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # What isn't made yet can't be detached.
        for name, parameter in self._parameters.items():
            if parameter is not None:
                keep = keep_vars or is_lazy(parameter)
                destination[prefix + name] = parameter if keep else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                keep = keep_vars or is_lazy(buffer)
                destination[prefix + name] = buffer if keep else buffer.detach()

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        delattr(module, "_initialize_hook")
        delattr(module, "_load_hook")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` that takes ``in_features`` from its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)  # without a bias: made below
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new weights, if they are there yet."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    """What the lazy convolutions share. The layer's own constructor makes it with no channels."""

    _n: int  # spatial dimensions

    def _postpone(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new weights, if they are there yet."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            self.in_channels = self._channels(input)
            if self.in_channels % self.groups != 0:
                raise ValueError(f"in_channels must be divisible by groups, got {self.in_channels} and {self.groups}")
            rows, cols = self.out_channels, self.in_channels
            if self.transposed:
                rows, cols = cols, rows
            self.weight.materialize((rows, cols // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _channels(self, input: Tensor) -> int:
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {input.shape}"
            )
        return input.shape[-n - 1]


class _LazyForwardConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._postpone(out_channels, bias, device, dtype)


class LazyConv1d(_LazyForwardConv, Conv1d):
    """``Conv1d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d
    _n = 1


class LazyConv2d(_LazyForwardConv, Conv2d):
    """``Conv2d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d
    _n = 2


class LazyConv3d(_LazyForwardConv, Conv3d):
    """``Conv3d`` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d
    _n = 3


class _LazyTransposedConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._postpone(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """``ConvTranspose1d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d
    _n = 1


class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """``ConvTranspose2d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d
    _n = 2


class LazyConvTranspose3d(_LazyTransposedConv, ConvTranspose3d):
    """``ConvTranspose3d`` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d
    _n = 3


class _LazyNorm(LazyModuleMixin):
    """What the lazy batch and instance norms share."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # Plain first, so that nothing is made of size 0.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = fb.tensor(0, dtype=fb.long, device=device)

    def reset_parameters(self) -> None:
        """Makes the layer a plain normalization again, if its parameters are there yet."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = self._channels(input)
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()

    def _channels(self, input: Tensor) -> int:
        return input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """``BatchNorm1d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """``BatchNorm2d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """``BatchNorm3d`` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """``InstanceNorm1d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """``InstanceNorm2d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """``InstanceNorm3d`` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
