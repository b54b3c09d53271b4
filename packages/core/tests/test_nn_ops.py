"""Laws of normalizations, losses over classes, embeddings, padding, sliding blocks, grids and attention.

Expected values come from the formulas, written with NumPy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import flambeau as fb
import numpy as np
import pytest
from flambeau import _nn
from hypothesis import given, settings
from hypothesis import strategies as st


def tensor(*shape: int, seed: int = 0, dtype: str = "float64") -> fb.Tensor:
    return fb.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def close(actual: fb.Tensor, expected: np.ndarray, tolerance: float = 1e-9) -> None:
    assert tuple(actual.shape) == np.shape(expected)
    np.testing.assert_allclose(actual.detach().to(fb.float64).numpy(), expected, rtol=tolerance, atol=tolerance)


def unit(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    """x with mean 0 and variance 1 over axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# -- normalizations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (7,), (2, 3, 5), (70, 33), (2, 4099), (1, 9000)])
def test_layer_norm_gives_rows_mean_0_and_variance_1(shape: tuple) -> None:
    x, w, b = tensor(*shape), tensor(shape[-1], seed=1), tensor(shape[-1], seed=2)
    close(fb.layer_norm(x, [shape[-1]]), unit(x.numpy(), (-1,)))
    close(fb.layer_norm(x, [shape[-1]], w, b), unit(x.numpy(), (-1,)) * w.numpy() + b.numpy())


def test_layer_norm_of_several_dimensions_is_that_of_them_as_one() -> None:
    x = tensor(2, 3, 4, 5)
    close(fb.layer_norm(x, [4, 5]).reshape(2, 3, 20), fb.layer_norm(x.reshape(2, 3, 20), [20]).numpy())


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (5, 300)])
def test_rms_norm_gives_rows_mean_square_1(shape: tuple) -> None:
    x, w = tensor(*shape), tensor(shape[-1], seed=1)
    expected = x.numpy() / np.sqrt((x.numpy() ** 2).mean(-1, keepdims=True) + 1e-3) * w.numpy()
    close(fb.rms_norm(x, [shape[-1]], w, 1e-3), expected)


@pytest.mark.parametrize(("shape", "groups"), [((2, 4), 2), ((2, 6, 3), 3), ((3, 6, 5, 4), 1), ((3, 6, 5, 4), 6)])
def test_group_norm_normalizes_each_group_of_channels(shape: tuple, groups: int) -> None:
    x, w, b = tensor(*shape), tensor(shape[1], seed=1), tensor(shape[1], seed=2)
    each = (1, shape[1]) + (1,) * (len(shape) - 2)
    expected = unit(x.numpy().reshape(shape[0], groups, -1), (2,)).reshape(shape) * w.numpy().reshape(
        each
    ) + b.numpy().reshape(each)
    close(fb.group_norm(x, groups, w, b), expected)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 4, 5), (70, 130), (3, 70, 20), (40, 5, 7), (3, 2, 5000)])
def test_batch_norm_normalizes_channels_and_averages_their_statistics(shape: tuple) -> None:
    x, mean, var = tensor(*shape), tensor(shape[1], seed=1), tensor(shape[1], seed=2).abs()
    axes = (0, *range(2, len(shape)))
    n = x.numel() // shape[1]
    mean0, var0 = mean.numpy().copy(), var.numpy().copy()
    close(fb.batch_norm(x, None, None, mean, var, True, 0.3, 1e-5, True), unit(x.numpy(), axes), 1e-8)
    close(mean, 0.7 * mean0 + 0.3 * x.numpy().mean(axes))
    close(var, 0.7 * var0 + 0.3 * x.numpy().var(axes) * n / (n - 1))
    each = (shape[1],) + (1,) * (len(shape) - 2)
    expected = (x.numpy() - mean.numpy().reshape(each)) / np.sqrt(var.numpy().reshape(each) + 1e-5)
    close(fb.batch_norm(x, None, None, mean, var, False, 0.3, 1e-5, True), expected)


def test_instance_norm_normalizes_each_channel_of_each_sample() -> None:
    x, mean, var = tensor(2, 3, 4, 5), fb.zeros(3, dtype=fb.float64), fb.ones(3, dtype=fb.float64)
    close(fb.instance_norm(x, None, None, mean, var, True, 0.5, 1e-5, True), unit(x.numpy(), (2, 3)))
    close(mean, 0.5 * x.numpy().mean((2, 3)).mean(0))
    close(var, 0.5 + 0.5 * x.numpy().var((2, 3), ddof=1).mean(0))


