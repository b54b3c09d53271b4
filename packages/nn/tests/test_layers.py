"""Every layer against what PyTorch's gave (see cases.py), and what holds for all of them."""

import copy
import json
import pathlib
import pickle
import warnings

import flambeau as fb
import pytest

from .cases import CASES, leaves, tensors_in

EXPECTED = json.loads((pathlib.Path(__file__).parent / "layers.json").read_text())

pytestmark = pytest.mark.filterwarnings("ignore")
each = pytest.mark.parametrize("case", CASES, ids=str)


def close(a, b):
    """Equal within what five digits and the rounding of float32 leave open."""
    return a == b or abs(a - b) <= 3e-5 + 3e-4 * abs(b)


def check(tensors, summaries, what):
    assert len(tensors) == len(summaries), f"{what}: {len(tensors)} tensors, expected {len(summaries)}"
    for t, (shape, total, some) in zip(tensors, summaries):
        assert list(t.shape) == shape, what
        flat = t.detach().double().reshape(-1)
        step = max(1, flat.numel() // 3)
        got = [flat.sum().item(), *flat[::step][:3].tolist()]
        assert all(close(a, b) for a, b in zip(got, [total, *some])), f"{what}: {got}, expected {[total, *some]}"


def test_every_row_was_recorded():
    assert [str(c) for c in CASES] == list(EXPECTED)


@each
def test_a_layer_computes_what_pytorchs_computes(case):
    expected = EXPECTED[str(case)]
    layer = case.build(fb)
    assert repr(layer) == expected["repr"]
    result, inputs = case.call(fb, layer, requires_grad=case.grad)
    check(tensors_in(fb, result), expected["train"], "result in training")
    assert list(layer.state_dict()) == list(expected["state"])
    for key, value in layer.state_dict().items():
        check([value], [expected["state"][key]], key)
    if "grad" in expected:
        sum(t.sin().sum() for t in tensors_in(fb, result) if t.requires_grad).backward()
        trained = [*layer.parameters(), *inputs]
        assert len(trained) == len(expected["grad"])
        for t, total in zip(trained, expected["grad"]):
            got = None if t.grad is None else t.grad.double().abs().sum().item()
            assert got == total or close(got, total), f"gradient of {tuple(t.shape)}: {got}, expected {total}"
    check(tensors_in(fb, case.call(fb, layer.eval())[0]), expected["eval"], "result in evaluation")


@each
@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state_dict"])
def test_a_copy_of_a_layer_does_the_same_and_shares_nothing(case, how):
    layer = case.build(fb)
    case.call(fb, layer)
    if how == "deepcopy":
        twin = copy.deepcopy(layer)
    elif how == "pickle":
        twin = pickle.loads(pickle.dumps(layer))
    else:
        twin = case.build(fb)
        case.call(fb, twin)
        for p in twin.parameters():
            p.data = p.data * 0 + 0.5
        twin.load_state_dict(layer.state_dict())
    assert type(twin) is type(layer) and repr(twin) == repr(layer)
    assert not {id(t) for t in twin.parameters()} & {id(t) for t in layer.parameters()}
    a, b = (leaves(case.call(fb, m.eval())[0]) for m in (layer, twin))
    assert all(fb.equal(x, y) for x, y in zip(a, b))


@each
def test_a_layer_in_double_precision_stays_in_it(case):
    layer = case.build(fb)
    case.call(fb, layer)
    assert all(t.dtype == fb.float64 for t in layer.double().parameters())
    assert all(t.dtype == fb.float64 for t in layer.buffers() if t.is_floating_point())


@each
def test_train_and_eval_reach_every_submodule(case):
    layer = case.build(fb)
    assert layer.eval() is layer and not any(m.training for m in layer.modules())
    assert layer.train() is layer and all(m.training for m in layer.modules())


def test_a_second_warning_free_build_draws_other_weights():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = fb.nn.Linear(3, 3), fb.nn.Linear(3, 3)
    assert not fb.equal(a.weight, b.weight)
