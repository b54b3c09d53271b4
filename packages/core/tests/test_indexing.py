"""Indexing, read and written, against NumPy."""

import flambeau as fb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from .cases import same

dims = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def to_fb(index):
    """An index of NumPy's as tensors."""
    if isinstance(index, tuple):
        return tuple(to_fb(i) for i in index)
    return fb.from_numpy(np.array(index)) if isinstance(index, np.ndarray) else index


def forward(index):
    """Without negative steps, which neither library's tensors have."""
    items = index if isinstance(index, tuple) else (index,)
    return all(not isinstance(i, slice) or i.step is None or i.step > 0 for i in items)


basic = dims.flatmap(lambda s: st.tuples(st.just(s), hnp.basic_indices(s, allow_newaxis=True, allow_ellipsis=True).filter(forward)))


@given(basic)
def test_basic_indices_are_views_with_numpys_values(case):
    shape, index = case
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    t = fb.from_numpy(a.copy())
    same(t[index], a[index])
    t[index] = -1
    a[index] = -1
    same(t, a)


@st.composite
def advanced(draw):
    """A shape, and an index of ints, slices, arrays of ints and of bools, None and Ellipsis."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    together = draw(hnp.broadcastable_shapes((2, 3), max_dims=2, max_side=3))
    index, d, masks = [], 0, 0
    while d < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "array", "array", "bool", "none", "stop"]))
        n = shape[d]
        if kind == "none":
            index.append(None)
            continue
        if kind == "stop":
            break
        if kind == "int":
            index.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            index.append(slice(draw(st.none() | st.integers(-n, n)), draw(st.none() | st.integers(-n, n)), draw(st.none() | st.integers(1, 2))))
        elif kind == "array":
            index.append(draw(hnp.arrays(np.int64, together, elements=st.integers(-n, n - 1))))
        elif masks == 0:
            masks += 1
            count = draw(st.integers(0, 1))
            mask = np.zeros(n, bool)
            mask[: count or 1] = True
            index.append(mask)
        else:
            index.append(slice(None))
        d += 1
    if draw(st.booleans()) and d == len(index):
        index.append(Ellipsis)
    return shape, tuple(index)


@settings(max_examples=400)
@given(advanced())
def test_advanced_indices_have_numpys_values(case):
    shape, index = case
    a = np.arange(np.prod(shape)).reshape(shape)
    t = fb.from_numpy(a.copy())
    # A number beside arrays is an array to NumPy and a selection to PyTorch: where they would stand apart, they differ.
    index = tuple(np.array(i) if isinstance(i, int) and any(isinstance(j, np.ndarray) for j in index) else i for i in index)
    try:
        expected = a[index]
    except IndexError:
        with pytest.raises((IndexError, RuntimeError)):
            t[to_fb(index)]
        return
    same(t[to_fb(index)], expected)
    t[to_fb(index)] = -1
    a[index] = -1
    same(t, a)


@given(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4).flatmap(lambda s: hnp.arrays(bool, s)), st.integers(0, 2))
def test_a_mask_selects_and_writes_as_numpys(mask, extra):
    a = np.arange(mask.size * 2**extra).reshape(mask.shape + (2,) * extra)
    t, m = fb.from_numpy(a.copy()), fb.from_numpy(mask)
    same(t[m], a[mask])
    t[m] = fb.from_numpy(-a[mask])
    assert (t.numpy() == np.where(mask.reshape(mask.shape + (1,) * extra), -a, a)).all()
    same(m.nonzero(), np.argwhere(mask))


def test_values_broadcast_into_what_is_written():
    t = fb.zeros(3, 4)
    t[:, 1] = fb.arange(3.0)
    t[fb.tensor([0, 2]), 2:] = fb.tensor([7.0, 8.0])
    t[1] = 5
    assert t.tolist() == [[0, 0, 7, 8], [5, 5, 5, 5], [0, 2, 7, 8]]
    t[..., 0] = fb.tensor(True)
    assert t[:, 0].tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="shape mismatch|must match|expand"):
        t[:, 1] = fb.ones(2)


def test_writing_to_repeated_places_adds_with_accumulate():
    t = fb.zeros(3)
    i = fb.tensor([0, 0, 2, -1])
    t.index_put_((i,), fb.ones(4), accumulate=True)
    assert t.tolist() == [2, 0, 2]
    t.index_add_(0, fb.tensor([1, 1]), fb.tensor([1.0, 2.0]), alpha=2)
    assert t.tolist() == [2, 6, 2]


@pytest.mark.parametrize(
    "index,error",
    [
        (3, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), (fb.tensor([3]), IndexError), (fb.tensor([-4]), IndexError),
        ((Ellipsis, Ellipsis), IndexError), (fb.tensor([1.5]), IndexError), (fb.ones(2, dtype=fb.bool), IndexError),
        ((fb.tensor([0, 1]), fb.tensor([0, 1, 2])), IndexError), (slice(None, None, 0), ValueError), ("a", (IndexError, TypeError)),
        (1.5, (IndexError, TypeError)), (2**70, (IndexError, OverflowError, RuntimeError, TypeError)),
    ],
)  # fmt: skip
def test_indices_that_cannot_be_are_refused(index, error):
    t = fb.zeros(3, 4)
    with pytest.raises(error):
        t[index]
    with pytest.raises(error):
        t[index] = 1
    assert (t == 0).all()


def test_an_index_of_a_tensor_without_dimensions():
    t = fb.tensor(3)
    assert t[()].item() == 3 and t[None].shape == (1,) and t[...].item() == 3 and t[fb.tensor(True)].tolist() == [3]
    with pytest.raises(IndexError, match="0-dim"):
        t[0]


@given(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), st.data())
def test_gather_and_scatter_are_numpys(shape, data):
    a = np.arange(np.prod(shape)).reshape(shape)
    dim = data.draw(st.integers(0, len(shape) - 1))
    i = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, shape[dim] - 1)))
    same(fb.from_numpy(a).gather(dim, fb.from_numpy(i)), np.take_along_axis(a, i, dim))
    got, want = fb.zeros(shape, dtype=fb.int64).scatter_add(dim, fb.from_numpy(i), fb.from_numpy(a)), np.zeros(shape, int)
    for at in np.ndindex(shape):
        to = list(at)
        to[dim] = i[at]
        want[tuple(to)] += a[at]
    same(got, want)


PLACES = {
    "gather": lambda t, i: t.gather(0, i), "scatter": lambda t, i: t.scatter(0, i, 1.0), "scatter_add": lambda t, i: t.scatter_add(0, i, t),
    "index_select": lambda t, i: t.index_select(0, i.flatten()), "take": lambda t, i: t.take(i),
    "index_fill": lambda t, i: t.index_fill(0, i.flatten(), 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("bad", [100, -100, 2**40])
def test_places_out_of_range_are_refused(name, bad):
    with pytest.raises((RuntimeError, IndexError)):
        PLACES[name](fb.zeros(2, 3), fb.full((2, 3), bad))
