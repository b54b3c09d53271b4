"""Elementwise operators: values against NumPy in every layout, promotion against PyTorch, in-place and out=."""

import json
import pathlib
import warnings

import flambeau as fb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from .cases import ALL, BINARY, UNARY, arrays, layouts, same, values

# There is no complex32 here: complex64 stands in for it.
RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_core.json").read_text().replace("complex32", "complex64"))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, about NaN and division by 0


def rows(table):
    return [(name, d) for name, (_, dtypes) in table.items() for d in dtypes]


SHAPES = [(), (0,), (1,), (13,), (3, 4), (2, 0, 3), (2, 3, 2, 2)]


@pytest.mark.parametrize("name,dtype", rows(UNARY))
def test_a_unary_operator_equals_numpys_in_every_layout(name, dtype):
    for shape in SHAPES:
        a = values(dtype, len(shape), shape)
        expected = UNARY[name][0](a)
        for how, t in layouts(a):
            got = getattr(fb, name)(t)
            same(got, expected)
            assert not hasattr(t, name) or getattr(t, name)().dtype is got.dtype, how


@pytest.mark.parametrize("name,dtype", rows(BINARY))
def test_a_binary_operator_equals_numpys_in_every_layout(name, dtype):
    for left, right in [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3, 4)), ((2, 0), (2, 1)), ((5, 1, 3), (2, 1)), ((13,), ())]:
        a, b = values(dtype, 1, left), values(dtype, 2, right)
        expected = BINARY[name][0](a, b)
        for _, x in layouts(a):
            for _, y in layouts(b):
                same(getattr(fb, name)(x, y), expected)


@given(st.data())
def test_shapes_broadcast_as_numpys(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0)).input_shapes
    a, b = (np.arange(np.prod(s, dtype=int)).reshape(s).astype("float32") for s in shapes)
    same(fb.from_numpy(a) + fb.from_numpy(b), a + b)


@pytest.mark.parametrize("left,right", [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,))])
def test_shapes_that_do_not_broadcast_are_named(left, right):
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(\d\) must match the size of tensor b \(\d\) at non-singleton dimension"):
        fb.ones(left) + fb.ones(right)


@given(arrays("float64", hnp.array_shapes(max_dims=3)), st.permutations(range(3)))
def test_the_result_of_a_permuted_tensor_is_the_permuted_result(a, order):
    order = [d for d in order if d < a.ndim]
    x = fb.from_numpy(a).permute(order)
    same((x * 2).exp(), np.exp(a.transpose(order) * 2), 1e-12)


# ---- dtypes ----

DTYPES = RECORDED["dtypes"]
PAIRS = [(a, b) for a in DTYPES for b in DTYPES]


def name_of(fn, *args):
    try:
        return repr(fn(*args)).removeprefix("torch.")
    except RuntimeError:
        return None


def tensors_of(dims):
    return {d: fb.ones((1,) * dims, dtype=getattr(fb, d)) for d in DTYPES}


def test_dtypes_promote_as_pytorchs():
    one, zero = tensors_of(1), tensors_of(0)
    assert [name_of(fb.promote_types, getattr(fb, a), getattr(fb, b)) for a, b in PAIRS] == RECORDED["promote_types"]
    assert [name_of(fb.result_type, one[a], zero[b]) for a, b in PAIRS] == RECORDED["dims_and_0d"]
    assert [name_of(fb.result_type, zero[a], zero[b]) for a, b in PAIRS] == RECORDED["0d_and_0d"]
    assert [int(fb.can_cast(getattr(fb, a), getattr(fb, b))) for a, b in PAIRS] == RECORDED["can_cast"]


@pytest.mark.parametrize("number", RECORDED["numbers"])
def test_numbers_promote_as_pytorchs(number):
    for dims, expected in zip((1, 0), RECORDED["numbers"][number]):
        assert [name_of(fb.result_type, t, eval(number)) for t in tensors_of(dims).values()] == expected


def test_operators_give_the_promoted_dtype():
    ones = tensors_of(1)
    for (a, b), expected in zip(PAIRS, RECORDED["promote_types"]):
        if expected is not None:
            assert (ones[a] * ones[b]).dtype is getattr(fb, expected), (a, b)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "float" not in d and "complex" not in d])
