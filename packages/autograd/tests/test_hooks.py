"""Hooks: on leaves, on results, on nodes."""

import gc
import weakref

import flambeau as fb
import pytest
from flambeau.autograd.graph import register_multi_grad_hook


def leaf(*values):
    return fb.tensor(values, dtype=fb.float64, requires_grad=True)


@pytest.mark.parametrize("on_leaf", [True, False])
def test_hooks_see_and_replace_gradients(on_leaf):
    x = leaf(1.0, 2.0)
    y = x if on_leaf else x * 1
    seen = []
    first = y.register_hook(lambda g: seen.append(g.tolist()))
    second = y.register_hook(lambda g: g * 10)
    (y * 3).sum().backward(retain_graph=True)
    assert seen == [[3.0, 3.0]]
    assert x.grad.tolist() == [30.0, 30.0]
    first.remove()
    second.remove()
    second.remove()
    x.grad = None
    (y * 3).sum().backward()
    assert seen == [[3.0, 3.0]]
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_hook_runs_once_with_the_sum_of_all_uses():
    x = leaf(1.0)
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + y * 3).backward()
    assert seen == [5.0]


def test_retained_gradients_are_those_after_the_hooks():
    x = leaf(1.0)
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.backward()
    assert y.grad.item() == 2.0


def test_hooks_after_accumulation_get_the_leaf():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.item())))
    (x * 3).backward()
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    assert seen == [(True, 3.0), (True, 6.0)]


def test_hooks_on_nodes_replace_gradients():
    x = leaf(1.0)
    y = x * 2
    z = y * 5
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0], None))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 100,))
    z.backward()
    assert x.grad.item() == 2 * 500 + 500


def test_hooks_see_none_for_no_tensor_and_keep_the_graph_when_recording():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = fb.autograd.grad(y, x, create_graph=True)
    assert g.item() == 18.0
    assert fb.autograd.grad(g, x)[0].item() == 12.0


def _wrong(result):
    def call():
        x = leaf(1.0)
        y = x * 1

        def hook(g):
            return result

        y.register_hook(hook)
        y.backward()

    return call


def _raising():
    x = leaf(1.0)
    x.register_hook(lambda g: 1 / 0)
    x.backward()


REFUSED = [
    (_wrong(3), TypeError, "expected Variable, but hook returned 'int'"),
    (_wrong(fb.ones(2, dtype=fb.float64)), RuntimeError, "hook 'hook' has changed the size of value"),
    (_raising, ZeroDivisionError, "division by zero"),
    (lambda: fb.ones(1).register_hook(print), RuntimeError, "cannot register a hook on a tensor that doesn't require gradient"),
    (lambda: (leaf(1.0) * 1).register_post_accumulate_grad_hook(print), RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_misuse_is_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_hook_over_its_leaf_does_not_keep_it_alive():
    def watched():
        x = leaf(1.0)
        x.register_hook(lambda g: x)
        return weakref.ref(x)

    ref = watched()
    gc.collect()
    assert ref() is None


def test_hooks_over_several_tensors():
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    seen, first = [], []
    with register_multi_grad_hook([x, y], lambda grads: seen.append([g.item() for g in grads])):
        register_multi_grad_hook([x, y], lambda g: first.append(g.item()), mode="any")
        (x * 2 + y * 3 + z).backward()
    assert seen == [[2.0, 3.0]]
    assert len(first) == 1
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([x], print, mode="some")
