"""Tensors from nothing, from Python values, and their texts."""

import copy
import json
import math
import pathlib

import flambeau as fb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .cases import same
from .printed import PRINTED

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_core.json").read_text())


@pytest.mark.parametrize("text,expected", list(zip(PRINTED, RECORDED["repr"])), ids=PRINTED)
def test_texts_are_pytorchs(text, expected):
    assert repr(eval(text, {"torch": fb})) == expected


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 3)])
def test_filled_tensors_hold_one_value(dtype, shape):
    d = getattr(fb, dtype)
    ones = (fb.ones(shape, dtype=d), fb.full(shape, 1, dtype=d), fb.empty(shape, dtype=d).fill_(1))
    for t, v in [(fb.zeros(shape, dtype=d), 0), *((t, 1) for t in ones)]:
        assert t.dtype is d and t.shape == shape and (t == v).all() and t.is_contiguous()
        for like, w in [(fb.zeros_like(t), 0), (fb.ones_like(t), 1), (fb.full_like(t, 0), 0), (t.new_ones(shape), 1)]:
            assert like.dtype is d and like.shape == shape and (like == w).all()
    m = fb.zeros(shape, dtype=d, device="meta")
    assert m.is_meta and m.shape == shape and m.dtype is d


def test_sizes_are_given_in_three_ways():
    assert fb.zeros(2, 3).shape == fb.zeros((2, 3)).shape == fb.zeros([2, 3]).shape == fb.zeros(fb.Size([2, 3])).shape == (2, 3)
    assert fb.zeros(np.int64(2), fb.tensor(3)).shape == (2, 3) and fb.zeros(()).shape == ()


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 7))
def test_arange_of_integers_is_pythons_range(start, end, step):
    if end < start:
        step = -step
    t = fb.arange(start, end, step)
    assert t.tolist() == list(range(start, end, step)) and t.dtype is fb.int64


def test_arange_and_its_relatives_are_numpys():
    same(fb.arange(0, 1, 0.1, dtype=fb.float64), np.arange(0, 1, 0.1))
    same(fb.arange(5.0), np.arange(5.0))
    same(fb.linspace(-1, 1, 7, dtype=fb.float64), np.linspace(-1, 1, 7))
    same(fb.logspace(0, 3, 4, dtype=fb.float64), np.logspace(0, 3, 4))
    same(fb.eye(3, 4), np.eye(3, 4))
    assert fb.linspace(0, 1, 1).tolist() == [0] and fb.linspace(0, 1, 0).shape == (0,) and fb.linspace(3, 3, 4).tolist() == [3] * 4
    big = fb.linspace(-1000, 1000, 100001)
    assert big[0] == -1000 and big[-1] == 1000 and (big.flip(0) == -big).all()
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        fb.arange(0, 1, 0)
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        fb.arange(1, 0)
    with pytest.raises(RuntimeError, match="unsupported range"):
        fb.arange(0, math.inf)


nested = st.recursive(st.integers(-9, 9), lambda s: st.lists(s, min_size=0, max_size=3), max_leaves=8)


@given(nested)
def test_nested_lists_become_tensors_as_numpys_arrays(data):
    try:
        expected = np.array(data, dtype="int64")
    except ValueError:  # ragged
        try:  # a first member that is empty says that all are
            assert fb.tensor(data).numel() == 0
        except (ValueError, TypeError):
            pass
        return
    t = fb.tensor(data)
    assert t.tolist() == data and t.shape == expected.shape


@pytest.mark.parametrize(
    "data,dtype",
    [
        (True, fb.bool), (1, fb.int64), (1.0, fb.float32), (1j, fb.complex64), ([1, 2.5], fb.float32), ([True, 2], fb.int64),
        ([1, 2j], fb.complex64),
        ([], fb.float32), (np.float64(1), fb.float64), (np.int16([1]), fb.int16), ([np.int16(1)], fb.int16),
        (np.array([1.0]), fb.float64),
        ([np.int16(1), 2], fb.int64), ([np.int16(1), np.float32(2)], fb.float32), ([np.float64(1), 2.0], fb.float64),
        (np.complex128(1), fb.complex128),
    ],
)  # fmt: skip
def test_the_dtype_is_that_of_the_values(data, dtype):
    assert fb.tensor(data).dtype is dtype


