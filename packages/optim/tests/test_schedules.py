"""Learning rate schedules, against curves recorded from PyTorch and against laws."""

import json
import math
import pathlib
import warnings

import flambeau as fb
import pytest
from flambeau.optim import SGD, Adam, lr_scheduler
from hypothesis import given, settings
from hypothesis import strategies as st

from .cases import SCHEDULES, label

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())["schedules"]
each_schedule = pytest.mark.parametrize("case", SCHEDULES, ids=label)


def optimizer(kind=SGD, rate=float, **options):
    groups = [
        {"params": fb.ones(1).requires_grad_(), "lr": rate(1.0)},
        {"params": fb.ones(1).requires_grad_(), "lr": rate(0.5)},
    ]
    return kind(groups, **(options or ({"momentum": 0.9} if kind is SGD else {})))


def rates(opt):
    return [float(g["lr"]) for g in opt.param_groups]


def walk(opt, schedule, steps):
    for _ in range(steps):
        opt.step()
        schedule.step()
        yield rates(opt)


@each_schedule
def test_the_curve_is_the_recorded_one(case):
    name, options, steps = case
    opt = optimizer()
    schedule = getattr(lr_scheduler, name)(opt, **options)
    found = [[[g["lr"], g["momentum"]] for g in opt.param_groups]]
    for _ in range(steps):
        opt.step()
        schedule.step()
        found.append([[g["lr"], g["momentum"]] for g in opt.param_groups])
    for step, (a, b) in enumerate(zip(found, RECORDED[label(case)], strict=True)):
        assert sum(a, []) == pytest.approx(sum(b, []), rel=1e-12), step


@each_schedule
def test_a_schedule_resumed_from_its_checkpoint_goes_on_alike(case):
    name, options, steps = case
    opt = optimizer()
    schedule = getattr(lr_scheduler, name)(opt, **options)
    list(walk(opt, schedule, steps // 2))
    other = optimizer()
    resumed = getattr(lr_scheduler, name)(other, **options)
    resumed.load_state_dict(schedule.state_dict())
    other.load_state_dict(opt.state_dict())
    assert resumed.get_last_lr() == schedule.get_last_lr()
    rest = steps - steps // 2
    assert list(walk(other, resumed, rest)) == list(walk(opt, schedule, rest))


@each_schedule
def test_a_rate_that_is_a_tensor_stays_that_tensor_and_follows_the_same_curve(case):
    name, options, steps = case
    numbers, tensors = optimizer(), optimizer(rate=lambda x: fb.tensor(x, dtype=fb.float64))
    kept = [g["lr"] for g in tensors.param_groups]
    schedules = [getattr(lr_scheduler, name)(o, **options) for o in (numbers, tensors)]
    for a, b in zip(walk(numbers, schedules[0], steps), walk(tensors, schedules[1], steps), strict=True):
        assert a == pytest.approx(b, rel=1e-12)
    assert all(g["lr"] is lr for g, lr in zip(tensors.param_groups, kept, strict=True))


CLOSED = [case for case in SCHEDULES if hasattr(getattr(lr_scheduler, case[0]), "_get_closed_form_lr")]


@given(st.sampled_from(CLOSED), st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_the_closed_form_says_what_stepping_arrives_at(case, steps):
    name, options, _ = case
    walked, jumped = optimizer(), optimizer()
    schedule = getattr(lr_scheduler, name)(walked, **options)
    list(walk(walked, schedule, steps))
    other = getattr(lr_scheduler, name)(jumped, **options)
    jumped.step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.step(steps)
    assert rates(walked) == pytest.approx(rates(jumped), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name, rule", [("LambdaLR", lambda t: 0.9**t), ("MultiplicativeLR", lambda t: 0.9)])
def test_a_function_of_the_step_scales_the_rate(name, rule):
    opt = optimizer()
    schedule = getattr(lr_scheduler, name)(opt, rule)
    *_, last = walk(opt, schedule, 5)
    assert last == pytest.approx([0.9**5, 0.5 * 0.9**5])


def test_objects_given_as_functions_are_saved_and_functions_are_not():
    class Rule:
        def __init__(self, gamma):
            self.gamma = gamma

        def __call__(self, step):
            return self.gamma**step

    opt = optimizer()
    saved = lr_scheduler.LambdaLR(opt, [Rule(0.5), lambda step: 1.0]).state_dict()
    assert saved["lr_lambdas"] == [{"gamma": 0.5}, None]
    other = Rule(0.1)
    lr_scheduler.LambdaLR(opt, [other, lambda step: 1.0]).load_state_dict(saved)
    assert other.gamma == 0.5


def test_a_rate_changed_by_hand_is_what_a_chainable_schedule_goes_on_from():
    opt = optimizer()
    schedule = lr_scheduler.ExponentialLR(opt, 0.5)
    opt.step()
    opt.param_groups[0]["lr"] = 8.0
    schedule.step()
    assert rates(opt) == [4.0, 0.25]


def test_the_momentum_of_adam_is_its_first_beta():
    opt = optimizer(Adam)
    schedule = lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=10)
    assert opt.param_groups[0]["betas"] == (0.95, 0.999)
    opt.step()
    schedule.step()
    assert 0.85 < opt.param_groups[0]["betas"][0] < 0.95


def test_one_cycle_ends_where_it_was_told_and_goes_no_further():
    opt = optimizer()
    schedule = lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=5)
    *_, last = walk(opt, schedule, 4)
    assert last == pytest.approx([1 / 25 / 1e4] * 2)
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 6 times"):
        schedule.step()


# -- combinations ----------------------------------------------------------------------------------------


def test_chained_schedules_multiply():
    opt = optimizer()
    schedule = lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(opt, 0.5), lr_scheduler.MultiStepLR(opt, [2], gamma=0.1)]
    )
    assert [r[0] for r in walk(opt, schedule, 3)] == pytest.approx([0.5, 0.025, 0.0125])
    assert schedule.get_last_lr() == rates(opt)


