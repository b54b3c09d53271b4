"""Forward, backward and registration hooks."""

import pickle

import flambeau as fb
import pytest
from flambeau import nn
from flambeau.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)


class Scale(nn.Module):
    """x * by."""

    def forward(self, x, by=2.0):
        return x * by


def test_hooks_run_in_order_around_forward():
    log, scale = [], Scale()
    scale.register_forward_pre_hook(lambda m, a: log.append("pre 1"))
    scale.register_forward_pre_hook(lambda m, a: log.append("pre 0"), prepend=True)
    scale.register_forward_hook(lambda m, a, r: log.append("post 1"))
    scale.register_forward_hook(lambda m, a, r: log.append("post 0"), prepend=True)
    scale(fb.ones(1))
    assert log == ["pre 0", "pre 1", "post 0", "post 1"]


def test_hooks_replace_arguments_and_results():
    scale = Scale()
    scale.register_forward_pre_hook(lambda m, a: a[0] + 1)
    scale.register_forward_hook(lambda m, a, r: r - a[0])
    assert scale(fb.ones(1)) == 2  # (1 + 1) * 2 - 2


def test_hooks_with_kwargs_see_and_replace_them():
    scale, seen = Scale(), []
    scale.register_forward_pre_hook(lambda m, a, k: (a, {"by": k["by"] + 1}), with_kwargs=True)
    scale.register_forward_hook(lambda m, a, k, r: seen.append((k, float(r))), with_kwargs=True)
    scale(fb.ones(1), by=3.0)
    assert seen == [({"by": 4.0}, 4.0)]
    scale.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        scale(fb.ones(1), by=3.0)


def test_always_called_hooks_run_when_forward_raises():
    log, scale = [], Scale()
    scale.register_forward_hook(lambda m, a, r: log.append("only on success"))
    scale.register_forward_hook(lambda m, a, r: log.append(r), always_call=True)
    scale.register_forward_hook(lambda m, a, k, r: log.append(k), always_call=True, with_kwargs=True)
    with pytest.raises(TypeError):
        scale(fb.ones(1), by=[])
    assert log == [None, {"by": []}]


def test_a_failing_always_called_hook_is_only_a_warning():
    scale = Scale()
    scale.register_forward_hook(lambda m, a, r: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(TypeError):
        scale(fb.ones(1), by=[])


def test_a_removed_hook_runs_no_more():
    log, scale = [], Scale()
    handle = scale.register_forward_hook(lambda m, a, r: log.append(1))
    with scale.register_forward_pre_hook(lambda m, a: log.append(2)):
        scale(fb.ones(1))
    handle.remove()
    handle.remove()
    scale(fb.ones(1))
    assert log == [2, 1]


def test_a_hook_put_straight_into_the_table_runs():
    log, scale = [], Scale()
    scale._forward_hooks[0] = lambda m, a, r: log.append(1)
    scale(fb.ones(1))
    assert log == [1]


def double(module, args, result):
    return result * 2


def test_hooks_travel_with_copies():
    scale = Scale()
    scale.register_forward_hook(double)
    assert pickle.loads(pickle.dumps(scale))(fb.ones(1)) == 4


def test_full_backward_hooks_see_the_gradients_of_inputs_and_outputs():
    scale, seen = Scale(), []
    scale.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    x = fb.tensor([1.0, 2.0], requires_grad=True)
    (scale(x) * 3).sum().backward()
    assert seen == [([6.0, 6.0], [3.0, 3.0])] and x.grad.tolist() == [6.0, 6.0]


def test_backward_hooks_replace_gradients():
    scale = Scale()
    scale.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,))
    scale.register_full_backward_hook(lambda m, gi, go: (gi[0] + go[0],))
    x = fb.ones(1, requires_grad=True)
    scale(x).sum().backward()
    assert x.grad == 10 * 2 + 10


def test_inputs_without_gradient_show_as_none():
    seen, layer = [], nn.Bilinear(1, 1, 1)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    layer(fb.ones(1, 1), fb.ones(1, 1, requires_grad=True)).sum().backward()
    assert seen[0][0] is None and seen[0][1].shape == (1, 1)
    seen.clear()
    layer(fb.ones(1, 1), fb.ones(1, 1)).sum().backward()
    assert seen == [(None, None)]


def test_hooks_of_modules_with_several_results():
    class Two(nn.Module):
        def forward(self, x):
            return x * 2, x * 3

    two, seen = Two(), []
    two.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0], go)))
    x = fb.ones(1, requires_grad=True)
    two(x)[1].sum().backward()
    assert seen[0][0] == 3 and seen[0][1][0] is None and seen[0][1][1] == 1


def test_a_wrong_number_of_gradients_is_an_error():
    scale = Scale()
    scale.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input"):
        scale(fb.ones(1, requires_grad=True)).sum().backward()


def test_the_two_kinds_of_backward_hooks_do_not_mix():
    seen, scale = [], Scale()
    scale.register_backward_hook(lambda m, gi, go: seen.append(1))
    with pytest.raises(RuntimeError, match="Cannot use both"):
        scale.register_full_backward_hook(lambda m, gi, go: None)
    scale(fb.ones(1, requires_grad=True)).sum().backward()
    assert seen == [1]


def test_results_that_are_no_tensors_have_no_backward_hooks():
    class Named(nn.Module):
        def forward(self, x):
            return {"y": x}

    named = Named()
    named.register_full_backward_hook(lambda m, gi, go: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple"):
        named(fb.ones(1, requires_grad=True))


def test_global_hooks_run_for_every_module():
    log = []
    handles = [
        register_module_forward_pre_hook(lambda m, a: log.append("pre")),
        register_module_forward_hook(lambda m, a, r: log.append("post")),
        register_module_full_backward_pre_hook(lambda m, go: log.append("backward pre")),
        register_module_full_backward_hook(lambda m, gi, go: log.append("backward")),
    ]
    try:
        Scale()(fb.ones(1, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    Scale()(fb.ones(1))
    assert log == ["pre", "post", "backward pre", "backward"]


def test_registration_hooks_see_and_replace_what_is_registered():
    seen = []
    handles = [
        register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
        register_module_buffer_registration_hook(lambda m, n, b: seen.append(n)),
        register_module_module_registration_hook(lambda m, n, c: nn.Tanh()),
    ]
    try:
        module = nn.BatchNorm1d(2)
        module.act = nn.ReLU()
    finally:
        for handle in handles:
            handle.remove()
    assert seen[:4] == ["weight", "bias", "running_mean", "running_var"] and isinstance(module.act, nn.Tanh)
