"""Recurrent layers over whole sequences."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import flambeau as fb
from flambeau import Tensor

from . import functional as F
from . import init
from ._module import Module
from ._rnn_steps import run_layer
from .parameter import Parameter
from .utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What the recurrent layers share.

    Weights of layer k are ``weight_ih_l{k}`` (gates * hidden, in), ``weight_hh_l{k}`` (gates * hidden, hidden or proj),
    ``bias_ih_l{k}``, ``bias_hh_l{k}`` and, with ``proj_size``, ``weight_hr_l{k}`` (proj, hidden); the backward
    direction's have the suffix ``_reverse``.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        flags = {"bias": bias, "batch_first": batch_first}
        _check_settings(mode, input_size, hidden_size, num_layers, flags, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows = _GATES[mode] * hidden_size
        out = proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else out * (2 if bidirectional else 1)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, out)}
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (rows,)
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(fb.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights and biases: U(-k, k), k = 1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list a layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter | None]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Does nothing: the weights need not lie in one piece of memory here."""

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        attributes = self.__dict__
        attributes.setdefault("proj_size", 0)
        for name in ("_flat_weights", "_flat_weights_names", "_flat_weight_refs"):
            attributes.pop(name, None)  # made anew here; a pickle of PyTorch's has them

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            s += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            s += f", num_layers={self.num_layers}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if self.batch_first is not False:
            s += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            s += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            s += f", bidirectional={self.bidirectional}"
        return s

    # -- checks ------------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises ValueError or RuntimeError for an input of the wrong dtype, dimensions or size."""
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not fb.is_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _expected_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of h."""
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raises RuntimeError for a state of another shape."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises for inputs or states that don't fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- forward -----------------------------------------------------------------------------------------------------

    def _states(self, hx: Any) -> tuple:
        """The states as a tuple."""
        return (hx,)

    def _hidden(self, states: tuple) -> Any:
        """The states as the user sees them."""
        return states[0]

    def _state_widths(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size,)

    def _check_dims(self, hx: tuple, batched: bool) -> None:
        expected = 3 if batched else 2
        if any(s.dim() != expected for s in hx):
            name, dims = "hx", f"{hx[0].dim()}-D tensor"
            if len(hx) == 2:
                name, dims = "hx and cx", f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, {name} should also be {expected}-D but got {dims}")

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """``input`` (T, N, in), (N, T, in) if ``batch_first``, (T, in) or packed; ``hx`` is the state to start from.

        Returns the outputs of the last layer, laid out as the input, and the last state of every layer,
        (layers * directions, N, hidden).
        """
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            states = self._first_states(hx, data, batch_sizes, sorted_indices)
            output, states = self._run(data, batch_sizes.tolist(), states)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(self._hidden(states), unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is not None:
            states = self._states(hx)
            self._check_dims(states, batched)
            if not batched:
                hx = self._hidden(tuple(s.unsqueeze(1) for s in states))
        states = self._first_states(hx, input, None, None)
        steps = input.transpose(0, 1) if self.batch_first else input
        if steps.size(0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, states = self._run(steps, None, states)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output, states = output.squeeze(batch_dim), tuple(s.squeeze(1) for s in states)
        return output, self._hidden(states)

    def _first_states(self, hx: Any, input: Tensor, batch_sizes: Tensor | None, sorted_indices: Tensor | None) -> tuple:
        if hx is None:
            self.check_input(input, batch_sizes)
            sizes = [self._expected_size(input, batch_sizes, width) for width in self._state_widths()]
            return tuple(fb.zeros(size, dtype=input.dtype, device=input.device) for size in sizes)
        hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        return self._states(hx)

    def _run(self, x: Tensor, sizes: list[int] | None, states: tuple) -> tuple[Tensor, tuple]:
        """All layers: the last one's outputs and every layer's last state."""
        first = [s.unbind(0) for s in states]
        last: list[tuple] = []
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                k = layer * directions + direction
                state = tuple(s[k] for s in first)
                output, state = run_layer(self.mode, x, sizes, state, self._weights(k), direction == 1)
                outputs.append(output)
                last.append(state)
            x = outputs[0] if directions == 1 else fb.cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout)
        return x, tuple(fb.stack(parts) for parts in zip(*last))

    def _weights(self, k: int) -> tuple:
        """w_ih, w_hh, b_ih, b_hh, w_hr of a layer's direction."""
        weights = [getattr(self, name) for name in self._all_weights[k]]
        w_hr = weights.pop() if self.proj_size else None
        b_ih, b_hh = weights[2:] if self.bias else (None, None)
        return weights[0], weights[1], b_ih, b_hh, w_hr


def _check_settings(
    mode: str, input_size: Any, hidden_size: Any, num_layers: int, flags: dict, dropout: Any, proj_size: int
) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
            f"got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    if num_layers <= 0:
        raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
    if proj_size < 0:
        raise ValueError(f"proj_size should be a positive integer or zero to disable projections, got {proj_size}")
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}")
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")


def _no_projection(kwargs: dict) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu as ``nonlinearity``, over a sequence, in stacked layers.

    Takes the arguments of ``RNNBase`` from ``input_size`` on, with ``nonlinearity`` after ``num_layers``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory over a sequence, in stacked layers; the state is (h, c).

    Gates i, f, g, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). Takes the arguments of
    ``RNNBase`` from ``input_size`` on. ``proj_size`` makes h a projection of that size.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of c."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises for inputs or states that don't fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch in another order."""
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _states(self, hx: Any) -> tuple:
        return hx[0], hx[1]

    def _hidden(self, states: tuple) -> Any:
        return states

    def _state_widths(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size


class GRU(RNNBase):
    """Gated recurrent unit over a sequence, in stacked layers.

    Gates r, z, n: n = tanh(n_x + r n_h), h' = n + z (h - n). Takes the arguments of ``RNNBase`` from ``input_size`` on.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)
