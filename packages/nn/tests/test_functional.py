"""Laws of the functions, and what they refuse. Values are compared with PyTorch's through the layers."""

import math

import flambeau as fb
import flambeau.nn.functional as F
import pytest
from flambeau import nn
from hypothesis import given
from hypothesis import strategies as st

X = fb.linspace(-3, 3, 24).reshape(2, 3, 4)
IMAGE = fb.linspace(-1, 2, 2 * 3 * 6 * 5).sin().reshape(2, 3, 6, 5)


def close(a, b, atol=1e-6):
    return fb.allclose(a, b, atol=atol)


# Written out from the definitions.
FORMULAS = {
    "relu": (F.relu, lambda x: x.clamp(min=0)),
    "relu6": (F.relu6, lambda x: x.clamp(0, 6)),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda x: fb.maximum(x, 0.2 * x)),
    "rrelu": (F.rrelu, lambda x: fb.where(x < 0, x * (1 / 8 + 1 / 3) / 2, x)),
    "elu": (lambda x: F.elu(x, 0.5), lambda x: fb.where(x > 0, x, 0.5 * (x.exp() - 1))),
    "celu": (lambda x: F.celu(x, 2.0), lambda x: fb.where(x > 0, x, 2 * ((x / 2).exp() - 1))),
    "selu": (F.selu, lambda x: 1.0507009873554805 * fb.where(x > 0, x, 1.6732632423543772 * (x.exp() - 1))),
    "silu": (F.silu, lambda x: x / (1 + (-x).exp())),
    "mish": (F.mish, lambda x: x * (1 + x.exp()).log().tanh()),
    "gelu": (F.gelu, lambda x: x * (1 + fb.erf(x / math.sqrt(2))) / 2),
    "hardtanh": (lambda x: F.hardtanh(x, -1, 2), lambda x: x.clamp(-1, 2)),
    "hardsigmoid": (F.hardsigmoid, lambda x: (x / 6 + 0.5).clamp(0, 1)),
    "hardswish": (F.hardswish, lambda x: x * (x / 6 + 0.5).clamp(0, 1)),
    "hardshrink": (F.hardshrink, lambda x: fb.where(x.abs() > 0.5, x, fb.zeros_like(x))),
    "softshrink": (F.softshrink, lambda x: x.sign() * (x.abs() - 0.5).clamp(min=0)),
    "softplus": (lambda x: F.softplus(x, 2), lambda x: (1 + (2 * x).exp()).log() / 2),
    "softsign": (F.softsign, lambda x: x / (1 + x.abs())),
    "tanhshrink": (F.tanhshrink, lambda x: x - x.tanh()),
    "threshold": (lambda x: F.threshold(x, 0.5, 7.0), lambda x: fb.where(x > 0.5, x, fb.full_like(x, 7))),
    "logsigmoid": (F.logsigmoid, lambda x: -(1 + (-x).exp()).log()),
    "glu": (F.glu, lambda x: x[..., :2] * x[..., 2:].sigmoid()),
    "softmax": (lambda x: F.softmax(x, 1), lambda x: x.exp() / x.exp().sum(1, keepdim=True)),
    "softmin": (lambda x: F.softmin(x, 1), lambda x: (-x).exp() / (-x).exp().sum(1, keepdim=True)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), lambda x: x - x.exp().sum(1, keepdim=True).log()),
    "normalize": (lambda x: F.normalize(x, dim=2), lambda x: x / (x * x).sum(2, keepdim=True).sqrt()),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_follows_its_formula(name):
    function, formula = FORMULAS[name]
    assert close(function(X), formula(X), 1e-5)