def test_sequential_schedules_take_over_at_their_milestones():
    opt = optimizer()
    schedule = lr_scheduler.SequentialLR(
        opt, [lr_scheduler.ConstantLR(opt, 0.1, total_iters=9), lr_scheduler.ExponentialLR(opt, 0.5)], milestones=[2]
    )
    assert rates(opt) == pytest.approx([0.1, 0.05])
    assert [r[0] for r in walk(opt, schedule, 4)] == pytest.approx([0.1, 1.0, 0.5, 0.25])


def test_a_combination_saves_its_parts():
    def build(opt):
        parts = [lr_scheduler.LinearLR(opt, total_iters=2), lr_scheduler.CosineAnnealingLR(opt, 4)]
        return lr_scheduler.SequentialLR(opt, parts, milestones=[2])

    opt, other = optimizer(), optimizer()
    schedule, resumed = build(opt), build(other)
    list(walk(opt, schedule, 3))
    resumed.load_state_dict(schedule.state_dict())
    other.load_state_dict(opt.state_dict())
    assert list(walk(other, resumed, 3)) == list(walk(opt, schedule, 3))


# -- plateau ---------------------------------------------------------------------------------------------

PLATEAUS = [  # options, figures, rates of the first group after each
    ({"patience": 1, "factor": 0.5}, [3, 2, 2, 2, 1, 1], [1, 1, 1, 0.5, 0.5, 0.5]),
    ({"patience": 0, "factor": 0.5, "cooldown": 1}, [1, 1, 1, 1], [1, 0.5, 0.5, 0.25]),
    ({"patience": 0, "factor": 0.5, "mode": "max"}, [1, 2, 2], [1, 1, 0.5]),
    ({"patience": 0, "factor": 0.5, "threshold": 0.5, "threshold_mode": "abs"}, [2, 1.6, 1.4], [1, 0.5, 0.5]),
    ({"patience": 0, "factor": 0.5, "threshold": 0.5}, [2, 1.5, 0.9], [1, 0.5, 0.5]),
    ({"patience": 0, "factor": 0.5, "min_lr": 0.4}, [1, 1, 1], [1, 0.5, 0.4]),
    ({"patience": 0, "factor": 0.5, "eps": 0.6}, [1, 1, 1], [1, 1, 1]),
    ({"patience": 0, "factor": 0.5}, [1, math.nan], [1, 0.5]),
]


