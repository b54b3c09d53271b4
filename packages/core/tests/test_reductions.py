"""Reductions and cumulative operators against NumPy."""

import math

import flambeau as fb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .cases import REDUCE, SCAN, arrays, layouts, same, values

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
SHAPES = [(5,), (3, 4), (2, 3, 2, 3), (1, 1), (70, 3), (3, 70)]


def rows(table):
    return [(name, d) for name, (_, dtypes) in table.items() for d in dtypes]


def finite(dtype, shape):
    """Values that no order of adding can take to another result of infinite size."""
    a = values(dtype, 1, shape)
    return np.where(np.abs(a) < 100, a, 1).astype(dtype) if a.dtype.kind == "f" else a


@pytest.mark.parametrize("name,dtype", rows(REDUCE))
def test_a_reduction_equals_numpys_over_any_dimension_in_every_layout(name, dtype):
    fn = REDUCE[name][0]
    for shape in SHAPES:
        a = finite(dtype, shape)
        for _, t in layouts(a):
            same(getattr(fb, name)(t), fn(a), 1e-5)
            for dim in range(-a.ndim, a.ndim):
                same(getattr(t, name)(dim), fn(a, axis=dim), 1e-5)
                if name != "count_nonzero":
                    same(getattr(t, name)(dim, keepdim=True), fn(a, axis=dim, keepdims=True), 1e-5)


@given(arrays(), st.data())
def test_sums_over_several_dimensions_are_exact_for_small_whole_numbers(a, data):
    dims = data.draw(st.lists(st.integers(0, a.ndim - 1), unique=True).map(tuple) if a.ndim else st.just(()))
    keep = data.draw(st.booleans())
    t = fb.from_numpy(a)
    expected = a.astype("int64" if a.dtype.kind in "biu" else a.dtype).sum(dims or None, keepdims=keep)
    same(t.sum(dims or None, keepdim=keep), expected, 0)
    assert t.sum().dtype is (fb.int64 if a.dtype.kind in "biu" else t.dtype)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_an_extreme_is_the_first(name):
    for shape in SHAPES:
        a = np.random.default_rng(0).integers(0, 3, shape)
        t = fb.from_numpy(a)
        assert getattr(fb, name)(t).item() == getattr(np, name)(a)
        for dim in range(a.ndim):
            same(getattr(t, name)(dim), getattr(np, name)(a, axis=dim))


@pytest.mark.parametrize("name,dtype", rows(SCAN))
def test_a_cumulative_operator_equals_numpys(name, dtype):
    for shape in SHAPES:
        a = np.random.default_rng(0).integers(-2, 3, shape).astype(dtype)
        for _, t in layouts(a):
            for dim in range(a.ndim):
                same(getattr(t, name)(dim), SCAN[name][0](a, axis=dim), 0)


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variances_are_numpys(correction, dtype):
    a = np.random.default_rng(0).normal(1000, 1, (5, 7, 3)).astype(dtype)
    t = fb.from_numpy(a)
    wide = a.astype("float64")
    for dim in (None, 0, 1, (0, 2)):
        same(t.var(dim, correction=correction), wide.var(dim, ddof=correction), 1e-4)
        same(t.std(dim, correction=correction), wide.std(dim, ddof=correction), 1e-4)
    v, m = fb.var_mean(t, 1, correction=correction)
    same(m, wide.mean(1), 1e-6)
    same(v, wide.var(1, ddof=correction), 1e-4)


def test_nan_wins_an_extreme_and_is_kept_by_a_sum():
    t = fb.tensor([1.0, math.nan, 3.0])
    for fn in (fb.amax, fb.amin, fb.max, fb.min, fb.sum, fb.mean, fb.prod):
        assert fn(t).isnan()
    assert fb.nansum(t) == 4 and t.max(0).indices == 1 and t.argmin() == 1


def test_what_nothing_reduces_to():
    e = fb.empty(0)
    assert e.sum() == 0 and e.prod() == 1 and e.mean().isnan() and e.all() and not e.any()
    assert fb.empty(0, 3).sum(0).tolist() == [0, 0, 0] and fb.empty(0, 3).sum(1).shape == (0,)
    for fn in (fb.max, fb.min):
        with pytest.raises(RuntimeError, match="numel\\(\\) == 0|non-zero size"):
            fn(e)
    with pytest.raises(IndexError, match="non-zero size"):
        fb.empty(0, 3).amax(0)


def test_a_sum_of_many_float32_is_as_good_as_pairwise_addition():
    t = fb.full((1 << 22,), 0.1)
    assert abs(t.sum().item() / (t.numel() * np.float64(np.float32(0.1))) - 1) < 1e-6
    assert abs(t.view(2048, 2048).sum(0).sum().item() / t.sum().item() - 1) < 1e-6


def test_halves_are_summed_in_float32():
    t = fb.ones(5000, dtype=fb.float16)
    assert t.sum().item() == 5000 and t.mean().item() == 1 and fb.ones(70000, dtype=fb.float16).mean() == 1
    assert fb.ones(70000, dtype=fb.float16).sum(dtype=fb.float32) == 70000


def test_dtype_is_taken_before_the_sum():
    t = fb.full((3,), 100, dtype=fb.uint8)
    assert t.sum() == 300 and t.sum(dtype=fb.uint8) == 44 and t.sum(dtype=fb.float32).dtype is fb.float32
    with pytest.raises(RuntimeError, match="[Ff]loating point or complex|could not infer output dtype"):
        t.mean()


@pytest.mark.parametrize("call", [lambda t: t.sum(2), lambda t: t.amax(-3), lambda t: t.argmax(5), lambda t: t.cumsum(2), lambda t: t.mean((0, 7))])
def test_a_dimension_out_of_range_is_an_index_error(call):
    with pytest.raises(IndexError, match="Dimension out of range"):
        call(fb.ones(2, 3))


def test_a_dimension_twice_is_refused():
    with pytest.raises(RuntimeError, match="appears multiple times"):
        fb.ones(2, 3).sum((0, -2))


def test_sort_topk_and_median_agree_with_numpy():
    a = np.random.default_rng(0).integers(0, 9, (4, 9)).astype("float32")
    t = fb.from_numpy(a)
    for dim in (0, 1):
        for descending in (False, True):
            v, i = t.sort(dim, descending)
            want = np.sort(a, dim)
            same(v, np.flip(want, dim) if descending else want)
            same(t.gather(dim, i), v.numpy())
    same(t.sort(1, stable=True).indices, np.argsort(a, 1, kind="stable"))
    same(t.topk(3).values, -np.sort(-a, 1)[:, :3])
    same(t.median(1).values, np.sort(a, 1)[:, 4])
    same(t.kthvalue(2).values, np.sort(a, 1)[:, 1])
    assert fb.tensor([math.nan, 1.0]).sort().values[1].isnan()