@pytest.mark.parametrize(
    "name",
    ["relu", "relu6", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish"],
)
def test_inplace_writes_the_same_into_the_argument(name):
    function, x = getattr(F, name), X.clone()
    assert function(x, inplace=True) is x and fb.equal(x, function(X))


def test_linear_is_the_operator_itself():
    assert F.linear is fb._nn.linear and F.conv2d is fb.conv2d and F.gelu is fb._nn.gelu


def test_a_missing_dim_is_guessed_with_a_warning():
    with pytest.warns(UserWarning, match="Implicit dimension"):
        assert close(F.softmax(X), F.softmax(X, 0))
    assert F.softmax(X, 1, dtype=fb.float64).dtype == fb.float64


def test_gumbel_softmax_draws_one_hot_vectors_with_soft_gradients():
    logits = fb.zeros(50, 4, requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    assert close(hard.sum(-1), fb.ones(50)) and set(hard.detach().round(decimals=4).flatten().tolist()) == {0, 1}
    (hard * fb.arange(4.0)).sum().backward()
    assert logits.grad.abs().sum() > 0


# -- dropout -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function, axes", [(F.dropout, 0), (F.dropout2d, 2)])
def test_dropout_keeps_the_mean_and_whole_channels(function, axes):
    x = fb.ones(40, 50, 2, 2)
    out = function(x, 0.25)
    assert sorted(out.unique().tolist()) == [0, pytest.approx(4 / 3)]
    assert out.mean().item() == pytest.approx(1, abs=0.08)
    if axes:
        assert (out.amax((2, 3)) == out.amin((2, 3))).all()
    assert fb.equal(function(x, 0.25, training=False), x) and function(x, 1.0).abs().sum() == 0


@pytest.mark.parametrize(
    "function", [F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout]
)
@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_a_probability_outside_0_and_1_is_refused(function, p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        function(X, p)


def test_channels_of_unbatched_inputs_are_dropped():
    out = F.dropout1d(fb.ones(60, 5))
    assert (out.amax(1) == out.amin(1)).all() and 0 < (out == 0).sum() < 300
    with pytest.raises(RuntimeError):
        F.dropout1d(fb.ones(2))
    with pytest.warns(UserWarning, match="3D input to dropout2d"):
        F.dropout2d(X)
    with pytest.warns(UserWarning, match="dropout3d"):
        F.dropout3d(X)


# -- pooling and resampling --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_puts_maxima_back(n):
    x = fb.randperm(2 * 6**n).float().reshape(1, 2, *[6] * n) + 1
    top, places = getattr(F, f"max_pool{n}d")(x, 2, return_indices=True)
    back = getattr(F, f"max_unpool{n}d")(top, places, 2)
    assert back.shape == x.shape and fb.equal(back[back != 0], x[back != 0]) and (back != 0).sum() == top.numel()
    wide = getattr(F, f"max_unpool{n}d")(top, places, 2, output_size=[7] * n)
    assert wide.shape[2:] == (7,) * n
    with pytest.raises(ValueError):
        getattr(F, f"max_unpool{n}d")(top, places, 2, output_size=[9] * n)
    with pytest.raises(ValueError):
        getattr(F, f"max_unpool{n}d")(top, places, 2, output_size=[7] * (n + 1))


def test_windows_of_the_whole_image_pool_to_the_image():
    assert close(F.adaptive_avg_pool2d(IMAGE, 1).flatten(1), IMAGE.mean((2, 3)))
    assert fb.equal(F.adaptive_max_pool2d(IMAGE, (None, 1)), IMAGE.amax(3, keepdim=True))
    assert close(F.lp_pool2d(IMAGE, 2, (6, 5)).flatten(1), (IMAGE**2).sum((2, 3)).sqrt(), 1e-5)
    with pytest.raises(ValueError, match="dimension"):
        F.adaptive_avg_pool3d(X, (1, 1, 1))


def test_fractional_pooling_takes_maxima_of_its_input():
    out, places = F.fractional_max_pool2d(IMAGE, 2, output_ratio=0.6, return_indices=True)
    assert out.shape == (2, 3, 3, 3) and fb.equal(IMAGE.flatten(2).gather(2, places.flatten(2)), out.flatten(2))
    with pytest.raises(ValueError):
        F.fractional_max_pool2d(IMAGE, 2)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
def test_resampling_to_the_same_size_changes_nothing(mode):
    assert close(F.interpolate(IMAGE, (6, 5), mode=mode), IMAGE)
    constant = F.interpolate(fb.ones(1, 1, 4, 4), scale_factor=1.7, mode=mode)
    assert close(constant, fb.ones_like(constant)) and constant.shape[2:] == (6, 6)


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({}, ValueError),
        ({"size": 3, "scale_factor": 2}, ValueError),
        ({"size": (3,)}, ValueError),
        ({"size": 3, "align_corners": True}, ValueError),
        ({"size": 3, "recompute_scale_factor": True}, ValueError),
        ({"size": 3, "antialias": True}, ValueError),
        ({"size": 3, "mode": "linear"}, NotImplementedError),
        ({"size": 3, "mode": "cubic"}, NotImplementedError),
    ],
)
def test_resampling_refuses_what_it_cannot_do(kwargs, error):
    with pytest.raises(error):
        F.interpolate(IMAGE, **kwargs)


def test_the_identity_grid_samples_the_image():
    theta = fb.eye(2, 3).expand(2, 2, 3)
    for corners in (True, False):
        grid = F.affine_grid(theta, IMAGE.shape, align_corners=corners)
        assert close(F.grid_sample(IMAGE, grid, align_corners=corners), IMAGE, 1e-5)
    for call in (
        lambda: F.grid_sample(IMAGE, grid, "cubic", align_corners=True),
        lambda: F.grid_sample(IMAGE, grid, padding_mode="wrap", align_corners=True),
        lambda: F.affine_grid(theta[:, :1], IMAGE.shape, False),
        lambda: F.affine_grid(theta.long(), IMAGE.shape, False),
        lambda: F.affine_grid(theta, (2, 3, 0, 4), False),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.warns(UserWarning, match="align_corners=False"):
        F.affine_grid(theta, IMAGE.shape)


def test_folding_undoes_unfolding_where_windows_do_not_overlap():
    columns = F.unfold(IMAGE, (2, 5), stride=(2, 5))
    assert columns.shape == (2, 30, 3) and fb.equal(F.fold(columns, (6, 5), (2, 5), stride=(2, 5)), IMAGE)


# -- normalizations ----------------------------------------------------------------------------------------------------


def test_normalized_values_have_mean_0_and_variance_1():
    x = fb.randn(4, 6, 5, 5) * 3 + 7
    for out, dims in (
        (F.batch_norm(x, None, None, training=True), (0, 2, 3)),
        (F.instance_norm(x), (2, 3)),
        (F.layer_norm(x, (5, 5)), (2, 3)),
        (F.group_norm(x, 2).reshape(4, 2, -1), 2),
    ):
        assert close(out.mean(dims), fb.zeros(1), 1e-4) and close(out.var(dims, unbiased=False), fb.ones(1), 1e-3)
    assert close(F.rms_norm(x, (5,)).pow(2).mean(-1), fb.ones(1), 1e-4)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: F.batch_norm(fb.ones(1, 3), None, None, training=True), ValueError),
        (lambda: F.batch_norm(fb.ones(2, 3), None, None, training=True, eps=0.0), ValueError),
        (lambda: F.instance_norm(fb.ones(2, 3, 1)), ValueError),
        (lambda: F.group_norm(fb.ones(3), 1), RuntimeError),
        (lambda: F.local_response_norm(fb.ones(2, 3), 2), ValueError),
        (lambda: F.hardtanh(X, 1.0, -1.0), ValueError),
        (lambda: F.glu(fb.tensor(1.0)), RuntimeError),
    ],
)
def test_inputs_without_a_meaning_are_refused(call, error):
    with pytest.raises(error):
        call()