def test_the_default_dtype_is_that_of_floats():
    fb.set_default_dtype(fb.float64)
    try:
        assert fb.tensor(1.0).dtype is fb.zeros(1).dtype is (fb.arange(2) / 2).dtype is fb.float64 and fb.tensor(1j).dtype is fb.complex128
    finally:
        fb.set_default_dtype(fb.float32)
    with pytest.raises(TypeError):
        fb.set_default_dtype(fb.int64)


def test_values_out_of_range_and_of_no_kind_are_refused():
    for data, dtype in [(256, fb.uint8), (-129, fb.int8), (2**63, fb.int64), (2**31, fb.int32)]:
        with pytest.raises(RuntimeError, match="overflow|Overflow"):
            fb.tensor(data, dtype=dtype)
    assert fb.tensor(2**64 - 1, dtype=fb.uint64).item() == 2**64 - 1 and fb.tensor(-(2**63)).item() == -(2**63)
    with pytest.raises((TypeError, RuntimeError)):
        fb.tensor("a")
    with pytest.raises((TypeError, RuntimeError)):
        fb.tensor([object()])
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        fb.tensor([[1, 2], [3]])


def test_a_tensor_of_a_tensor_is_a_copy_and_as_tensor_is_not():
    x = fb.zeros(2)
    assert fb.tensor(x.detach().clone()).data_ptr() != x.data_ptr() and fb.as_tensor(x) is x and fb.asarray(x).data_ptr() == x.data_ptr()
    assert fb.as_tensor([1, 2]).dtype is fb.int64
    assert copy.copy(fb.float32) is fb.float32 and copy.deepcopy(fb.device("cpu")) == fb.device("cpu")


def test_strides_and_orders_of_empty_tensors():
    assert fb.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert fb.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    assert fb.empty(1, 2, 3, 4, memory_format=fb.channels_last).stride() == (24, 1, 8, 2)


@pytest.mark.parametrize(
    "call,error",
    [
        (lambda: fb.zeros(-1), RuntimeError), (lambda: fb.empty(2**62, 4), RuntimeError), (lambda: fb.empty(2**40, 2**40), RuntimeError),
        (lambda: fb.zeros(2**45), RuntimeError), (lambda: fb.zeros(2**45), MemoryError), (lambda: fb.ones("a"), TypeError),
        (lambda: fb.zeros(1.5), TypeError), (lambda: fb.zeros(2, dtype="float32"), TypeError), (lambda: fb.zeros(2, device="nowhere"), RuntimeError),
        (lambda: fb.empty_strided((2,), (1, 1)), RuntimeError), (lambda: fb.empty_strided((2,), (-1,)), RuntimeError),
        (lambda: fb.empty_strided((2**40,), (2**40,)), RuntimeError), (lambda: fb.empty_permuted((2, 3), (0, 0)), RuntimeError),
        (lambda: fb.linspace(0, 1, -1), RuntimeError), (lambda: fb.eye(-1), RuntimeError), (lambda: fb.full((2,), "a"), TypeError),
        (lambda: fb.zeros(2**70), (OverflowError, RuntimeError, TypeError)), (lambda: fb.arange(2**45), RuntimeError),
        (lambda: fb.zeros((1,) * 65), (RuntimeError, ValueError)), (lambda: fb.zeros(2).expand(2**45, 2).contiguous(), RuntimeError),
        (lambda: fb.zeros(2).repeat(2**45), RuntimeError), (lambda: fb.zeros(2).resize_(2**45), RuntimeError),
        (lambda: fb.zeros(2).resize_(-1), RuntimeError), (lambda: fb.eye(2**23), RuntimeError),
    ],
)  # fmt: skip
def test_sizes_and_arguments_that_cannot_be_are_refused(call, error):
    with pytest.raises(error):
        call()
    assert fb.ones(3).sum() == 3