def test_integers_become_the_default_float(dtype):
    t = fb.ones(2, dtype=getattr(fb, dtype))
    for fn in (fb.exp, fb.sin, fb.sqrt, fb.sigmoid, fb.tanh, fb.log):
        assert fn(t).dtype is fb.float32
    assert (t / t).dtype is fb.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_computed_in_float32_and_rounded_once(dtype):
    t = fb.linspace(-4, 4, 1001).to(getattr(fb, dtype))
    for fn in (fb.exp, fb.tanh, fb.sigmoid):
        assert (fn(t) == fn(t.float()).to(t.dtype)).all()


# ---- in place ----


@pytest.mark.parametrize("dtype", ALL)
def test_in_place_operators_write_the_tensor_and_return_it(dtype):
    a = values(dtype, 3)
    for how, t in layouts(a):
        pointer = t.data_ptr()
        r = t.logical_or_(fb.zeros(4, dtype=t.dtype))
        assert r is t and t.data_ptr() == pointer, how
        same(t, np.logical_or(a, False))


def test_in_place_the_result_may_not_change_dtype_category_or_shape():
    t = fb.ones(2, dtype=fb.int64)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        t += 1.5
    with pytest.raises(RuntimeError, match="output with shape .* doesn't match the broadcast shape"):
        t += fb.ones(3, 2, dtype=fb.int64)
    assert t.tolist() == [1, 1]
    f = fb.ones(2)
    f += fb.ones(2, dtype=fb.float64)
    assert f.dtype is fb.float32 and f.tolist() == [2, 2]


def test_an_operand_that_overlaps_the_output_is_read_first_or_refused():
    x = fb.arange(5.0)
    x.add_(x)
    assert x.tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(RuntimeError, match="overlap|single memory location"):
        x[1:].add_(x[:-1])
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        fb.zeros(1).expand(3).add_(1)
    m = fb.arange(4.0).view(2, 2)
    m.copy_(m.t())
    assert m.tolist() == [[0, 2], [1, 3]]


# ---- out= ----


@pytest.mark.parametrize("layout", [0, 1, 2])
def test_out_of_any_layout_is_filled(layout):
    a, b = fb.arange(6.0).view(2, 3), fb.ones(3)
    out = [fb.zeros(2, 3), fb.zeros(3, 2).t(), fb.zeros(2, 6)[:, ::2]][layout]
    assert fb.add(a, b, out=out) is out
    assert out.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_out_is_resized_with_a_warning_unless_empty():
    a = fb.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = fb.empty(0)
        assert fb.exp(a, out=out).shape == (6,)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        fb.exp(a, out=fb.zeros(2))


def test_out_takes_a_wider_dtype_and_refuses_a_narrower_category():
    a = fb.ones(2)
    assert fb.add(a, a, out=fb.empty(2, dtype=fb.float64)).dtype is fb.float64
    assert fb.add(a, a, out=fb.empty(2, dtype=fb.float16)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        fb.add(a, a, out=fb.empty(2, dtype=fb.int64))


def test_out_that_is_an_input_is_safe():
    a = fb.arange(4.0)
    fb.mul(a, a, out=a)
    assert a.tolist() == [0, 1, 4, 9]
    with pytest.raises(RuntimeError, match="overlap|memory"):
        fb.add(a[:-1], 1, out=a[1:])


# ---- meta ----


@pytest.mark.parametrize("name,dtype", [(n, d) for n, d in rows(BINARY) if d in ("bool", "int64", "float32", "complex64")])
def test_meta_tensors_give_the_shape_and_dtype_of_real_ones(name, dtype):
    a, b = fb.from_numpy(values(dtype, 1, (3, 1))), fb.from_numpy(values(dtype, 2, (4,)))
    real, meta = getattr(fb, name)(a, b), getattr(fb, name)(a.to("meta"), b.to("meta"))
    assert meta.is_meta and meta.shape == real.shape and meta.dtype is real.dtype


def test_tensors_of_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="device"):
        fb.ones(2) + fb.ones(2, device="meta")