# -- embeddings --------------------------------------------------------------------------------------------------------


def test_bags_reduce_the_rows_of_the_table():
    table, index = fb.randn(6, 3), fb.tensor([[0, 1], [5, 5], [2, 4]])
    rows = F.embedding(index, table)
    assert fb.equal(rows, table[index])
    for mode, want in (("sum", rows.sum(1)), ("mean", rows.mean(1)), ("max", rows.amax(1))):
        assert close(F.embedding_bag(index, table, mode=mode), want)
    flat = F.embedding_bag(index.flatten(), table, fb.tensor([0, 2, 4]), mode="sum")
    assert close(flat, rows.sum(1))
    weights = fb.tensor([[1.0, 2.0]] * 3)
    assert close(
        F.embedding_bag(index, table, mode="sum", per_sample_weights=weights), (rows * weights[..., None]).sum(1)
    )


def test_max_norm_shortens_the_rows_that_are_used():
    table = fb.full((3, 4), 2.0)
    F.embedding(fb.tensor([1]), table, max_norm=1.0)
    assert table.norm(dim=1).tolist() == [4, pytest.approx(1), 4]


@pytest.mark.parametrize(
    "args, kwargs, error",
    [
        ((fb.tensor([1]), fb.ones(2, 2)), {}, ValueError),
        ((fb.tensor([[1]]), fb.ones(2, 2), fb.tensor([0])), {}, ValueError),
        ((fb.tensor([[1]]), fb.ones(2, 2)), {"mode": "min"}, ValueError),
        ((fb.tensor([[1]]), fb.ones(2, 2)), {"mode": "max", "sparse": True}, ValueError),
        ((fb.tensor([[1]]), fb.ones(2, 2)), {"mode": "mean", "per_sample_weights": fb.ones(1, 1)}, NotImplementedError),
        ((fb.tensor([[1]]), fb.ones(2, 2)), {"mode": "sum", "per_sample_weights": fb.ones(1, 2)}, ValueError),
        ((fb.tensor([[[1]]]), fb.ones(2, 2)), {}, ValueError),
        ((fb.tensor([[1]]), fb.ones(2, 2)), {"padding_idx": 2}, AssertionError),
    ],
)
def test_bags_that_make_no_sense_are_refused(args, kwargs, error):
    with pytest.raises(error):
        F.embedding_bag(*args, **kwargs)


