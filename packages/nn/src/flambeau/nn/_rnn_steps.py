"""The recurrences: Elman, LSTM (Hochreiter and Schmidhuber 1997) and GRU (Cho et al. 2014).

A layer multiplies all inputs by its weight at once; what is left a step is the product with the hidden state and
pointwise work. States are tuples: (h,), for LSTM (h, c).
"""

from __future__ import annotations

from collections.abc import Callable

import flambeau as fb
from flambeau import Tensor, _nn

_linear = _nn.linear


def _elman(nonlinearity: Callable[[Tensor], Tensor]) -> Callable:
    def make(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Callable:
        w = w_hh.t()

        def step(x: Tensor, state: tuple) -> tuple:
            h = nonlinearity(fb.addmm(x, state[0], w))
            return (h,)

        return step

    return make


def _lstm(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Callable:
    w = w_hh.t()

    def step(x: Tensor, state: tuple) -> tuple:
        h, c = state
        i, f, g, o = fb.addmm(x, h, w).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h if w_hr is None else _linear(h, w_hr)), c

    return step


def _gru(w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None) -> Callable:
    def step(x: Tensor, state: tuple) -> tuple:
        (h,) = state
        x_r, x_z, x_n = x.chunk(3, 1)
        h_r, h_z, h_n = _linear(h, w_hh, b_hh).chunk(3, 1)
        r = (x_r + h_r).sigmoid()
        z = (x_z + h_z).sigmoid()
        n = (x_n + r * h_n).tanh()
        return (n + z * (h - n),)

    return step


MAKERS = {"RNN_TANH": _elman(fb.tanh), "RNN_RELU": _elman(fb.relu), "LSTM": _lstm, "GRU": _gru}


def project(mode: str, x: Tensor, w_ih: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor:
    """The inputs' part of all gates. The hidden bias joins it, but in GRU, where it is inside a product."""
    if b_ih is not None and mode != "GRU":
        b_ih = b_ih + b_hh
    return _linear(x, w_ih, b_ih)


def run_layer(
    mode: str, x: Tensor, sizes: list[int] | None, state: tuple, weights: tuple, reverse: bool
) -> tuple[Tensor, tuple]:
    """One direction of a layer: its outputs and last state.

    ``x`` is (T, N, in), or packed (steps, in) with the batch ``sizes``; ``state`` (N, ...) each; ``weights`` are
    w_ih, w_hh, b_ih, b_hh, w_hr, of which the last three may be None.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    step = MAKERS[mode](w_hh, b_hh, w_hr)
    gates = project(mode, x, w_ih, b_ih, b_hh)
    if sizes is None:
        steps = gates.unbind(0)
        outputs = []
        for g in reversed(steps) if reverse else steps:
            state = step(g, state)
            outputs.append(state[0])
        if reverse:
            outputs.reverse()
        return fb.stack(outputs), state
    steps = gates.split(sizes)
    outputs, state = (_packed_backward if reverse else _packed_forward)(step, steps, sizes, state)
    return fb.cat(outputs), state


def _packed_forward(step: Callable, steps: tuple, sizes: list[int], state: tuple) -> tuple[list, tuple]:
    """Sequences end one after another, shortest first: their states are put aside."""
    outputs, ended = [], []
    size = sizes[0]
    for g, b in zip(steps, sizes):
        if b < size:
            ended.append(tuple(s[b:] for s in state))
            state = tuple(s[:b] for s in state)
            size = b
        state = step(g, state)
        outputs.append(state[0])
    ended.append(state)
    ended.reverse()
    return outputs, tuple(fb.cat(parts) for parts in zip(*ended))


def _packed_backward(step: Callable, steps: tuple, sizes: list[int], initial: tuple) -> tuple[list, tuple]:
    """From the last step back: sequences join in, longest first, with their first states."""
    outputs = []
    size = sizes[-1]
    state = tuple(s[:size] for s in initial)
    for g, b in zip(reversed(steps), reversed(sizes)):
        if b > size:
            state = tuple(fb.cat([s, first[size:b]]) for s, first in zip(state, initial))
            size = b
        state = step(g, state)
        outputs.append(state[0])
    outputs.reverse()
    return outputs, state
