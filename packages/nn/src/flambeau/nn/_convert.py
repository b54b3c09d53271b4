"""Moving a module to another dtype, device or memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fb
from flambeau import Tensor

from .parameter import Parameter


class ConvertMixin:
    """The conversion methods of ``Module``. All work in place and return the module."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> ConvertMixin:
        """Replaces every parameter, its gradient and every buffer by what ``fn`` makes of it.

        The parameters stay the same objects where they can, so that an optimizer's references stay good.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            grad = parameter.grad
            with fb.no_grad():
                new = fn(parameter)
            if _may_take(parameter, new):
                parameter.data = new
            else:
                parameter = self._parameters[name] = Parameter(new, parameter.requires_grad)
            if grad is not None:
                with fb.no_grad():
                    new_grad = fn(grad)
                if _may_take(grad, new_grad):
                    grad.data = new_grad
                    if parameter.grad is not grad:
                        parameter.grad = grad
                else:
                    parameter.grad = new_grad.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> ConvertMixin:
        """Moves the parameters and buffers: ``to(device, dtype, non_blocking)``, ``to(dtype)``, ``to(tensor)``, or
        ``to(memory_format=...)`` for those of 4 and 5 dimensions.

        Only floating point and complex tensors change their dtype. Raises TypeError for another kind of ``dtype``.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            goal = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, goal or t.dtype, non_blocking, memory_format=memory_format)
            return t.to(device, goal or t.dtype, non_blocking)

        return self._apply(convert)

    def type(self, dst_type: Any) -> ConvertMixin:
        """Casts all parameters and buffers, integer ones too."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> ConvertMixin:
        """Casts the floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> ConvertMixin:
        """Casts the floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> ConvertMixin:
        """Casts the floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> ConvertMixin:
        """Casts the floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> ConvertMixin:
        """Moves all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> ConvertMixin:
        """Moves all parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> ConvertMixin:
        """Moves to ``device`` without copying: all values are uninitialized afterwards."""
        return self._apply(lambda t: fb.empty_like(t, device=device), recurse=recurse)

    def share_memory(self) -> ConvertMixin:
        """Moves all parameters and buffers into memory that other processes can share."""
        return self._apply(lambda t: t.share_memory_())


def _may_take(old: Tensor, new: Tensor) -> bool:
    """Whether ``old.data = new`` is possible: they must be of one kind."""
    return old.device.type == new.device.type and old.layout == new.layout


def _parse_to(*args: Any, **kwargs: Any) -> tuple:
    """``(device, dtype, non_blocking, memory_format)`` from the arguments of ``to``."""
    memory_format = kwargs.pop("memory_format", None)
    kwargs.pop("copy", None)
    device = dtype = None
    non_blocking = False
    if args and isinstance(args[0], Tensor):
        device, dtype, names = args[0].device, args[0].dtype, ("non_blocking",)
        args = args[1:]
    elif "tensor" in kwargs or "other" in kwargs:
        other = kwargs.pop("tensor", None)
        other = kwargs.pop("other") if other is None else other
        device, dtype, names = other.device, other.dtype, ("non_blocking",)
    elif args and isinstance(args[0], fb.dtype):
        names = ("dtype", "non_blocking")
    else:
        names = ("device", "dtype", "non_blocking")
    if len(args) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments here, got {len(args)}")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in given or name not in ("device", "dtype", "non_blocking"):
            raise TypeError(f"to() got an unexpected keyword argument {name!r}")
        given[name] = value
    device = given.get("device", device)
    dtype = given.get("dtype", dtype)
    non_blocking = given.get("non_blocking", non_blocking)
    if device is not None and not isinstance(device, fb.device):
        device = fb.device(device)
    if dtype is not None and not isinstance(dtype, fb.dtype):
        raise TypeError(f"to(): dtype={dtype!r} is not a dtype")
    return device, dtype, non_blocking, memory_format