# -- losses ------------------------------------------------------------------------------------------------------------

A, B = X[0], X[1].sin()
SIGN = fb.tensor([1.0, -1.0, 1.0])
PAIRWISE = {
    "mse_loss": lambda r: F.mse_loss(A, B, reduction=r),
    "l1_loss": lambda r: F.l1_loss(A, B, reduction=r),
    "smooth_l1_loss": lambda r: F.smooth_l1_loss(A, B, reduction=r, beta=0.5),
    "smooth_l1_loss with beta 0": lambda r: F.smooth_l1_loss(A, B, reduction=r, beta=0.0),
    "huber_loss": lambda r: F.huber_loss(A, B, reduction=r),
    "poisson_nll_loss": lambda r: F.poisson_nll_loss(A, B.abs(), reduction=r),
    "gaussian_nll_loss": lambda r: F.gaussian_nll_loss(A, B, 0.5, reduction=r),
    "nll_loss": lambda r: F.nll_loss(A, fb.tensor([0, 3, 1]), reduction=r),
    "cross_entropy": lambda r: F.cross_entropy(A, fb.tensor([0, 3, 1]), reduction=r),
    "binary_cross_entropy": lambda r: F.binary_cross_entropy(A.sigmoid(), B.sigmoid(), reduction=r),
    "binary_cross_entropy_with_logits": lambda r: F.binary_cross_entropy_with_logits(A, B.sigmoid(), reduction=r),
    "hinge_embedding_loss": lambda r: F.hinge_embedding_loss(A[:, 0], SIGN, reduction=r),
    "soft_margin_loss": lambda r: F.soft_margin_loss(A[:, 0], SIGN, reduction=r),
    "multilabel_margin_loss": lambda r: F.multilabel_margin_loss(A, fb.tensor([[0, 1, -1, 2]] * 3), reduction=r),
    "multilabel_soft_margin_loss": lambda r: F.multilabel_soft_margin_loss(A, B.sigmoid(), reduction=r),
    "multi_margin_loss": lambda r: F.multi_margin_loss(A, fb.tensor([0, 3, 1]), reduction=r),
    "cosine_embedding_loss": lambda r: F.cosine_embedding_loss(A, B, SIGN, reduction=r),
    "margin_ranking_loss": lambda r: F.margin_ranking_loss(A[:, 0], B[:, 0], SIGN, reduction=r),
    "triplet_margin_loss": lambda r: F.triplet_margin_loss(A, B, A.cos(), reduction=r),
    "triplet_margin_with_distance_loss": lambda r: F.triplet_margin_with_distance_loss(A, B, A.cos(), reduction=r),
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_a_reduced_loss_is_the_mean_or_sum_of_the_unreduced(name):
    loss = PAIRWISE[name]
    assert close(loss("mean"), loss("none").mean(), 1e-5) and close(loss("sum"), loss("none").sum(), 1e-4)
    with pytest.raises(ValueError, match="not"):
        loss("median")


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.huber_loss])
def test_a_weight_makes_the_mean_a_weighted_one(loss):
    weight = fb.arange(12.0).reshape(3, 4)
    each = loss(A, B, reduction="none")
    assert close(loss(A, B, weight=weight), (each * weight).sum() / weight.sum(), 1e-5)
    assert close(loss(A, B, weight=weight, reduction="sum"), (each * weight).sum(), 1e-4)
    assert close(loss(A, B, weight=weight, reduction="none"), each * weight)
    with pytest.raises(ValueError, match="same size"):
        loss(A, B, weight=weight[:1])
    with pytest.raises(ValueError):
        loss(A, B, weight=weight, reduction="median")


@pytest.mark.parametrize(
    "size_average, reduce, name",
    [(None, False, "none"), (False, None, "sum"), (True, None, "mean"), (None, True, "mean")],
)
def test_the_older_arguments_name_a_reduction(size_average, reduce, name):
    with pytest.warns(UserWarning, match=f"reduction='{name}'"):
        assert fb.equal(F.mse_loss(A, B, size_average, reduce), F.mse_loss(A, B, reduction=name))
    with pytest.warns(UserWarning):
        assert nn.L1Loss(size_average, reduce).reduction == name


