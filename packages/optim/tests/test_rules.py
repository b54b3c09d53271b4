"""What each optimizer does to parameters, against trajectories recorded from PyTorch and against laws."""

import copy
import inspect
import json
import pathlib

import flambeau as fb
import pytest

from .cases import KEPT, OPTIMIZERS, STEPS, gradient, label, start

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())["optimizers"]
each_rule = pytest.mark.parametrize("case", OPTIMIZERS, ids=label)
NAMES = sorted({name for name, _ in OPTIMIZERS})


def make(case, params, **more):
    name, options = case
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in {**options, **more}.items()}
    return getattr(fb.optim, name)(params, **options)


def parameters(name, dtype=fb.float32):
    return [fb.tensor(v, dtype=dtype).requires_grad_() for v in start(name)]


def walk(opt, params, steps, sign=1):
    """Steps with the table's gradients; yields the parameters after each."""
    for step in steps:
        for i, p in enumerate(params):
            p.grad = sign * fb.tensor(gradient(p.tolist(), step, i), dtype=p.dtype)
        opt.step()
        yield [p.tolist() for p in params]


def close(a, b, rel=1e-5):
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y, rel) for x, y in zip(a, b, strict=True))
    return a == pytest.approx(b, rel=rel, abs=rel)


@each_rule
def test_the_trajectory_is_the_recorded_one(case):
    params = parameters(case[0])
    found = list(walk(make(case, params), params, range(STEPS)))
    # Muon works in bfloat16, where a rounding is a hundredth.
    assert close([found[k] for k in KEPT], RECORDED[label(case)]["params"], rel=2e-2 if case[0] == "Muon" else 1e-5)


@each_rule
def test_groups_and_state_have_the_recorded_keys_and_shapes(case):
    params = parameters(case[0])
    opt = make(case, params)
    list(walk(opt, params, range(STEPS)))
    saved = opt.state_dict()
    assert list(saved["param_groups"][0]) == RECORDED[label(case)]["group_keys"]
    assert {k: list(v.shape) for k, v in saved["state"].get(0, {}).items() if v is not None} == RECORDED[label(case)][
        "state_keys"
    ]


@each_rule
def test_a_training_resumed_from_a_checkpoint_goes_on_bit_by_bit(case):
    whole = parameters(case[0])
    *_, expected = walk(make(case, whole), whole, range(8))

    params = parameters(case[0])
    first = make(case, params)
    list(walk(first, params, range(5)))
    second = make((case[0], {}), params)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert list(walk(second, params, range(5, 8)))[-1] == expected


def takes(name, flag):
    return flag in inspect.signature(getattr(fb.optim, name)).parameters


@pytest.mark.parametrize("case", [c for c in OPTIMIZERS if takes(c[0], "maximize")], ids=label)
def test_maximizing_is_minimizing_the_negative(case):
    name, options = case
    params, mirrored = parameters(name), parameters(name)
    down = list(walk(make((name, {**options, "maximize": False}), params), params, range(5)))
    up = list(walk(make((name, {**options, "maximize": True}), mirrored), mirrored, range(5), sign=-1))
    assert down == up


@pytest.mark.parametrize("name, flag", [(n, f) for n in NAMES for f in ("foreach", "fused") if takes(n, f)])
def test_foreach_and_fused_change_nothing(name, flag):
    plain, flagged = parameters(name), parameters(name)
    expected = list(walk(make((name, {}), plain), plain, range(4)))
    assert list(walk(make((name, {flag: True}), flagged), flagged, range(4))) == expected


@each_rule
def test_a_parameter_without_gradient_stays_and_gets_no_step(case):
    params = parameters(case[0])
    opt = make(case, params)
    before = params[0].tolist()
    for p in params[1:]:
        p.grad = fb.ones_like(p)
    opt.step()
    assert params[0].tolist() == before
    assert "step" not in opt.state[params[0]] or opt.state[params[0]]["step"].item() == 0


@each_rule
def test_double_precision_parameters_have_double_precision_state(case):
    params = parameters(case[0], fb.float64)
    opt = make(case, params)
    *_, last = walk(opt, params, range(STEPS))
    assert close(last, RECORDED[label(case)]["params"][-1], rel=2e-2 if case[0] == "Muon" else 1e-4)
    kept = [v for k, v in opt.state[params[0]].items() if isinstance(v, fb.Tensor) and v.dim()]
    assert all(v.dtype == fb.float64 for v in kept)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon")])
def test_a_complex_parameter_is_the_pair_of_its_parts(name):
    parts = fb.tensor([[0.5, -1.0], [2.0, 0.25]])
    z = fb.view_as_complex(parts.clone()).requires_grad_()
    pair = parts.clone().requires_grad_()
    opt_z, opt_pair = make((name, {}), [z]), make((name, {}), [pair])
    for step in range(4):
        pair.grad = fb.tensor([gradient([1.0, 1.0], step, 0), gradient([1.0, 1.0], step, 1)])
        z.grad = fb.view_as_complex(pair.grad.clone())
        opt_z.step()
        opt_pair.step()
    assert close(fb.view_as_real(z.detach()).tolist(), pair.tolist())


