"""The base class: groups, hooks, checkpoints, errors."""

import copy
import pickle
import re

import flambeau as fb
import pytest
from flambeau.optim import SGD, Adam
from flambeau.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def param(*values):
    return fb.tensor(values or [1.0, 2.0]).requires_grad_()


def step_once(opt):
    for group in opt.param_groups:
        for p in group["params"]:
            p.grad = fb.ones_like(p)
    return opt.step()


# -- groups and errors -----------------------------------------------------------------------------------

P = param()
BAD = [
    ("a single tensor", lambda: SGD(P), TypeError, "should be an iterable of Tensors or dicts"),
    ("no parameters", lambda: SGD([]), ValueError, "empty parameter list"),
    ("a number among them", lambda: SGD([P, 3]), TypeError, "one of the params is int"),
    ("a set", lambda: SGD([{"params": {P}}]), TypeError, "ordered collections"),
    ("no leaf", lambda: SGD([P * 2]), ValueError, "non-leaf"),
    ("in two groups", lambda: SGD([{"params": P}, {"params": [P]}]), ValueError, "more than one parameter group"),
    ("a group that is no dict", lambda: SGD([P]).add_param_group([P]), TypeError, "must be a dict"),
    ("names for some", lambda: SGD([("a", P), param()]), ValueError, "Some param names are missing"),
    (
        "names in a later group only",
        lambda: SGD([{"params": [P]}, {"params": [("a", param())]}]),
        ValueError,
        "cannot add param group with names",
    ),
    (
        "names in the first group only",
        lambda: SGD([{"params": [("a", P)]}, {"params": [param()]}]),
        ValueError,
        "cannot add param group without names",
    ),
    ("a required option", lambda: Optimizer([P], {"lr": required}), ValueError, "didn't specify a value.*lr"),
    ("a negative rate", lambda: SGD([P], lr=-1), ValueError, "learning rate: -1"),
    ("a rate of two", lambda: SGD([P], lr=fb.tensor([1.0, 2.0])), ValueError, "1-element"),
    ("a negative momentum", lambda: SGD([P], momentum=-0.5), ValueError, "momentum value: -0.5"),
    ("nesterov alone", lambda: SGD([P], nesterov=True), ValueError, "requires a momentum"),
    ("fused and foreach", lambda: SGD([P], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
    ("fused and differentiable", lambda: SGD([P], fused=True, differentiable=True), RuntimeError, "differentiable"),
    ("a beta of 1", lambda: Adam([P], betas=(1.0, 0.9)), ValueError, "beta parameter at index 0: 1.0"),
    ("a negative eps", lambda: Adam([P], eps=-1), ValueError, "epsilon value: -1"),
    ("one tensor beta", lambda: Adam([P], betas=(0.9, fb.tensor(0.9))), ValueError, "both floats or both Tensors"),
    ("a tensor rate with foreach", lambda: Adam([P], lr=fb.tensor(0.1), foreach=True), ValueError, "foreach=True"),
    ("no step", lambda: Optimizer([P], {}).step(), NotImplementedError, None),
    (
        "a checkpoint with other groups",
        lambda: SGD([P]).load_state_dict({"state": {}, "param_groups": []}),
        ValueError,
        "different number of parameter groups",
    ),
    (
        "a checkpoint of other sizes",
        lambda: SGD([P]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
        ValueError,
        "doesn't match the size",
    ),
]


@pytest.mark.parametrize("make, error, words", [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_makes_no_sense_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_parameter_twice_in_a_group_is_warned_about():
    p = param()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        SGD([p, p])


def test_a_group_keeps_its_own_options_and_gets_the_defaults_for_the_rest():
    opt = SGD([{"params": param(), "lr": 0.5}, {"params": [param()]}], lr=0.25, momentum=0.9)
    assert [(g["lr"], g["momentum"]) for g in opt.param_groups] == [(0.5, 0.9), (0.25, 0.9)]
    opt.add_param_group({"params": param(), "momentum": 0.1})
    assert (opt.param_groups[2]["lr"], opt.param_groups[2]["momentum"]) == (0.25, 0.1)


def test_names_are_kept_in_the_group_and_in_the_checkpoint():
    opt = SGD([("w", param()), ("b", param())])
    assert opt.param_groups[0]["param_names"] == ["w", "b"]
    assert opt.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    nameless = SGD([param(), param()]).state_dict()
    opt.load_state_dict(nameless)
    assert opt.param_groups[0]["param_names"] == ["w", "b"]


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_forgets_or_zeroes(set_to_none):
    p = param()
    opt = SGD([p])
    p.grad = grad = fb.ones_like(p)
    opt.zero_grad(set_to_none=set_to_none)
    assert p.grad is None if set_to_none else (p.grad is grad and grad.tolist() == [0.0, 0.0])


def test_step_returns_the_closures_loss_and_runs_it_with_gradients_on():
    p = param(3.0)

    def closure():
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    opt = SGD([p], lr=0.5)
    with fb.no_grad():
        assert opt.step(closure).item() == 9.0
    assert p.item() == 0.0


def test_repr_lists_the_options_of_every_group_by_name():
    text = repr(SGD([{"params": param()}, {"params": param(), "lr": 0.5}]))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n")
    assert re.search(r"\n\nParameter Group 1\n.*    lr: 0.5\n.*\n\)$", text, re.S)


# -- checkpoints -----------------------------------------------------------------------------------------


def test_a_checkpoint_numbers_parameters_through_all_groups():
    opt = Adam([{"params": [param(), param()]}, {"params": [param()]}])
    step_once(opt)
    saved = opt.state_dict()
    assert [g["params"] for g in saved["param_groups"]] == [[0, 1], [2]]
    assert sorted(saved["state"]) == [0, 1, 2]
    assert sorted(saved["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]


def test_loaded_state_takes_the_dtype_of_its_parameter_but_the_counter_does_not():
    opt = Adam([param()])
    step_once(opt)
    half = Adam([param().detach().to(fb.float16).requires_grad_()])
    half.load_state_dict(opt.state_dict())
    (state,) = half.state.values()
    assert (state["exp_avg"].dtype, state["step"].dtype) == (fb.float16, fb.float32)


def test_a_checkpoint_from_before_an_option_loads_with_its_old_meaning():
    opt = Adam([param()])
    old = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0, "params": [0]}
    opt.load_state_dict(
        {"state": {0: {"step": 3, "exp_avg": fb.zeros(2), "exp_avg_sq": fb.zeros(2)}}, "param_groups": [old]}
    )
    (group,), (state,) = opt.param_groups, opt.state.values()
    assert (group["amsgrad"], group["maximize"], group["decoupled_weight_decay"]) == (False, False, False)
    assert isinstance(state["step"], fb.Tensor) and state["step"].item() == 3
    step_once(opt)


def test_what_is_no_parameter_stays_in_the_state_as_it_is():
    opt = SGD([param()])
    opt.state["note"] = 7
    assert opt.state_dict()["state"] == {"note": 7}
    opt.load_state_dict(opt.state_dict())
    assert opt.state["note"] == 7


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["deepcopy", "pickle"])
def test_a_copy_has_its_own_parameters_and_goes_on_alike(twin):
    opt = Adam([param()], lr=0.1)
    step_once(opt)
    other = twin(opt)
    mine, its = opt.param_groups[0]["params"][0], other.param_groups[0]["params"][0]
    assert its is not mine
    step_once(opt)
    step_once(other)
    assert its.tolist() == mine.tolist()


# -- hooks -----------------------------------------------------------------------------------------------


def test_step_hooks_run_in_order_around_the_step_until_removed():
    seen = []
    opt = SGD([param()])
    handles = [
        register_optimizer_step_pre_hook(lambda o, a, k: seen.append("global pre")),
        register_optimizer_step_post_hook(lambda o, a, k: seen.append("global post")),
        opt.register_step_pre_hook(lambda o, a, k: seen.append("pre")),
        opt.register_step_post_hook(lambda o, a, k: seen.append("post")),
    ]
    opt.step(lambda: seen.append("step"))
    assert seen == ["global pre", "pre", "step", "post", "global post"]
    for handle in handles:
        handle.remove()
    opt.step()
    assert len(seen) == 5


def test_hooks_run_once_where_a_subclass_calls_the_step_of_its_base():
    class Twice(SGD):
        def step(self, closure=None):
            super().step(closure)
            return super().step(closure)

    seen = []
    opt = Twice([param()])
    opt.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
    opt.step()
    assert seen == ["pre"]


def test_hooks_run_where_the_step_comes_from_a_mixin():
    class Still:
        def step(self, closure=None):
            return "stepped"

    class Mixed(Still, Optimizer):
        pass

    seen = []
    opt = Mixed([param()], {})
    opt.register_step_post_hook(lambda o, a, k: seen.append("post"))
    assert opt.step() == "stepped" and seen == ["post"]


def test_a_step_pre_hook_may_replace_the_arguments_but_by_nothing_else_than_a_pair():
    opt = SGD([param()])
    opt.register_step_pre_hook(lambda o, a, k: ((o, lambda: "replaced"), {}))
    assert opt.step() == "replaced"
    opt.register_step_pre_hook(lambda o, a, k: 4)
    with pytest.raises(RuntimeError, match="but got 4"):
        opt.step()


def test_state_dict_and_load_hooks_see_and_may_replace_the_dict():
    seen = []
    opt = SGD([param()], lr=0.5)
    opt.register_state_dict_pre_hook(lambda o: seen.append("before saving"))
    opt.register_state_dict_post_hook(lambda o, d: {**d, "note": 1})
    saved = opt.state_dict()
    assert saved["note"] == 1 and seen == ["before saving"]

    def replace(o, d):
        d["param_groups"][0]["lr"] = 0.75
        return d

    opt.register_load_state_dict_pre_hook(replace)
    opt.register_load_state_dict_pre_hook(lambda o, d: seen.append("first"), prepend=True)
    opt.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    opt.load_state_dict(saved)
    assert opt.param_groups[0]["lr"] == 0.75
    assert seen == ["before saving", "first", "loaded"]


def test_hooks_do_not_travel_with_a_copy():
    opt = SGD([param()])
    opt.register_step_pre_hook(lambda o, a, k: 1 / 0)
    copy.deepcopy(opt).step()