def test_sizes_that_differ_are_broadcast_with_a_warning():
    with pytest.warns(UserWarning, match="different to the input size"):
        assert close(F.mse_loss(A, B[:1]), ((A - B[:1]) ** 2).mean(), 1e-5)


def test_losses_are_related_as_their_definitions_are():
    target = fb.tensor([0, 3, 1])
    assert close(F.cross_entropy(A, target), F.nll_loss(F.log_softmax(A, 1), target))
    p, t = A.sigmoid(), B.sigmoid()
    assert close(F.binary_cross_entropy_with_logits(A, t), F.binary_cross_entropy(p, t), 1e-5)
    assert close(F.huber_loss(A, B, delta=0.5), 0.5 * F.smooth_l1_loss(A, B, beta=0.5), 1e-5)
    one_hot = F.one_hot(target, 4).float()
    assert close(F.cross_entropy(A, one_hot), F.cross_entropy(A, target), 1e-5)
    smoothed = F.cross_entropy(A, target, label_smoothing=0.2)
    assert close(smoothed, F.cross_entropy(A, 0.8 * one_hot + 0.05), 1e-5)
    q = F.softmax(B, 1)
    divergence = F.kl_div(F.log_softmax(A, 1), q, reduction="batchmean")
    assert close(divergence, (q * (q.log() - F.log_softmax(A, 1))).sum() / 3, 1e-5)
    assert close(F.kl_div(F.log_softmax(A, 1), q.log(), reduction="batchmean", log_target=True), divergence, 1e-5)
    weight = fb.randn(5, 4)
    assert close(F.linear_cross_entropy(A, weight, target), F.cross_entropy(A @ weight.T, target), 1e-5)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_ctc_sums_over_all_alignments(label):
    steps, classes = 4, 4
    log_p = F.log_softmax(fb.arange(steps * classes).reshape(steps, 1, classes).float().sin(), -1)
    table, total = log_p[:, 0].exp().tolist(), 0.0
    for code in range(classes**steps):
        path = [code // classes**t % classes for t in range(steps)]
        merged = [c for i, c in enumerate(path) if c and (i == 0 or c != path[i - 1])]
        if merged == label:
            total += math.prod(table[t][c] for t, c in enumerate(path))
    loss = F.ctc_loss(log_p, fb.tensor([label]), (steps,), (len(label),), reduction="sum").item()
    assert loss == pytest.approx(-math.log(total), rel=1e-4) if total else loss == math.inf


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: F.binary_cross_entropy(A, B[:1]), ValueError),
        (lambda: F.binary_cross_entropy_with_logits(A, B[:1]), ValueError),
        (lambda: F.gaussian_nll_loss(A, B, -1.0), ValueError),
        (lambda: F.gaussian_nll_loss(A, B, -B.abs()), ValueError),
        (lambda: F.gaussian_nll_loss(A, B, fb.ones(4)), ValueError),
        (lambda: F.multi_margin_loss(A, fb.tensor([0, 1, 2]), p=3), ValueError),
        (lambda: F.multi_margin_loss(A, fb.tensor([0, 1, 2]), weight=fb.ones(1, 4)), ValueError),
        (lambda: F.margin_ranking_loss(A, B, SIGN), RuntimeError),
        (lambda: F.triplet_margin_loss(A, B, A, margin=0), ValueError),
        (lambda: F.triplet_margin_with_distance_loss(A, B, A, margin=0), ValueError),
        (lambda: F.triplet_margin_with_distance_loss(A, B, A[0]), RuntimeError),
        (lambda: F.linear_cross_entropy(A, fb.ones(5, 3), fb.tensor([0, 1, 2])), RuntimeError),
        (lambda: F.linear_cross_entropy(A[0], fb.ones(5, 2, 4), fb.tensor([0, 1])), RuntimeError),
        (lambda: nn.HuberLoss(delta=1j), TypeError),
        (lambda: nn.TripletMarginLoss(margin=0.0), ValueError),
        (lambda: nn.MultiMarginLoss(p=3), ValueError),
        (lambda: nn.LinearCrossEntropyLoss(3, 2, weight=fb.ones(3)), RuntimeError),
    ],
)
def test_losses_refuse_what_makes_no_sense(call, error):
    with pytest.raises(error):
        call()
