"""Views: they share memory, and have the values and strides of NumPy's."""


import flambeau as fb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from .cases import same

BASE = np.arange(24.0).reshape(2, 3, 4)
# (of a tensor, of an array): each a view in both
VIEWS = {
    "transpose": (lambda t: t.transpose(0, 2), lambda a: a.swapaxes(0, 2)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "mT": (lambda t: t.mT, lambda a: a.swapaxes(1, 2)),
    "movedim": (lambda t: t.movedim(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "view": (lambda t: t.view(6, 4), lambda a: a.reshape(6, 4)),
    "view -1": (lambda t: t.view(4, -1), lambda a: a.reshape(4, -1)),
    "reshape": (lambda t: t.reshape(3, 2, 2, 2), lambda a: a.reshape(3, 2, 2, 2)),
    "flatten": (lambda t: t.flatten(1), lambda a: a.reshape(2, 12)),
    "unflatten": (lambda t: t.unflatten(2, (2, 2)), lambda a: a.reshape(2, 3, 2, 2)),
    "unsqueeze": (lambda t: t.unsqueeze(1), lambda a: a[:, None]),
    "squeeze": (lambda t: t.unsqueeze(0).squeeze(0), lambda a: a),
    "narrow": (lambda t: t.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    "select": (lambda t: t.select(1, -1), lambda a: a[:, -1]),
    "slice": (lambda t: t[:, ::2, 1:], lambda a: a[:, ::2, 1:]),
    "diagonal": (lambda t: t.diagonal(1, 1, 2), lambda a: a.diagonal(1, 1, 2)),
    "split": (lambda t: t.split(3, 2)[0], lambda a: a[:, :, :3]),
    "chunk": (lambda t: t.chunk(2, 1)[1], lambda a: a[:, 2:]),
    "unbind": (lambda t: t.unbind(1)[1], lambda a: a[:, 1]),
    "unfold": (lambda t: t.unfold(2, 2, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 2)),
    "expand": (lambda t: t[:, :1].expand(2, 5, 4), lambda a: np.broadcast_to(a[:, :1], (2, 5, 4))),
    "detach": (lambda t: t.detach(), lambda a: a),
    "alias": (lambda t: t.data, lambda a: a),
    "as_strided": (lambda t: t.as_strided((2, 2), (1, 5), 3), lambda a: np.lib.stride_tricks.as_strided(a.ravel()[3:], (2, 2), (8, 40))),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_numpys_values_and_strides_and_shares_memory(name):
    of_tensor, of_array = VIEWS[name]
    a = BASE.copy()
    t = fb.from_numpy(a)
    v, w = of_tensor(t), of_array(a)
    same(v, w)
    assert tuple(s * 8 for n, s in zip(v.shape, v.stride()) if n > 1) == tuple(s for n, s in zip(w.shape, w.strides) if n > 1)
    a += 100
    same(v, w)
    if name != "expand":
        v.zero_()
        assert (a == 0).sum() == np.unique(of_array(np.arange(24).reshape(2, 3, 4))).size


@given(hnp.array_shapes(min_dims=1, max_dims=5, max_side=3, min_side=0), st.data())
def test_reshape_is_a_view_where_numpy_can_make_one(shape, data):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    order = data.draw(st.permutations(range(a.ndim)))
    target = data.draw(st.permutations(shape))
    x, y = fb.from_numpy(a).permute(order), a.transpose(order)
    same(x.reshape(target), y.reshape(target))
    if a.size:
        shares = np.shares_memory(y, y.reshape(target))
        assert (x.reshape(target).data_ptr() == x.data_ptr()) == shares
        if shares:
            same(x.view(target), y.reshape(target))
        else:
            with pytest.raises(RuntimeError, match="view size is not compatible"):
                x.view(target)


def test_a_view_as_another_dtype_reads_the_same_bytes():
    a = np.arange(8, dtype="float32").reshape(2, 4)
    t = fb.from_numpy(a)
    for dtype in ("int32", "uint8", "int16", "float64", "complex64"):
        same(t.view(getattr(fb, dtype)), a.view(dtype))
    with pytest.raises(RuntimeError, match="must be divisible by 2"):
        t[:, 1:].view(fb.float64)
    with pytest.raises(RuntimeError, match="stride"):
        t.t().view(fb.float64)


def test_real_and_complex_views():
    z = fb.tensor([1 + 2j, 3 - 4j])
    z.real[0] = 5
    z.imag[1] = 7
    assert z.tolist() == [5 + 2j, 3 + 7j] and fb.view_as_real(z).tolist() == [[5, 2], [3, 7]]
    assert fb.view_as_complex(fb.tensor([[1.0, 2.0]])).tolist() == [1 + 2j]


def test_the_base_of_a_view_is_the_first_tensor():
    t = fb.zeros(4, 4)
    assert t._base is None and t[1]._base is not None
    assert t[1][2:]._base.data_ptr() == t.data_ptr() and t[1][2:]._base.shape == (4, 4)


def test_writes_through_any_view_count():
    t = fb.zeros(4)
    v, d, data = t[1:], t.detach(), t.data
    v.add_(1)
    d.add_(1)
    assert t._version == v._version == 2
    data.add_(1)
    assert t._version == 2


@pytest.mark.parametrize(
    "call,error",
    [
        (lambda t: t.view(5, 5), RuntimeError), (lambda t: t.view(-1, -1), RuntimeError), (lambda t: t.view(-2, 12), RuntimeError),
        (lambda t: t.reshape(7, -1), RuntimeError), (lambda t: t.expand(2, 3, 5), RuntimeError), (lambda t: t.expand(4), RuntimeError),
        (lambda t: t.permute(0, 1), RuntimeError), (lambda t: t.permute(0, 1, 1), RuntimeError), (lambda t: t.transpose(0, 3), IndexError),
        (lambda t: t.narrow(0, 1, 2), RuntimeError), (lambda t: t.narrow(0, 0, -1), RuntimeError), (lambda t: t.select(0, 2), IndexError),
        (lambda t: t.unsqueeze(5), IndexError), (lambda t: t.squeeze(3), IndexError), (lambda t: t.diagonal(0, 1, 1), RuntimeError),
        (lambda t: t.split(-1), RuntimeError), (lambda t: t.split([1, 2]), RuntimeError), (lambda t: t.chunk(0), RuntimeError),
        (lambda t: t.unfold(2, 5, 1), RuntimeError), (lambda t: t.unfold(2, 2, 0), RuntimeError), (lambda t: t.as_strided((30,), (1,)), RuntimeError),
        (lambda t: t.as_strided((2,), (-1,)), RuntimeError), (lambda t: t.as_strided((2,), (1,), -1), RuntimeError),
        (lambda t: t.as_strided((2**62, 2**62), (1, 1)), RuntimeError), (lambda t: t.as_strided((2,), (2**62,)), RuntimeError),
        (lambda t: t.unflatten(2, (3, 2)), RuntimeError), (lambda t: t.view(2**40, 2**40), RuntimeError),
    ],
)  # fmt: skip
def test_views_that_cannot_be_are_refused(call, error):
    with pytest.raises(error):
        call(fb.zeros(2, 3, 4))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_copies_keep_the_order_of_dimensions_of_dense_tensors(sizes, data):
    t = fb.zeros(sizes).permute(data.draw(st.permutations(range(len(sizes)))))
    assert t.clone().stride() == t.stride() or 1 in t.shape
    assert t.contiguous().is_contiguous() and (t + 1).is_contiguous() in (True, False)
    assert fb.empty_like(t).stride() == t.stride() or 1 in t.shape


def test_channels_last_is_an_order_of_dimensions():
    t = fb.arange(24.0).view(1, 2, 3, 4)
    c = t.contiguous(memory_format=fb.channels_last)
    assert c.stride() == (24, 1, 8, 2) and c.is_contiguous(memory_format=fb.channels_last) and not c.is_contiguous()
    assert c.tolist() == t.tolist() and c.clone().stride() == c.stride()


def test_joining_and_repeating_are_numpys():
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    x, y = fb.from_numpy(a), fb.from_numpy(b)
    for dim in (0, 1, -1):
        same(fb.cat([x, y, x], dim), np.concatenate([a, b, a], dim))
        same(fb.stack([x, y], dim), np.stack([a, b], dim))
    same(x.repeat(2, 1, 2), np.tile(a, (2, 1, 2)))
    same(x.tile((2,)), np.tile(a, 2))
    same(x.repeat_interleave(2, 1), np.repeat(a, 2, 1))
    same(x.flip(0, 1), a[::-1, ::-1])
    same(x.roll((1, -1), (0, 1)), np.roll(a, (1, -1), (0, 1)))
    same(x.rot90(), np.rot90(a))
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 1"):
        fb.cat([x, fb.ones(3, 3, dtype=fb.float64)], 1)


