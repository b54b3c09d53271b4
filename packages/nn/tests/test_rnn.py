"""Recurrent layers: against their cells and formulas, packed against padded."""

import flambeau as fb
import pytest
from flambeau import nn
from flambeau.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)
from hypothesis import given
from hypothesis import strategies as st

KINDS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {})]
lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def close(a, b):
    return fb.allclose(a, b, atol=1e-6)


def sequences(counts, width=3):
    return [fb.arange(n * width).reshape(n, width).float().sin() + i for i, n in enumerate(counts)]


def first(state):
    return state[0] if isinstance(state, tuple) else state


@pytest.mark.parametrize("kind, kwargs", KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_its_cell_over_time(kind, kwargs, bias):
    layer = getattr(nn, kind)(3, 4, bias=bias, **kwargs)
    cell = getattr(nn, kind + "Cell")(3, 4, bias=bias, **kwargs)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = fb.randn(5, 2, 3)
    output, state = layer(x)
    h = None
    for t in range(5):
        h = cell(x[t], h)
        assert close(output[t], first(h))
    for a, b in zip(state if kind == "LSTM" else (state,), h if kind == "LSTM" else (h,)):
        assert close(a[0], b)


def test_the_gates_follow_the_papers():
    x, h, c = fb.randn(2, 3), fb.randn(2, 4), fb.randn(2, 4)
    lstm, gru = nn.LSTMCell(3, 4), nn.GRUCell(3, 4)
    i, f, g, o = (x @ lstm.weight_ih.T + lstm.bias_ih + h @ lstm.weight_hh.T + lstm.bias_hh).chunk(4, 1)
    c1 = f.sigmoid() * c + i.sigmoid() * g.tanh()
    got = lstm(x, (h, c))
    assert close(got[1], c1) and close(got[0], o.sigmoid() * c1.tanh())
    x_r, x_z, x_n = (x @ gru.weight_ih.T + gru.bias_ih).chunk(3, 1)
    h_r, h_z, h_n = (h @ gru.weight_hh.T + gru.bias_hh).chunk(3, 1)
    z = (x_z + h_z).sigmoid()
    assert close(gru(x, h), (1 - z) * (x_n + (x_r + h_r).sigmoid() * h_n).tanh() + z * h)


@pytest.mark.parametrize("kind, kwargs", KINDS)
def test_the_backward_direction_reads_from_the_end(kind, kwargs):
    both = getattr(nn, kind)(3, 4, bidirectional=True, **kwargs)
    back = getattr(nn, kind)(3, 4, **kwargs)
    state = {k.removesuffix("_reverse"): v for k, v in both.state_dict().items() if k.endswith("_reverse")}
    back.load_state_dict(state)
    x = fb.randn(5, 2, 3)
    assert close(both(x)[0][..., 4:], back(x.flip(0))[0].flip(0))


def test_layers_are_stacked_with_dropout_between_them():
    stack = nn.GRU(3, 4, 2, dropout=1.0)
    x = fb.randn(5, 2, 3)
    top = nn.GRU(4, 4)
    top.load_state_dict({k.replace("_l1", "_l0"): v for k, v in stack.state_dict().items() if k.endswith("_l1")})
    assert close(stack(x)[0], top(fb.zeros(5, 2, 4))[0])
    stack.eval()
    bottom = nn.GRU(3, 4)
    bottom.load_state_dict({k: v for k, v in stack.state_dict().items() if k.endswith("_l0")})
    assert close(stack(x)[0], top(bottom(x)[0])[0])


@pytest.mark.parametrize("kind, kwargs", [*KINDS, ("LSTM", {"proj_size": 2})])
@pytest.mark.parametrize("bidirectional", [False, True])
@given(lengths)
def test_a_packed_batch_gives_what_each_sequence_gives_alone(kind, kwargs, bidirectional, counts):
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=bidirectional, **kwargs)
    batch = sequences(counts)
    output, state = layer(pack_sequence(batch, enforce_sorted=False))
    assert isinstance(output, PackedSequence)
    for i, (s, got) in enumerate(zip(batch, unpack_sequence(output))):
        want, last = layer(s)
        assert close(got, want)
        for a, b in zip(state if kind == "LSTM" else (state,), last if kind == "LSTM" else (last,)):
            assert close(a[:, i], b)


def test_gradients_reach_packed_sequences():
    x = fb.randn(4, 2, 3, requires_grad=True)
    layer = nn.LSTM(3, 4)
    layer(pack_padded_sequence(x, [4, 2]))[0].data.sum().backward()
    assert x.grad[:, 0].abs().min() > 0 and x.grad[2:, 1].abs().max() == 0 and layer.weight_hh_l0.grad is not None


