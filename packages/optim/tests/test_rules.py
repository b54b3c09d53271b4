"""What each optimizer does to parameters, against trajectories recorded from PyTorch and against laws."""

import copy
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


@each_rule
def test_maximizing_is_minimizing_the_negative(case):
    name, options = case
    params, mirrored = parameters(name), parameters(name)
    if "maximize" not in make((name, {}), params).defaults:
        pytest.skip("this rule has no maximize")
    down = list(walk(make((name, {**options, "maximize": False}), params), params, range(5)))
    up = list(walk(make((name, {**options, "maximize": True}), mirrored), mirrored, range(5), sign=-1))
    assert down == up


@pytest.mark.parametrize("flag", ["foreach", "fused"])
@pytest.mark.parametrize("name", NAMES)
def test_foreach_and_fused_change_nothing(name, flag):
    plain, flagged = parameters(name), parameters(name)
    if flag not in make((name, {}), plain).defaults:
        pytest.skip(f"this rule has no {flag}")
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


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon", "LBFGS")])
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


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("LBFGS",)])
def test_a_rate_given_as_a_tensor_acts_as_the_number(name):
    number, tensor = parameters(name), parameters(name)
    a = list(walk(make((name, {"lr": 0.125}), number), number, range(4)))
    b = list(walk(make((name, {"lr": fb.tensor(0.125)}), tensor), tensor, range(4)))
    assert close(a, b, rel=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon", "LBFGS")])
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
