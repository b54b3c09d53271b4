"""Laws of matrix products, convolutions, pooling and resampling; and the checks of their arguments."""

from __future__ import annotations

import math

import flambeau as fb
import numpy as np
import pytest
from flambeau import _nn


def tensor(*shape: int, seed: int = 0, dtype: str = "float64") -> fb.Tensor:
    return fb.from_numpy(np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype))


def close(a: fb.Tensor, b: fb.Tensor) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-6)


MATMULS = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 6)), ((3, 4), (2, 4, 5))]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shapes", MATMULS)
def test_matmul_sums_products_over_the_inner_dimension(shapes: tuple, dtype: str) -> None:
    a, b = (tensor(*s, seed=i, dtype=dtype) for i, s in enumerate(shapes))
    np.testing.assert_array_equal(fb.matmul(a, b).numpy(), np.matmul(a.numpy(), b.numpy()))


@pytest.mark.parametrize("n", [1, 7, 64, 200])
def test_a_product_of_transposed_views_equals_that_of_copies(n: int) -> None:
    a, b = tensor(n, n + 3, seed=1, dtype="float32"), tensor(n, n + 3, seed=2, dtype="float32")
    np.testing.assert_array_equal(fb.mm(a, b.t()).numpy(), a.numpy() @ b.numpy().T.copy())
    np.testing.assert_array_equal(fb.mm(a.t(), b).numpy(), a.numpy().T.copy() @ b.numpy())


def test_beta_zero_keeps_nan_out() -> None:
    nan, a = fb.full((3, 3), math.nan), fb.ones(3, 3)
    for result in (fb.addmm(nan, a, a, beta=0), fb.addr(nan, a[0], a[0], beta=0) * 3, fb.addbmm(nan, a[None], a[None], beta=0)):
        np.testing.assert_array_equal(result.numpy(), np.full((3, 3), 3.0))
    np.testing.assert_array_equal(fb.addmv(nan[0], a, a[0], beta=0).numpy(), np.full(3, 3.0))


def test_linear_is_a_product_with_the_transposed_weight() -> None:
    x, w, b = tensor(2, 5, 4), tensor(3, 4, seed=1), tensor(3, seed=2)
    np.testing.assert_array_equal(_nn.linear(x, w, b).numpy(), x.numpy() @ w.numpy().T + b.numpy())