@pytest.mark.parametrize("dtype", [fb.float16, fb.bfloat16])
def test_half_data_is_normalized_in_float32(dtype: fb.dtype) -> None:
    x = tensor(4, 300, dtype="float32").to(dtype)
    w = tensor(300, seed=1, dtype="float32")
    y = fb.layer_norm(x, [300], w)
    assert y.dtype is dtype
    np.testing.assert_array_equal(y.float().numpy(), fb.layer_norm(x.float(), [300], w).to(dtype).float().numpy())


@given(st.integers(1, 40), st.integers(2, 40), st.floats(-1e3, 1e3), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_layer_norm_ignores_shift_and_scale_of_its_rows(rows: int, n: int, shift: float, scale: float) -> None:
    x = tensor(rows, n, seed=rows)
    close(fb.layer_norm(x * scale + shift, [n], eps=0.0), fb.layer_norm(x, [n], eps=0.0).numpy(), 1e-6)


# -- losses over classes ----------------------------------------------------------------------------------------------


def reduce(losses: np.ndarray, reduction: int, total: float) -> np.ndarray:
    return losses if reduction == 0 else losses.sum() / total if reduction == 1 else losses.sum()


@pytest.mark.parametrize("shape", [(6, 4), (3, 10, 7), (2, 3, 4, 5), (5, 300)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_cross_entropy_is_minus_the_log_softmax_at_the_target(shape: tuple, weighted: bool, reduction: int) -> None:
    x = tensor(*shape) * 5
    classes = shape[1]
    y = np.random.default_rng(1).integers(0, classes, (shape[0], *shape[2:]))
    y.flat[1] = -100
    w = np.random.default_rng(2).random(classes) + 0.1 if weighted else np.ones(classes)
    used = y != -100
    at = np.where(used, y, 0)
    logp = np.log(softmax(x.numpy(), 1))
    picked = np.take_along_axis(logp, at[:, None], 1)[:, 0]
    losses, total = np.where(used, -w[at] * picked, 0), w[at][used].sum()
    weight = fb.from_numpy(w) if weighted else None
    close(_nn.cross_entropy_loss(x, fb.from_numpy(y), weight, reduction), reduce(losses, reduction, total), 1e-8)
    close(
        _nn.nll_loss_nd(fb.from_numpy(logp), fb.from_numpy(y), weight, reduction),
        reduce(losses, reduction, total),
        1e-8,
    )
    spread = np.where(used, -(logp * w.reshape(1, -1, *[1] * (len(shape) - 2))).sum(1), 0)
    smoothed = 0.8 * reduce(losses, reduction, total) + 0.2 / classes * reduce(spread, reduction, total)
    close(_nn.cross_entropy_loss(x, fb.from_numpy(y), weight, reduction, -100, 0.2), smoothed, 1e-8)


def test_a_target_of_probabilities_that_are_0_and_1_is_one_of_indices() -> None:
    x, y = tensor(5, 4), fb.tensor([1, 0, 3, 2, 1])
    probabilities = _nn.one_hot(y, 4).to(fb.float64)
    for smoothing, reduction in itertools.product((0.0, 0.3), (0, 1, 2)):
        expected = _nn.cross_entropy_loss(x, y, None, reduction, -100, smoothing).numpy()
        close(_nn.cross_entropy_loss(x, probabilities, None, reduction, -100, smoothing), expected)


def test_cross_entropy_of_large_logits_stays_accurate() -> None:
    x = fb.tensor([[1e4, 1e4 - 1.0, -1e4]], dtype=fb.float32)
    close(_nn.cross_entropy_loss(x, fb.tensor([0]), None, 1), np.log1p(np.exp(-1.0)), 1e-6)


BAD_TARGETS = [
    ((2, 3), [0, 5], IndexError, "Target 5 is out of bounds."),
    ((2, 3), [0, 1, 2], ValueError, r"Expected input batch_size \(2\) to match target batch_size \(3\)."),
    ((2, 3, 4), [[0] * 5] * 2, RuntimeError, r"Expected target size \[2, 4\], got \[2, 5\]"),
    ((2, 3), [0.0, 1.0], RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    ((), 0, ValueError, r"Expected 1 or more dimensions \(got 0\)"),
]


@pytest.mark.parametrize(("shape", "target", "error", "text"), BAD_TARGETS)
def test_nll_loss_refuses_targets_that_do_not_fit(shape: tuple, target: list, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        _nn.nll_loss_nd(fb.zeros(shape), fb.tensor(target), None, 1)


@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss_sums_hinges_of_the_other_classes(p: int) -> None:
    x, y = tensor(4, 5), np.array([0, 1, 4, 2])
    gaps = np.maximum(0, 0.8 + x.numpy() - x.numpy()[np.arange(4), y][:, None]) ** p
    gaps[np.arange(4), y] = 0
    close(_nn.multi_margin_loss(x, fb.from_numpy(y), p, 0.8, None, 0), gaps.sum(1) / 5)


def test_multilabel_margin_loss_compares_labels_with_other_classes() -> None:
    x = tensor(4)
    v = x.numpy()
    expected = sum(max(0, 1 - v[y] + v[i]) for y in (3, 0) for i in (1, 2)) / 4
    close(_nn.multilabel_margin_loss(x, fb.tensor([3, 0, -1, 1]), 1), expected)


def every_alignment(logp: np.ndarray, target: list[int]) -> float:
    """Minus the log of the sum over all paths that spell target once repeats are joined and blanks (0) dropped."""
    total = 0.0
    for path in itertools.product(range(logp.shape[1]), repeat=logp.shape[0]):
        joined = [k for i, k in enumerate(path) if i == 0 or k != path[i - 1]]
        if [k for k in joined if k] == target:
            total += math.exp(sum(logp[t, k] for t, k in enumerate(path)))
    return -math.log(total)


@pytest.mark.parametrize("target", [[1, 2], [1, 1], [2], []])
def test_ctc_loss_sums_over_every_alignment(target: list[int]) -> None:
    logp = np.log(softmax(tensor(5, 1, 3).numpy()))
    expected = every_alignment(logp[:, 0], target)
    loss = fb.ctc_loss(fb.from_numpy(logp), fb.tensor([target or [0]]), [5], [len(target)], 0, 2)
    close(loss, expected)


# -- embeddings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_embedding_picks_rows(dtype: str) -> None:
    w, i = tensor(5, 7), np.array([[0, 4, 4], [1, 0, 2]], dtype)
    close(fb.embedding(w, fb.from_numpy(i)), w.numpy()[i])


def test_embedding_refuses_rows_that_are_not_there() -> None:
    for index in (5, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            fb.embedding(fb.zeros(5, 2), fb.tensor([index]))


def test_embedding_renorm_shrinks_only_long_rows_in_use() -> None:
    w = fb.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    fb.embedding_renorm_(w, fb.tensor([0, 1, 0]), 1.0, 2.0)
    close(w, np.array([[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]]), 1e-6)


@pytest.mark.parametrize(("mode", "fold"), [(0, np.sum), (1, np.mean), (2, np.max)])
def test_embedding_bag_folds_the_rows_of_each_bag(mode: int, fold: Callable) -> None:
    w, i = tensor(6, 3), [1, 2, 4, 1, 5]
    bags = [[1, 2], [], [4, 1, 5]]
    expected = np.array([fold(w.numpy()[b], axis=0) if b else np.zeros(3) for b in bags])
    close(fb.embedding_bag(w, fb.tensor(i), fb.tensor([0, 2, 2]), False, mode)[0], expected)
    padded = np.array([fold(w.numpy()[[k for k in b if k != 1]], axis=0) if b else np.zeros(3) for b in bags])
    close(fb.embedding_bag(w, fb.tensor(i), fb.tensor([0, 2, 2, 5]), False, mode, False, None, True, 1)[0], padded)


def test_one_hot_marks_each_index() -> None:
    i = fb.tensor([[0, 2], [1, 0]])
    np.testing.assert_array_equal(_nn.one_hot(i).numpy(), np.eye(3, dtype=np.int64)[i.numpy()])
    assert tuple(_nn.one_hot(i, 5).shape) == (2, 2, 5)
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        _nn.one_hot(i, 2)


# -- padding, sliding blocks, order -----------------------------------------------------------------------------------

NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}
PADS = [((2, 3, 5), (2, 1)), ((3, 5), (4, 4)), ((2, 3, 5, 4), (1, 2, 4, 0)), ((1, 2, 3, 4, 5), (1, 0, 2, 3, 2, 1))]


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize(("shape", "pad"), PADS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "int8"])
def test_pad_agrees_with_numpy(mode: str, shape: tuple, pad: tuple, dtype: str) -> None:
    x = (tensor(*shape) * 10).numpy().astype(dtype)
    amounts = [(0, 0)] * (len(shape) - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    np.testing.assert_array_equal(_nn.pad(fb.from_numpy(x), pad, mode).numpy(), np.pad(x, amounts, NUMPY_MODES[mode]))


@pytest.mark.parametrize("mode", NUMPY_MODES)
def test_padding_by_negative_amounts_cuts(mode: str) -> None:
    x = tensor(2, 3, 6)
    np.testing.assert_array_equal(_nn.pad(x, (-2, -1), mode).numpy(), x.numpy()[:, :, 2:5])


WINDOWS = [((2, 3), (1, 1), (0, 0), (1, 1)), ((2, 2), (2, 1), (1, 2), (2, 3)), ((1, 1), (1, 1), (2, 2), (3, 3))]


@pytest.mark.parametrize("window", WINDOWS)
def test_im2col_lists_what_the_kernel_sees_and_col2im_is_its_adjoint(window: tuple) -> None:
    kernel, dilation, padding, stride = window
    x = tensor(2, 3, 5, 6)
    cols = _nn.im2col(x, kernel, dilation, padding, stride)
    wide = np.pad(x.numpy(), ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    out = [(s - d * (k - 1) - 1) // t + 1 for s, d, k, t in zip(wide.shape[2:], dilation, kernel, stride)]
    rows, cols_ = (slice(0, k * d, d) for k, d in zip(kernel, dilation))
    starts = itertools.product(range(0, out[0] * stride[0], stride[0]), range(0, out[1] * stride[1], stride[1]))
    blocks = [wide[:, :, y:, x0:][:, :, rows, cols_] for y, x0 in starts]
    expected = np.stack([b.reshape(2, -1) for b in blocks], -1)
    np.testing.assert_array_equal(cols.numpy(), expected)
    other = tensor(*cols.shape, seed=3)
    back = _nn.col2im(other, (5, 6), kernel, dilation, padding, stride)
    np.testing.assert_allclose((back * x).sum().item(), (other * cols).sum().item(), rtol=1e-12)


def test_pixel_unshuffle_undoes_pixel_shuffle() -> None:
    x = tensor(2, 18, 4, 5)
    y = fb.pixel_shuffle(x, 3)
    assert tuple(y.shape) == (2, 2, 12, 15)
    assert y[1, 1, 4, 8].item() == x[1, 9 + 3 * 1 + 2, 1, 2].item()
    np.testing.assert_array_equal(fb.pixel_unshuffle(y, 3).numpy(), x.numpy())


def test_channel_shuffle_deals_channels_out() -> None:
    x = tensor(2, 6, 4)
    np.testing.assert_array_equal(fb.channel_shuffle(x, 2).numpy(), x.numpy()[:, [0, 3, 1, 4, 2, 5]])


# -- distances --------------------------------------------------------------------------------------------------------


def test_cosine_similarity_is_1_for_multiples_and_0_at_right_angles() -> None:
    x = tensor(3, 4)
    close(fb.cosine_similarity(x, x * 7), np.ones(3))
    close(fb.cosine_similarity(fb.tensor([1.0, 0.0]), fb.tensor([0.0, 3.0]), 0), np.zeros(()))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_pairwise_distance_is_the_norm_of_the_difference(p: float) -> None:
    a, b = tensor(3, 4), tensor(3, 4, seed=1)
    close(fb.pairwise_distance(a, b, p), np.linalg.norm(a.numpy() - b.numpy() + 1e-6, p, axis=-1))


def test_losses_of_distances_follow_their_formulas() -> None:
    a, b, c = (tensor(3, 4, seed=s) for s in range(3))
    d = [np.linalg.norm(u.numpy() - v.numpy() + 1e-6, axis=-1) for u, v in ((a, b), (a, c), (b, c))]
    close(fb.triplet_margin_loss(a, b, c, reduction=0), np.maximum(0, 1 + d[0] - d[1]))
    close(fb.triplet_margin_loss(a, b, c, swap=True, reduction=0), np.maximum(0, 1 + d[0] - np.minimum(d[1], d[2])))
    y = fb.tensor([1.0, -1.0, 1.0], dtype=fb.float64)
    cos = (a.numpy() * b.numpy()).sum(-1) / np.sqrt((a.numpy() ** 2).sum(-1) * (b.numpy() ** 2).sum(-1))
    close(fb.cosine_embedding_loss(a, b, y, 0.1), np.where(y.numpy() == 1, 1 - cos, np.maximum(0, cos - 0.1)))
    x, z = a[:, 0], b[:, 0]
    close(fb.hinge_embedding_loss(x, y), np.where(y.numpy() == 1, x.numpy(), np.maximum(0, 1 - x.numpy())))
    close(fb.margin_ranking_loss(x, z, y, 0.3), np.maximum(0, -y.numpy() * (x.numpy() - z.numpy()) + 0.3))


def test_bilinear_is_a_form_in_both_inputs() -> None:
    a, b, w, bias = tensor(2, 5, 3), tensor(2, 5, 4, seed=1), tensor(6, 3, 4, seed=2), tensor(6, seed=3)
    close(fb.bilinear(a, b, w, bias), np.einsum("...i,kij,...j->...k", a.numpy(), w.numpy(), b.numpy()) + bias.numpy())


# -- grids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_identity_grid_gives_the_input_back(mode: int, align: bool) -> None:
    x, theta = tensor(2, 3, 4, 5), fb.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=fb.float64)
    grid = fb.affine_grid_generator(theta, [2, 3, 4, 5], align)
    close(fb.grid_sampler(x, grid, mode, 0, align), x.numpy())
    if mode < 2:
        volume, identity = tensor(1, 2, 3, 4, 5), fb.tensor([np.eye(3, 4).tolist()], dtype=fb.float64)
        close(
            fb.grid_sampler(volume, fb.affine_grid_generator(identity, [1, 2, 3, 4, 5], align), mode, 0, align),
            volume.numpy(),
        )


def test_grid_padding_says_what_lies_outside() -> None:
    x = fb.tensor([[[[1.0, 2.0, 4.0]]]])
    far = fb.tensor([[[[2.0, 0.0], [-2.0, 0.0]]]])  # with corners aligned: index 3 and -1 of 0..2
    for padding, expected in ((0, [0.0, 0.0]), (1, [4.0, 1.0]), (2, [2.0, 2.0])):
        close(fb.grid_sampler(x, far, 0, padding, True), np.array([[[expected]]]))


# -- attention --------------------------------------------------------------------------------------------------------


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, hidden: np.ndarray | None = None, scale: float | None = None
) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(softmax(scores)) @ v


SHAPES = [
    ((3, 4), (5, 4), (5, 6)),
    ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)),
    ((1, 2, 70, 8), (1, 2, 133, 8), (1, 2, 133, 8)),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_attention_is_a_softmax_average_of_values(shapes: tuple) -> None:
    q, k, v = (tensor(*s, seed=i) for i, s in enumerate(shapes))
    arrays = q.numpy(), k.numpy(), v.numpy()
    size = (shapes[0][-2], shapes[1][-2])
    close(_nn.scaled_dot_product_attention(q, k, v), attention(*arrays))
    close(
        _nn.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        attention(*arrays, np.triu(np.ones(size), 1) > 0, 0.3),
    )
    seen = np.random.default_rng(5).random(size) > 0.5
    seen[0] = False  # a query that sees nothing gives 0
    close(_nn.scaled_dot_product_attention(q, k, v, fb.from_numpy(seen)), attention(*arrays, ~seen))
    bias = fb.from_numpy(np.where(seen, 0.0, -np.inf))
    close(_nn.scaled_dot_product_attention(q, k, v, bias), attention(*arrays, ~seen))


def test_grouped_heads_are_repeated_heads() -> None:
    q, k, v = tensor(2, 6, 3, 4), tensor(2, 2, 5, 4, seed=1), tensor(2, 2, 5, 4, seed=2)
    repeated = [fb.from_numpy(np.repeat(t.numpy(), 3, 1)) for t in (k, v)]
    close(
        _nn.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        _nn.scaled_dot_product_attention(q, *repeated).numpy(),
    )


# -- derivatives: against differences of the function, and of the derivative ------------------------------------------

Y = fb.tensor([2, 0, 1])
W4 = tensor(4, seed=9).abs() + 0.1
DERIVATIVES = {
    "layer_norm": (lambda x, w, b: fb.layer_norm(x, [4], w, b), [(3, 4), (4,), (4,)], True),
    "rms_norm": (lambda x, w: fb.rms_norm(x, [4], w), [(3, 4), (4,)], True),
    "group_norm": (lambda x, w, b: fb.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)], True),
    "batch_norm": (lambda x, w, b: fb.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, True), [(5, 3, 2), (3,), (3,)], True),
    "batch_norm, eval": (lambda x, w, b: fb.batch_norm(x, w, b, W4[:3], W4[1:], False, 0.1, 1e-5, True), [(5, 3, 2), (3,), (3,)], True),
    "instance_norm": (lambda x, w, b: fb.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True), [(2, 3, 4), (3,), (3,)], True),
    "cross_entropy": (lambda x: _nn.cross_entropy_loss(x, Y, W4, 1), [(3, 4)], True),
    "cross_entropy, smoothed": (lambda x: _nn.cross_entropy_loss(x, Y, W4, 0, 1, 0.2), [(3, 4)], True),
    "cross_entropy, probabilities": (lambda x, y: _nn.cross_entropy_loss(x, y, W4, 1), [(3, 4), (3, 4)], True),
    "nll_loss": (lambda x: _nn.nll_loss_nd(x, Y, W4, 1), [(3, 4)], True),
    "embedding": (lambda w: fb.embedding(w, Y), [(5, 3)], True),
    "embedding_bag": (lambda w, s: fb.embedding_bag(w, Y, fb.tensor([0, 1]), False, 0, False, s)[0], [(5, 3), (3,)], False),
    "multilabel_margin": (lambda x: _nn.multilabel_margin_loss(x, fb.tensor([3, 0, -1, 1]), 1), [(4,)], False),
    "multi_margin": (lambda x: _nn.multi_margin_loss(x, Y, 2, 1.0, W4, 1), [(3, 4)], True),
    "reflect": (lambda x: _nn.pad(x, (3, 1, 0, 2), "reflect"), [(2, 3, 4)], True),
    "replicate": (lambda x: _nn.pad(x, (3, 1, 0, 2), "replicate"), [(2, 3, 4)], True),
    "circular": (lambda x: _nn.pad(x, (3, 1, 0, 2), "circular"), [(2, 3, 4)], True),
    "im2col": (lambda x: _nn.im2col(x, (2, 2), (1, 2), (1, 0), (2, 1)), [(2, 3, 4)], True),
    "col2im": (lambda x: _nn.col2im(x, (3, 4), (2, 2), (1, 1), (0, 0), (1, 1)), [(8, 6)], True),
    "cosine_similarity": (fb.cosine_similarity, [(3, 4), (3, 4)], True),
    "bilinear": (fb.bilinear, [(2, 3), (2, 4), (2, 3, 4), (2,)], True),
    "grid, bilinear": (lambda x, g: fb.grid_sampler(x, g, 0, 0, False), [(1, 2, 3, 4), (1, 2, 2, 2)], False),
    "grid, bicubic": (lambda x, g: fb.grid_sampler(x, g, 2, 1, True), [(1, 2, 3, 4), (1, 2, 2, 2)], False),
    "attention": (lambda q, k, v: _nn.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 3, 4), (2, 5, 4), (2, 5, 3)], True),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_the_function(name: str) -> None:
    autograd = pytest.importorskip("flambeau.autograd")
    fn, shapes, twice = DERIVATIVES[name]
    inputs = [tensor(*s, seed=10 + i).requires_grad_() for i, s in enumerate(shapes)]
    assert autograd.gradcheck(fn, inputs)
    if twice:
        assert autograd.gradgradcheck(fn, inputs)


def test_the_padding_row_gets_no_gradient_and_frequent_rows_may_share_theirs() -> None:
    autograd = pytest.importorskip("flambeau.autograd")
    w, i = tensor(4, 2).requires_grad_(), fb.tensor([1, 2, 2, 0])
    for scaled, expected in ((False, [0, 1, 2, 0]), (True, [0, 1, 1, 0])):
        (g,) = autograd.grad(fb.embedding(w, i, 0, scaled).sum(), w)
        close(g, np.repeat(np.array(expected, float)[:, None], 2, 1))


def test_ctc_loss_differentiates_through_log_softmax() -> None:
    autograd = pytest.importorskip("flambeau.autograd")  # alone, its gradient presumes that log_probs are normalized
    y = fb.tensor([[1, 2], [1, 1]])
    assert autograd.gradcheck(
        lambda x: fb.ctc_loss(x.log_softmax(2), y, [5, 4], [2, 2], 0, 1), [tensor(5, 2, 3).requires_grad_()]
    )
