"""Jacobians, Hessians and their products, against formulas."""

import flambeau as fb
import pytest
from flambeau.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def t(*values):
    return fb.tensor(values, dtype=fb.float64)


def cubes(x):
    return x**3


def product(x, y):
    return (x * y).sum()


def test_the_jacobian_of_an_elementwise_function_is_diagonal():
    assert jacobian(cubes, t(1.0, 2.0)).tolist() == [[3.0, 0.0], [0.0, 12.0]]


def test_jacobians_of_several_inputs_and_outputs_are_tuples():
    got = jacobian(lambda x, y: (x * y, (x + y).sum()), (t(1.0, 2.0), t(3.0, 4.0)))
    assert [[j.tolist() for j in row] for row in got] == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[1.0, 1.0], [1.0, 1.0]],
    ]


def test_the_hessian_of_a_sum_of_cubes():
    assert hessian(lambda x: cubes(x).sum(), t(1.0, 2.0)).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    (xx, xy), (yx, yy) = hessian(product, (t(1.0, 2.0), t(3.0, 4.0)))
    assert xx.tolist() == yy.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert xy.tolist() == yx.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_products_agree_with_the_matrices():
    x, v = t(1.0, 2.0), t(5.0, 7.0)
    y, jv = jvp(cubes, x, v)
    assert (y.tolist(), jv.tolist()) == ([1.0, 8.0], [15.0, 84.0])
    assert vjp(cubes, x, v)[1].tolist() == [15.0, 84.0]
    for product_of in (vhp, hvp):
        y, hv = product_of(lambda x: cubes(x).sum(), x, v)
        assert (y.item(), hv.tolist()) == (9.0, [30.0, 84.0])


def test_results_can_be_differentiated_again():
    x = t(2.0).requires_grad_()
    j = jacobian(cubes, x, create_graph=True)
    assert fb.autograd.grad(j.sum(), x)[0].item() == 12.0
    assert not jacobian(cubes, x).requires_grad


REFUSED = [
    (lambda: hessian(cubes, t(1.0, 2.0)), RuntimeError, "The function given to hessian should return a single Tensor with a single element."),
    (lambda: vjp(cubes, t(1.0, 2.0)), RuntimeError, "The vector v can only be None if"),
    (lambda: vjp(cubes, t(1.0, 2.0), t(1.0)), RuntimeError, "Entry 0 in v has invalid size"),
    (lambda: jacobian(cubes, 3), TypeError, "The inputs given to jacobian must be either a Tensor or a tuple of Tensors"),
    (lambda: jacobian(lambda x: t(1.0), t(1.0), strict=True), RuntimeError, "Output 0 of the user-provided function is independent"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_misuse_is_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()