def naive_conv2d(x: np.ndarray, w: np.ndarray, stride: int, padding: int, dilation: int, groups: int) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    n, _, height, width = x.shape
    out, per_group, kh, kw = w.shape
    oh, ow = ((s - dilation * (k - 1) - 1) // stride + 1 for s, k in ((height, kh), (width, kw)))
    y = np.zeros((n, out, oh, ow), x.dtype)
    for o in range(out):
        first = o // (out // groups) * per_group
        for i in range(kh):
            for j in range(kw):
                rows, cols = slice(i * dilation, i * dilation + stride * oh, stride), slice(j * dilation, j * dilation + stride * ow, stride)
                y[:, o] += np.einsum("nchw,c->nhw", x[:, first : first + per_group, rows, cols][:, :, :oh, :ow], w[o, :, i, j])
    return y


CONVS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 1, 1, 2), (2, 2, 2, 4)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVS)
def test_conv2d_is_its_definition(stride: int, padding: int, dilation: int, groups: int, dtype: str) -> None:
    x, w = tensor(2, 4, 9, 8, dtype=dtype), tensor(8, 4 // groups, 3, 3, seed=1, dtype=dtype)
    got = fb.conv2d(x, w, None, stride, padding, dilation, groups)
    np.testing.assert_array_equal(got.numpy(), naive_conv2d(x.numpy(), w.numpy(), stride, padding, dilation, groups))


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVS)
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(stride: int, padding: int, dilation: int, groups: int) -> None:
    x, w = tensor(2, 4, 9, 8).requires_grad_(), tensor(8, 4 // groups, 3, 3, seed=1)
    y = fb.conv2d(x, w, None, stride, padding, dilation, groups)
    g = tensor(*y.shape, seed=2)
    (gx,) = fb.autograd.grad([y], [x], [g])
    lost = [(s + 2 * padding - 2 * dilation - 1) % stride for s in (9, 8)]
    np.testing.assert_array_equal(gx.numpy(), fb.conv_transpose2d(g, w, None, stride, padding, lost, groups, dilation).numpy())


# Linear maps A x: <A x, g> = <x, A^T g>, and backward is A^T.
LINEAR = {
    "avg_pool1d": (lambda x: fb.avg_pool1d(x[0], 3, 2, 1, True)),
    "avg_pool2d": (lambda x: _nn.avg_pool2d(x, 3, 2, 1, True, False)),
    "avg_pool2d divisor": (lambda x: _nn.avg_pool2d(x, 2, 1, 0, False, True, 3)),
    "adaptive_avg_pool2d": (lambda x: _nn.adaptive_avg_pool2d(x, [4, 3])),
    "nearest": (lambda x: _nn.upsample_nearest2d(x, [5, 13])),
    "bilinear": (lambda x: _nn.upsample_bilinear2d(x, [5, 13], False)),
    "bilinear corners": (lambda x: _nn.upsample_bilinear2d(x, [5, 13], True)),
    "bicubic": (lambda x: _nn.upsample_bicubic2d(x, None, False, [1.3, 0.7])),
    "antialiased": (lambda x: _nn._upsample_bilinear2d_aa(x, [3, 13], False)),
    "conv_transpose2d": (lambda x: fb.conv_transpose2d(x, tensor(2, 3, 3, 2, seed=5), None, 2, 1)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_backward_of_a_linear_map_is_its_adjoint(name: str) -> None:
    x = tensor(2, 2, 7, 9).requires_grad_()
    y = LINEAR[name](x)
    g = tensor(*y.shape, seed=1)
    (gx,) = fb.autograd.grad([y], [x], [g])
    assert float((y * g).sum()) == pytest.approx(float((x * gx).sum()), rel=1e-9)


@pytest.mark.parametrize("name", [n for n in LINEAR if "conv" not in n and "divisor" not in n])
def test_means_and_resampling_keep_a_constant(name: str) -> None:
    y = LINEAR[name](fb.ones(2, 2, 7, 9))
    inside = y[..., 1:-1] if name == "avg_pool1d" else y  # its padding counts as zeros
    close(inside, fb.ones(*inside.shape))


def test_max_pooling_takes_the_first_largest_and_nan_wins() -> None:
    x = fb.tensor([[[[1.0, 5.0, 5.0, 0.0], [2.0, 5.0, math.nan, 1.0]]]])
    values, indices = _nn.max_pool2d_with_indices(x, 2)
    assert indices.tolist() == [[[[1, 6]]]] and values[0, 0, 0, 0].item() == 5 and math.isnan(values[0, 0, 0, 1].item())


def test_unpooling_puts_maxima_back() -> None:
    x = tensor(2, 3, 6, 8).abs()
    values, indices = _nn.max_pool2d_with_indices(x, 2)
    y = _nn.max_unpool2d(values, indices, [6, 8])
    close(fb.max_pool2d(fb.maximum(y, x), 2), values)
    assert int((y != 0).sum()) <= values.numel()


ERRORS = [
    (lambda: fb.mm(fb.ones(2, 3), fb.ones(4, 5)), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"),
    (lambda: fb.bmm(fb.ones(2, 3), fb.ones(2, 3, 4)), "batch1 must be a 3D tensor"),
    (lambda: fb.mm(fb.ones(2, 3), fb.ones(3, 2).double()), "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: fb.dot(fb.ones(2), fb.ones(3)), "inconsistent tensor size"),
    (lambda: fb.matmul(fb.ones(()), fb.ones(3)), "both arguments to matmul need to be at least 1D"),
    (
        lambda: fb.conv2d(fb.ones(1, 4, 5, 5), fb.ones(2, 3, 3, 3)),
        r"Given groups=1, weight of size \[2, 3, 3, 3\], expected input\[1, 4, 5, 5\] to have 3 channels, but got 4 channels instead",
    ),
    (lambda: fb.conv2d(fb.ones(1, 3, 5, 5), fb.ones(2, 3, 7, 7)), r"Calculated padded input size per channel: \(5 x 5\). Kernel size: \(7 x 7\)"),
    (lambda: fb.conv2d(fb.ones(1, 3, 5, 5), fb.ones(2, 3, 3, 3), stride=0), "non-positive stride is not supported"),
    (lambda: fb.max_pool2d(fb.ones(1, 1, 4, 4), 2, padding=2), "pad should be at most half of effective kernel size"),
    (lambda: fb.max_pool2d(fb.ones(1, 1, 4, 4), 6), "Output size is too small"),
    (lambda: _nn.upsample_nearest2d(fb.ones(1, 1, 4, 4), [0, 4]), "Input and output sizes should be greater than 0"),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_operands_that_do_not_fit_are_named(call, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()
