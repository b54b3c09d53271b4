"""Householder reflections and the exponential of matrices, by their laws."""

import math

import flambeau as fb
import pytest

DTYPES = [fb.float64, fb.complex128]


def matrix(*shape, dtype=fb.float64):
    fb.manual_seed(1)
    return fb.randn(*shape, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 5, 3), (2, 0, 5, 3)])
def test_reflections_times_the_triangle_are_the_matrix(shape, dtype):
    a = matrix(*shape, dtype=dtype)
    packed, tau = fb.geqrf(a)
    q = fb.linalg.householder_product(packed, tau)
    n = shape[-1]
    assert fb.allclose(q @ packed[..., :n, :].triu(), a)
    assert fb.allclose(q.mH @ q, fb.eye(n, dtype=dtype).expand(*shape[:-2], n, n))


def test_a_column_of_zeros_needs_no_reflection():
    packed, tau = fb.geqrf(fb.tensor([[2.0, 1.0], [0.0, 3.0]]))
    assert packed.tolist() == [[2.0, 1.0], [0.0, 3.0]] and tau.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 20.0])
def test_the_exponential_of_minus_a_matrix_is_the_inverse(size, dtype):
    a = matrix(3, 4, 4, dtype=dtype)
    a = (a - a.mH) * size  # skew: its exponential is unitary, however large it is
    e = fb.matrix_exp(a)
    one = fb.eye(4, dtype=dtype).expand(3, 4, 4)
    assert fb.allclose(e @ fb.matrix_exp(-a), one) and fb.allclose(e.mH @ e, one)


def test_the_exponential_is_known_for_diagonals_and_shifts():
    d = [0.0, 1.0, -2.0, 30.0]
    assert fb.allclose(fb.tensor(d, dtype=fb.float64).diag().matrix_exp(), fb.tensor([math.exp(x) for x in d], dtype=fb.float64).diag())
    shift = fb.ones(3, dtype=fb.float64).diag(1)  # nilpotent: the series ends
    want = [[1, 1, 1 / 2, 1 / 6], [0, 1, 1, 1 / 2], [0, 0, 1, 1], [0, 0, 0, 1]]
    assert fb.allclose(fb.matrix_exp(shift), fb.tensor(want, dtype=fb.float64))


@pytest.mark.parametrize("function", [fb.matrix_exp, lambda a: fb.linalg.householder_product(a, a[..., 0].tanh())])
def test_derivatives_are_the_differences(function):
    a, direction = matrix(3, 3), matrix(3, 3).flip(0)
    x = a.clone().requires_grad_()
    (function(x) * direction.T).sum().backward()
    h = 1e-6
    difference = ((function(a + h * direction) - function(a - h * direction)) * direction.T).sum() / (2 * h)
    assert math.isclose((x.grad * direction).sum().item(), difference.item(), rel_tol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fb.matrix_exp(fb.ones(2, 3)),
        lambda: fb.matrix_exp(fb.ones(2, 2, dtype=fb.int64)),
        lambda: fb.geqrf(fb.ones(3)),
        lambda: fb.linalg.householder_product(fb.ones(2, 3), fb.ones(2)),
        lambda: fb.linalg.householder_product(fb.ones(3, 2), fb.ones(3)),
        lambda: fb.linalg.householder_product(fb.ones(3, 2), fb.ones(2, dtype=fb.float64)),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(RuntimeError):
        call()


def test_parts_of_a_complex_tensor_are_views_that_can_be_assigned_to():
    c = fb.zeros(2, dtype=fb.complex128)
    c.real, c.imag = 1.0, fb.tensor([2.0, 3.0])
    c.imag[0] = 5.0
    assert c.tolist() == [1 + 5j, 1 + 3j]
    r = fb.ones(2)
    assert r.real is r
    with pytest.raises(RuntimeError):
        r.imag  # noqa: B018