@pytest.mark.parametrize("options, figures, expected", PLATEAUS)
def test_the_rate_falls_when_the_figure_stops_improving(options, figures, expected):
    opt = optimizer()
    schedule = lr_scheduler.ReduceLROnPlateau(opt, **options)
    found = []
    for figure in figures:
        schedule.step(fb.tensor(float(figure)))
        found.append(rates(opt)[0])
    assert found == pytest.approx(expected)
    other = lr_scheduler.ReduceLROnPlateau(optimizer(), **options)
    other.load_state_dict(schedule.state_dict())
    assert other.best == schedule.best and other.num_bad_epochs == schedule.num_bad_epochs


# -- warnings and errors ---------------------------------------------------------------------------------


def test_stepping_the_schedule_before_the_optimizer_is_warned_about():
    opt = optimizer()
    schedule = lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()


def test_the_right_order_is_not_warned_about():
    opt = optimizer()
    schedules = [lr_scheduler.StepLR(opt, 1), lr_scheduler.ExponentialLR(opt, 0.5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            opt.step()
            for schedule in schedules:
                schedule.step()


def test_an_optimizer_whose_step_was_replaced_is_warned_about():
    opt = optimizer()
    schedule = lr_scheduler.StepLR(opt, 1)
    opt.step = lambda: None
    with pytest.warns(UserWarning, match="overridden"):
        schedule.step()


def test_get_lr_outside_a_step_is_warned_about():
    with pytest.warns(UserWarning, match="get_last_lr"):
        lr_scheduler.StepLR(optimizer(), 1).get_lr()


L = lr_scheduler
BAD = [
    (lambda o: L.StepLR(3, 1), TypeError, "int is not an Optimizer"),
    (lambda o: L.StepLR(o, 1, last_epoch=3), KeyError, "initial_lr"),
    (lambda o: L.LambdaLR(o, [abs]), ValueError, "Expected 2 lr_lambdas"),
    (lambda o: L.ConstantLR(o, factor=2), ValueError, "between 0 and 1"),
    (lambda o: L.LinearLR(o, start_factor=0), ValueError, "greater than 0"),
    (lambda o: L.LinearLR(o, end_factor=2), ValueError, "between 0 and 1"),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0"),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 1, T_mult=0.5), ValueError, "T_mult"),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 1).step(-1), ValueError, "non-negative epoch"),
    (lambda o: L.CyclicLR(o, 0.1, [1.0]), ValueError, "max_lr"),
    (lambda o: L.CyclicLR(o, 0.1, 1.0, mode="wave"), ValueError, "wave"),
    (lambda o: L.OneCycleLR(o, 1.0), ValueError, "total_steps OR"),
    (lambda o: L.OneCycleLR(o, 1.0, total_steps=-1), ValueError, "total_steps, but got -1"),
    (lambda o: L.OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=0), ValueError, "steps_per_epoch, but got 0"),
    (lambda o: L.OneCycleLR(o, 1.0, total_steps=9, pct_start=2.0), ValueError, "pct_start"),
    (lambda o: L.OneCycleLR(o, 1.0, total_steps=9, anneal_strategy="steep"), ValueError, "steep"),
    (lambda o: L.ReduceLROnPlateau(o, factor=1), ValueError, "< 1.0"),
    (lambda o: L.ReduceLROnPlateau(o, mode="mid"), ValueError, "mid"),
    (lambda o: L.ReduceLROnPlateau(o, min_lr=[0]), ValueError, "expected 2 min_lrs"),
    (lambda o: L.SequentialLR(o, [], []), ValueError, "at least one"),
    (lambda o: L.SequentialLR(o, [L.StepLR(o, 1)], [1]), ValueError, "milestone"),
    (lambda o: L.SequentialLR(o, [L.StepLR(optimizer(), 1)], []), ValueError, "same optimizer"),
    (lambda o: L.ChainedScheduler([L.ReduceLROnPlateau(o)]), ValueError, "ReduceLROnPlateau"),
]


@pytest.mark.parametrize("make, error, words", BAD)
def test_what_makes_no_sense_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make(optimizer())


def test_cycling_the_momentum_needs_an_optimizer_that_has_one():
    opt = optimizer()
    del opt.defaults["momentum"]
    with pytest.raises(ValueError, match="must support momentum"):
        lr_scheduler.CyclicLR(opt, 0.1, 1.0)