@pytest.mark.parametrize("name", NAMES)
def test_a_rate_given_as_a_tensor_acts_as_the_number(name):
    number, tensor = parameters(name), parameters(name)
    a = list(walk(make((name, {"lr": 0.125}), number), number, range(4)))
    b = list(walk(make((name, {"lr": fb.tensor(0.125)}), tensor), tensor, range(4)))
    assert close(a, b, rel=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon")])
def test_a_differentiable_step_has_the_derivative_of_its_finite_difference(name):
    grads = [fb.tensor([0.5, -0.25], dtype=fb.float64), fb.tensor([-0.125, 0.75], dtype=fb.float64)]

    def end(w):
        p = w.clone()
        opt = make((name, {"differentiable": True}), [p])
        for g in grads:
            p.grad = g * w  # as if the loss were g w**2 / 2: the step depends on w twice
            opt.step()
        return p.sum()

    w = fb.tensor([1.0, 2.0], dtype=fb.float64, requires_grad=True)
    end(w).backward()
    h = 1e-6
    for i in range(2):
        e = fb.tensor([h * (i == 0), h * (i == 1)], dtype=fb.float64)
        with fb.no_grad():
            slope = (end(w + e) - end(w - e)).item() / (2 * h)
        assert w.grad[i].item() == pytest.approx(slope, rel=1e-5, abs=1e-7)


REFUSED = [
    ("Adadelta", {"rho": 1.5}, "rho value: 1.5"),
    ("Adafactor", {"lr": -1}, "Learning rate should be >= 0 but is: -1"),
    ("Adafactor", {"beta2_decay": 0.8}, "beta2_decay should be <= 0 but is: 0.8"),
    ("Adafactor", {"eps": (-1e-30, 1e-3)}, "epsilon1"),
    ("Adafactor", {"eps": (None, -1)}, "epsilon2"),
    ("Adafactor", {"d": 0.0}, "Clipping threshold d"),
    ("Adagrad", {"lr_decay": -0.5}, "lr_decay value: -0.5"),
    ("Adamax", {"betas": (0.0, 1.0)}, "index 1: 1.0"),
    ("ASGD", {"weight_decay": -0.5}, "weight_decay value: -0.5"),
    ("Muon", {"adjust_lr_fn": "steep"}, "function steep is not supported"),
    ("NAdam", {"momentum_decay": -0.2}, "momentum_decay value: -0.2"),
    ("RAdam", {"weight_decay": -1}, "weight_decay value: -1"),
    ("RMSprop", {"alpha": -1}, "alpha value: -1"),
    ("Rprop", {"etas": (1.0, 0.5)}, "eta values: 1.0, 0.5"),
]


@pytest.mark.parametrize("name, options, words", REFUSED)
def test_an_option_out_of_range_is_refused(name, options, words):
    with pytest.raises(ValueError, match=words):
        make((name, {}), parameters(name), **options)


def test_muon_is_for_matrices():
    with pytest.raises(ValueError, match="only supports 2D"):
        fb.optim.Muon([fb.ones(3)])


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_complex_parameters_are_refused_where_the_rule_has_no_meaning_for_them(name):
    p = fb.ones(2, 2, dtype=fb.complex64).requires_grad_()
    opt = make((name, {}), [p])
    p.grad = fb.ones_like(p)
    with pytest.raises(RuntimeError, match="does not support complex"):
        opt.step()


def test_muon_moves_along_a_nearly_orthogonal_matrix():
    from flambeau.optim._muon import orthogonalized

    g = fb.tensor([[3.0, 1.0, 0.0], [0.5, 2.0, -1.0]])
    for matrix in (g, g.T):
        x = orthogonalized(matrix, (3.4445, -4.7750, 2.0315), 5, 1e-7).to(fb.float32)
        gram = x @ x.T if x.shape[0] < x.shape[1] else x.T @ x
        assert close(gram.tolist(), [[1.0, 0.0], [0.0, 1.0]], rel=0.5)


def test_rprop_looks_at_signs_only():
    a, b = parameters("Rprop"), parameters("Rprop")
    first = list(walk(make(("Rprop", {}), a), a, range(6)))
    assert list(walk(make(("Rprop", {}), b), b, range(6), sign=8)) == first


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_differentiable_step_reaches_its_learning_rate(name):
    def end(lr):
        p = fb.tensor([1.0, 2.0], dtype=fb.float64).requires_grad_().clone()
        opt = make((name, {"differentiable": True, "lr": lr, "weight_decay": 0.1}), [p])
        for g in ([0.5, -0.25], [1.0, 0.5]):
            p.grad = fb.tensor(g, dtype=fb.float64)
            opt.step()
        return p.sum()

    lr = fb.tensor(0.1, dtype=fb.float64, requires_grad=True)
    end(lr).backward()
    h = 1e-6
    slope = (end(fb.tensor(0.1 + h, dtype=fb.float64)) - end(fb.tensor(0.1 - h, dtype=fb.float64))).item() / (2 * h)
    assert lr.grad.item() == pytest.approx(slope, rel=1e-5)