@pytest.mark.parametrize("kind, kwargs", KINDS)
def test_batch_first_and_unbatched_inputs_only_differ_in_layout(kind, kwargs):
    layer = getattr(nn, kind)(3, 4, **kwargs)
    turned = getattr(nn, kind)(3, 4, batch_first=True, **kwargs)
    turned.load_state_dict(layer.state_dict())
    x = fb.randn(5, 2, 3)
    output, state = layer(x)
    assert close(turned(x.transpose(0, 1))[0].transpose(0, 1), output)
    alone, last = layer(x[:, 1])
    assert alone.shape == (5, 4) and close(alone, output[:, 1]) and close(first(last), first(state)[:, 1])


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nn.LSTM(2, 3)(fb.ones(2)), ValueError),
        (lambda: nn.LSTM(2, 3)(fb.ones(4, 2, 3)), RuntimeError),
        (lambda: nn.LSTM(2, 3)(fb.ones(0, 2, 2)), RuntimeError),
        (lambda: nn.LSTM(2, 3)(fb.ones(4, 2, 2), (fb.ones(1, 3, 3), fb.ones(1, 2, 3))), RuntimeError),
        (lambda: nn.LSTM(2, 3)(fb.ones(4, 2), (fb.ones(1, 2, 3), fb.ones(1, 3))), RuntimeError),
        (lambda: nn.GRU(2, 3)(fb.ones(4, 2, 2), fb.ones(2, 3)), RuntimeError),
        (lambda: nn.GRU(2, 3)(fb.ones(4, 2, 2).double()), ValueError),
        (lambda: nn.GRU(2, 3, proj_size=2), ValueError),
        (lambda: nn.LSTM(2, 3, proj_size=3), ValueError),
        (lambda: nn.LSTM(2, 3, proj_size=-1), ValueError),
        (lambda: nn.LSTM(2, 3, dropout=2), ValueError),
        (lambda: nn.LSTM(0, 3), ValueError),
        (lambda: nn.LSTM(2, 0), ValueError),
        (lambda: nn.LSTM(2.0, 3), TypeError),
        (lambda: nn.LSTM(2, 3, 0), ValueError),
        (lambda: nn.LSTM(2, 3, bias=1), TypeError),
        (lambda: nn.RNN(2, 3, nonlinearity="cos"), ValueError),
        (lambda: nn.RNNBase("CNN", 2, 3), ValueError),
        (lambda: nn.RNNCell(2, 3, nonlinearity="cos")(fb.ones(1, 2)), RuntimeError),
        (lambda: nn.LSTMCell(2, 3)(fb.ones(2, 3)), RuntimeError),
        (lambda: nn.LSTMCell(2, 3)(fb.ones(1, 2, 2)), ValueError),
        (lambda: nn.LSTMCell(2, 3)(fb.ones(2, 2), fb.ones(2, 3)), TypeError),
        (lambda: nn.GRUCell(2, 3)(fb.ones(2, 2), fb.ones(3, 3)), RuntimeError),
        (lambda: nn.GRUCell(2, 3)(fb.ones(2, 2), fb.ones(2, 4)), RuntimeError),
    ],
)
def test_what_does_not_fit_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_dropout_in_a_single_layer_is_warned_of():
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.LSTM(2, 3, dropout=0.2)


# -- padding and packing -----------------------------------------------------------------------------------------------


@given(lengths, st.booleans(), st.sampled_from(["left", "right"]))
def test_padding_is_undone(counts, batch_first, side):
    batch = sequences(counts)
    padded = pad_sequence(batch, batch_first, -1.0, side)
    assert padded.shape == ((len(counts), max(counts), 3) if batch_first else (max(counts), len(counts), 3))
    if side == "right":
        back = unpad_sequence(padded, fb.tensor(counts), batch_first)
        assert all(fb.equal(a, b) for a, b in zip(back, batch))
    assert (padded == -1).sum() == sum(max(counts) - n for n in counts) * 3


@given(lengths, st.booleans(), st.booleans())
def test_packing_is_undone(counts, batch_first, longer):
    batch = sequences(counts)
    packed = pack_padded_sequence(pad_sequence(batch, batch_first), counts, batch_first, enforce_sorted=False)
    assert packed.data.shape == (sum(counts), 3)
    assert packed.batch_sizes.tolist() == [sum(n > t for n in counts) for t in range(max(counts))]
    total = max(counts) + 2 if longer else None
    padded, back = pad_packed_sequence(packed, batch_first, 9.0, total)
    assert back.tolist() == counts and padded.shape[1 if batch_first else 0] == (total or max(counts))
    rows = padded if batch_first else padded.transpose(0, 1)
    for row, s in zip(rows, batch):
        assert fb.equal(row[: len(s)], s) and (row[len(s) :] == 9).all()


def test_a_packed_sequence_moves_with_its_data():
    packed = pack_sequence(sequences([2, 3]), enforce_sorted=False)
    double = packed.double()
    assert double.data.dtype == fb.float64 and double.batch_sizes.dtype == fb.int64
    assert packed.to(fb.float32) is packed and not packed.is_cuda
    assert fb.equal(packed.sorted_indices[packed.unsorted_indices], fb.arange(2))
    assert invert_permutation(None) is None


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: pack_padded_sequence(fb.ones(3, 2, 1), [2, 3]), RuntimeError),
        (lambda: pack_padded_sequence(fb.ones(3, 2, 1), [3, 0]), RuntimeError),
        (lambda: pack_padded_sequence(fb.ones(3, 2, 1), [4, 2]), RuntimeError),
        (lambda: pack_padded_sequence(fb.ones(3, 2, 1), [3]), RuntimeError),
        (lambda: pack_padded_sequence(fb.ones(3, 2, 1), fb.tensor([[3, 2]])), RuntimeError),
        (lambda: pad_packed_sequence(pack_sequence(sequences([3, 2])), total_length=2), ValueError),
        (lambda: pad_sequence(3), RuntimeError),
        (lambda: pad_sequence([fb.ones(2)], padding_side="top"), RuntimeError),
        (lambda: PackedSequence(fb.ones(3)), AssertionError),
    ],
)
def test_lengths_that_do_not_fit_are_refused(call, error):
    with pytest.raises(error):
        call()
