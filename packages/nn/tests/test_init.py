"""Starting values: the seed's draws, the laws of the distributions, and what is refused."""

import math

import flambeau as fb
import pytest
from flambeau import nn
from flambeau.nn import init
from hypothesis import given
from hypothesis import strategies as st

W = (60, 50)


def filled(fill, shape=W, **kwargs):
    fb.manual_seed(0)
    tensor = nn.Parameter(fb.empty(shape))
    assert fill(tensor, **kwargs) is tensor and tensor.is_leaf and tensor.requires_grad
    return tensor.detach()


# Standard deviation and bound that the papers' formulas give for a (60, 50) weight; None where it has no bound.
SPREADS = [
    (init.uniform_, {"a": -2.0, "b": 2.0}, 2 / math.sqrt(3), 2),
    (init.normal_, {"std": 0.3}, 0.3, None),
    (init.trunc_normal_, {"std": 0.5, "a": -10.0, "b": 10.0}, 0.5, 10),
    (init.xavier_uniform_, {}, math.sqrt(2 / 110), math.sqrt(6 / 110)),
    (init.xavier_normal_, {"gain": 2.0}, 2 * math.sqrt(2 / 110), None),
    (init.kaiming_uniform_, {"nonlinearity": "relu"}, math.sqrt(2 / 50), math.sqrt(6 / 50)),
    (init.kaiming_normal_, {"mode": "fan_out", "nonlinearity": "relu"}, math.sqrt(2 / 60), None),
    (init.kaiming_normal_, {"a": 0.5}, math.sqrt(2 / 1.25 / 50), None),
]


@pytest.mark.parametrize("fill, kwargs, std, bound", SPREADS)
def test_values_have_the_spread_of_the_formula(fill, kwargs, std, bound):
    values = filled(fill, **kwargs)
    assert abs(values.mean().item()) < 0.1 * std
    assert values.std().item() == pytest.approx(std, rel=0.05)
    if bound is not None:
        assert values.abs().max().item() <= bound


@pytest.mark.parametrize(
    "fill", [init.uniform_, init.normal_, init.trunc_normal_, init.kaiming_uniform_, init.xavier_normal_]
)
def test_a_generator_takes_the_place_of_the_default_one(fill):
    a = filled(fill, generator=fb.Generator().manual_seed(5))
    before = fb.rand(1)
    b = filled(fill, generator=fb.Generator().manual_seed(5))
    assert fb.equal(a, b) and fb.equal(before, fb.rand(1))
    assert not fb.equal(a, filled(fill))


@given(st.floats(-2, 2), st.floats(0.1, 3), st.floats(-3, 0), st.floats(0.2, 3))
@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
def test_truncated_values_are_inside(mean, std, a, width):
    values = filled(init.trunc_normal_, (20, 5), mean=mean, std=std, a=a, b=a + width)
    assert a - 1e-6 <= values.min().item() and values.max().item() <= a + width + 1e-6


def test_truncation_keeps_the_shape_of_the_distribution():
    # P(x < 0) for a normal distribution cut to [-1, 2]: 0.3413 / (0.3413 + 0.4772).
    share = (filled(init.trunc_normal_, (200, 100), a=-1.0, b=2.0) < 0).float().mean().item()
    assert share == pytest.approx(0.41698, abs=0.01)
    # Far in the tail, where proposals are uniform: the density falls by exp(-3) from 1 to 1.5, times exp(-0.125).
    tail = filled(init.trunc_normal_, (200, 100), mean=-5.0, a=1.0, b=1.5)
    assert tail.mean().item() == pytest.approx(1.136, abs=0.01)


def test_a_mean_far_outside_is_warned_of():
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(fb.empty(3), mean=9.0, std=1.0)


def test_constants():
    assert filled(init.constant_, (2, 2), val=3.0).tolist() == [[3, 3], [3, 3]]
    assert filled(init.ones_, (2,)).tolist() == [1, 1] and filled(init.zeros_, (2,)).tolist() == [0, 0]
    assert filled(init.eye_, (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("shape, groups", [((4, 4, 3), 1), ((6, 2, 3, 3), 3), ((2, 4, 1, 3, 3), 1)])
def test_a_dirac_convolution_passes_its_input_through(shape, groups):
    weight = filled(init.dirac_, shape, groups=groups)
    channels, n = shape[1] * groups, len(shape) - 2
    x = fb.rand(1, channels, *[7] * n)
    conv = getattr(nn.functional, f"conv{n}d")
    out = conv(x, weight, padding=tuple(k // 2 for k in shape[2:]), groups=groups)
    per_group = min(shape[0] // groups, shape[1])
    for g in range(groups):
        for d in range(per_group):
            assert fb.equal(out[:, g * (shape[0] // groups) + d], x[:, g * shape[1] + d])


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    w = filled(init.orthogonal_, shape, gain=2.0).reshape(shape[0], -1)
    gram = w @ w.T if w.size(0) <= w.size(1) else w.T @ w
    assert fb.allclose(gram, 4 * fb.eye(gram.size(0)), atol=1e-5)


def test_sparse_columns_have_their_share_of_zeros():
    w = filled(init.sparse_, (10, 8), sparsity=0.35)
    assert (w == 0).sum(0).tolist() == [4] * 8


def test_gains():
    assert init.calculate_gain("linear") == init.calculate_gain("conv2d") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("tanh") == pytest.approx(5 / 3) and init.calculate_gain("selu") == 0.75
    assert init.calculate_gain("relu") == pytest.approx(math.sqrt(2))
    assert init.calculate_gain("leaky_relu") == init.calculate_gain("leaky_relu", 0.01)
    assert init.calculate_gain("leaky_relu", 1) == pytest.approx(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: init.calculate_gain("nothing"),
        lambda: init.calculate_gain("leaky_relu", True),
        lambda: init.eye_(fb.empty(3)),
        lambda: init.dirac_(fb.empty(3, 3)),
        lambda: init.dirac_(fb.empty(3, 3, 3), groups=2),
        lambda: init.xavier_uniform_(fb.empty(3)),
        lambda: init.kaiming_normal_(fb.empty(3, 3), mode="sideways"),
        lambda: init.orthogonal_(fb.empty(3)),
        lambda: init.sparse_(fb.empty(3), 0.5),
    ],
)
def test_what_cannot_be_filled_is_a_value_error(call):
    with pytest.raises(ValueError):
        call()


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="kaiming_uniform_"):
        init.kaiming_uniform(fb.empty(2, 2))


def test_an_empty_weight_is_left_alone():
    with pytest.warns(UserWarning, match="no-op"):
        nn.Linear(0, 3)
