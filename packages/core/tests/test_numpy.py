"""NumPy in and out: the same memory, the same layout."""

import gc

import flambeau as fb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from .cases import ALL, layouts, values

NUMPY = [*ALL, "uint16", "uint32", "uint64", "float16"]


@pytest.mark.parametrize("dtype", NUMPY)
def test_both_ways_share_memory_and_layout(dtype):
    a = values(dtype, 0, (3, 4)) if dtype in ALL else np.arange(12).reshape(3, 4).astype(dtype)
    for view in (a, a.T, a[1:, ::2], a[0], a[0, :0], a[1, 1:2]):
        t = fb.from_numpy(view)
        b = t.numpy()
        assert b.dtype == view.dtype and b.shape == view.shape and (b.strides == view.strides or not view.size or 1 in view.shape)
        assert not view.size or b.__array_interface__["data"][0] == view.__array_interface__["data"][0]
    t = fb.from_numpy(a)
    t[0, 0] = 1
    assert a[0, 0] == 1
    a[0, 1] = 0
    assert t[0, 1] == 0


@given(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
def test_values_survive_the_way_there_and_back(shape):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    assert (fb.from_numpy(a).numpy() == a).all() and fb.from_numpy(a).tolist() == a.tolist()
    assert (np.asarray(fb.tensor(a)) == a).all() and (not a.size or (fb.tensor(a.tolist()).numpy() == a).all())


def test_either_side_keeps_the_memory():
    t = fb.from_numpy(np.arange(1000.0))
    gc.collect()
    junk = [np.ones(1000) for _ in range(50)]
    assert t.sum() == 499500 and junk
    a = fb.arange(1000.0).numpy()
    junk = [fb.ones(1000) for _ in range(50)]
    assert a.sum() == 499500 and junk


def test_what_cannot_be_shared_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="negative.*copy"):
        fb.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="expected np.ndarray"):
        fb.from_numpy([1, 2])
    with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
        fb.from_numpy(np.array(["a"]))
    with pytest.raises(ValueError, match="byte order"):
        fb.from_numpy(np.arange(3, dtype=">i4"))
    with pytest.raises(ValueError, match="stride"):
        fb.from_numpy(np.zeros(4, dtype=[("a", "i1"), ("b", "f4")])["b"])
    with pytest.raises(TypeError, match="meta"):
        fb.empty(2, device="meta").numpy()
    read_only = np.arange(3)
    read_only.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        fb.from_numpy(read_only)
    assert fb.tensor(np.arange(3)[::-1]).tolist() == [2, 1, 0] and fb.tensor(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_a_tensor_that_requires_grad_is_not_shown_by_accident():
    pytest.importorskip("flambeau.autograd")
    x = fb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    assert x.detach().numpy().tolist() == x.numpy(force=True).tolist() == [1, 1]


def test_numpy_functions_and_numbers_take_part():
    t = fb.arange(4.0)
    assert np.asarray(t).tolist() == [0, 1, 2, 3] and np.array(t).ctypes.data != t.data_ptr()
    assert (t * np.float64(2)).tolist() == [0, 2, 4, 6] and (np.float32(2) * t).tolist() == [0, 2, 4, 6]
    assert t[np.int64(1)] == 1 and t[np.array([0, 3])].tolist() == [0, 3]


def test_a_buffer_is_shared():
    raw = bytearray(8)
    t = fb.frombuffer(raw, dtype=fb.int16, offset=2)
    t[0] = -1
    assert raw[2:4] == b"\xff\xff" and t.shape == (3,)
    for options in ({"offset": 9}, {"count": 5}, {"offset": 1}, {"count": 0}):
        with pytest.raises(ValueError):
            fb.frombuffer(raw, dtype=fb.int16, **options)


@given(st.data())
def test_layouts_are_seen_by_numpy_as_they_are(data):
    a = np.arange(12).reshape(3, 4)
    how, t = data.draw(st.sampled_from(list(layouts(a))))
    assert (t.numpy() == a).all() and tuple(s // 8 for s in t.numpy().strides) == t.stride(), how
