"""One step of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any

import flambeau as fb
from flambeau import Tensor

from . import init
from ._module import Module
from ._rnn_steps import MAKERS, project
from .parameter import Parameter


class RNNCellBase(Module):
    """The weights of a cell: ``weight_ih`` (chunks * hidden, in), ``weight_hh`` (chunks * hidden, hidden), biases."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    _mode: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        kind = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(fb.empty((rows, input_size), **kind))
        self.weight_hh = Parameter(fb.empty((rows, hidden_size), **kind))
        if bias:
            self.bias_ih = Parameter(fb.empty(rows, **kind))
            self.bias_hh = Parameter(fb.empty(rows, **kind))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights and biases: U(-k, k), k = 1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s

    def _step(self, mode: str, input: Tensor, hx: tuple | None) -> tuple:
        """The next states, for inputs (N, in) or (in,)."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(hx or ()):
            if state.dim() not in (1, 2):
                which = f"hx[{i}]" if mode == "LSTM" else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zeros = fb.zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device)
            hx = (zeros, zeros) if mode == "LSTM" else (zeros,)
        elif not batched:
            hx = tuple(state.unsqueeze(0) for state in hx)
        self._check(x, hx)
        gates = project(mode, x, self.weight_ih, self.bias_ih, self.bias_hh)
        states = MAKERS[mode](self.weight_hh, self.bias_hh, None)(gates, hx)
        return states if batched else tuple(state.squeeze(0) for state in states)

    def _check(self, x: Tensor, hx: tuple) -> None:
        if x.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.size(1)} expected {self.input_size}")
        for i, state in enumerate(hx):
            if x.size(0) != state.size(0):
                raise RuntimeError(f"Input batch size {x.size(0)} doesn't match hidden{i} batch size {state.size(0)}")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu as ``nonlinearity``. Shapes: (N, in), (N, hidden)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """A step of ``LSTM``. Shapes: (N, in), ((N, hidden), (N, hidden)) -> (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise TypeError(f"LSTMCell: hx must be a tuple (h, c) of tensors, not {type(hx).__name__}")
        return self._step("LSTM", input, None if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """A step of ``GRU``. Shapes: (N, in), (N, hidden) -> (N, hidden)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else (hx,))[0]
