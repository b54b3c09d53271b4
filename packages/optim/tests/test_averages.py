"""Averages along a training, and optimizers on lent parameters."""

import copy

import flambeau as fb
import pytest
from flambeau.optim import SGD, Adam, swa_utils, swap_in_optimizer_params_and_state


def optimizer():
    groups = [{"params": fb.ones(1).requires_grad_(), "lr": 1.0}, {"params": fb.ones(1).requires_grad_(), "lr": 0.5}]
    return SGD(groups)


ANNEALED = [
    ({"anneal_epochs": 4, "anneal_strategy": "linear"}, [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]),
    ({"anneal_epochs": 2}, [1.0, 0.6, 0.2, 0.2]),
    ({"anneal_epochs": 0}, [0.2, 0.2]),
]


@pytest.mark.parametrize("options, expected", ANNEALED)
def test_the_rate_is_annealed_to_the_goal_and_stays_there(options, expected):
    opt = optimizer()
    schedule = swa_utils.SWALR(opt, [0.2, 0.5], **options)
    found = []
    for _ in expected:
        found.append(opt.param_groups[0]["lr"])
        assert opt.param_groups[1]["lr"] == pytest.approx(0.5)
        opt.step()
        schedule.step()
    assert found == pytest.approx(expected)


def test_annealing_refuses_what_makes_no_sense():
    for options, words in [
        ({"anneal_strategy": "steep"}, "steep"),
        ({"anneal_epochs": -1}, "-1"),
        ({"anneal_epochs": 1.5}, "1.5"),
    ]:
        with pytest.raises(ValueError, match=words):
            swa_utils.SWALR(optimizer(), 0.1, **options)
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)


VALUES = [1.0, 3.0, 8.0, 4.0]


@pytest.mark.parametrize("of_many, of_one", [
    (swa_utils.get_swa_multi_avg_fn(), swa_utils.get_swa_avg_fn()),
    (swa_utils.get_ema_multi_avg_fn(0.75), swa_utils.get_ema_avg_fn(0.75)),
], ids=["equal parts", "exponential"])  # fmt: skip
def test_averages_in_place_equal_averages_returned(of_many, of_one):
    one = fb.tensor(VALUES[0])
    many = [one.clone(), one.to(fb.float64)]
    for count, value in enumerate(VALUES[1:], 1):
        one = of_one(one, fb.tensor(value), count)
        of_many(many, [fb.tensor(value), fb.tensor(value, dtype=fb.float64)], count)
    assert [x.item() for x in many] == pytest.approx([one.item()] * 2)


def test_equal_parts_make_the_mean_and_integers_are_averaged_too():
    average, whole = fb.tensor(VALUES[0]), [fb.tensor(2)]
    update = swa_utils.get_swa_multi_avg_fn()
    for count, value in enumerate(VALUES[1:], 1):
        average = swa_utils.get_swa_avg_fn()(average, fb.tensor(value), count)
    update(whole, [fb.tensor(4)], 1)
    assert average.item() == pytest.approx(4.0) and whole[0].item() == 3


# -- with modules, where flambeau-nn is there ------------------------------------------------------------


@pytest.fixture
def nn():
    return pytest.importorskip("flambeau.nn", reason="flambeau-nn is not installed")


@pytest.mark.parametrize("use_buffers", [False, True])
def test_an_averaged_model_holds_the_mean_of_what_it_has_seen(nn, use_buffers):
    model = nn.BatchNorm1d(2)
    averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in VALUES:
        with fb.no_grad():
            model.weight.fill_(value)
            model.running_mean.fill_(value * value)
        averaged.update_parameters(model)
    assert averaged.module.weight.tolist() == pytest.approx([4.0, 4.0])
    mean, last = 22.5, 16.0
    assert averaged.module.running_mean.tolist() == pytest.approx([mean if use_buffers else last] * 2)
    assert averaged.n_averaged.item() == len(VALUES)
    assert list(averaged.state_dict())[0] == "n_averaged"


def test_an_averaged_model_takes_one_function_at_most(nn):
    with pytest.raises(AssertionError, match="Only one"):
        swa_utils.AveragedModel(nn.Linear(1, 1), avg_fn=abs, multi_avg_fn=abs)


def test_statistics_of_batch_norms_are_measured_anew(nn):
    model = nn.Sequential(nn.BatchNorm1d(1))
    model.eval()
    batches = [fb.tensor([[1.0], [3.0]]), (fb.tensor([[5.0], [7.0]]), "label")]
    swa_utils.update_bn(batches, model)
    assert model[0].running_mean.item() == pytest.approx(4.0)
    assert model[0].running_var.item() == pytest.approx(2.0)
    assert model[0].momentum == 0.1 and not model.training


# -- lent parameters -------------------------------------------------------------------------------------


def stepped():
    opt = Adam([fb.ones(2).requires_grad_(), fb.ones(1).requires_grad_()], lr=0.5)
    for p in opt.param_groups[0]["params"]:
        p.grad = fb.ones_like(p)
    opt.step()
    return opt


def test_lent_parameters_are_stepped_and_the_own_ones_come_back():
    opt = stepped()
    own = opt.param_groups[0]["params"]
    before = [p.tolist() for p in own]
    saved = copy.deepcopy(opt.state_dict())
    saved["param_groups"][0]["lr"] = 0.25
    lent = {"a": fb.zeros(2), "b": fb.zeros(1)}
    with swap_in_optimizer_params_and_state(opt, lent, saved):
        assert opt.param_groups[0]["lr"] == 0.25
        lent["a"].grad = fb.ones(2)
        opt.step()
    assert lent["a"].tolist() == pytest.approx([-0.25, -0.25]) and lent["b"].tolist() == [0.0]
    assert saved["state"][0]["step"].item() == 2  # in place, so it shows
    assert opt.param_groups[0]["params"] is own and [p.tolist() for p in own] == before
    assert opt.param_groups[0]["lr"] == 0.5 and opt.state[own[0]]["step"].item() == 1


def test_what_does_not_fit_is_not_lent():
    opt = stepped()
    saved = opt.state_dict()
    lent = {"a": fb.zeros(2), "b": fb.zeros(1)}
    group = saved["param_groups"][0]
    for params, state, words in [
        ({"a": fb.zeros(2)}, saved, "1 tensors"),
        (lent, {**saved, "param_groups": []}, "number of parameter groups"),
        (lent, {**saved, "param_groups": [{**group, "params": [0]}]}, "number of params"),
        (lent, {**saved, "param_groups": [{"params": [0, 1]}]}, "keys"),
    ]:
        with pytest.raises(RuntimeError, match=words), swap_in_optimizer_params_and_state(opt, params, state):
            pass
    with pytest.raises(RuntimeError, match="initialized"), swap_in_optimizer_params_and_state(optimizer(), lent, saved):
        pass
