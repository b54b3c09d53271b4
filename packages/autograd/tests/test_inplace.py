"""In-place writes and views: which histories change, and what is refused. Laws: as if the write had made a new tensor."""

import flambeau as fb
import pytest


def leaf(*values):
    return fb.tensor(values, dtype=fb.float64, requires_grad=True)


def both(values, inplace, pure):
    """Gradients by the in-place and the pure form of one computation."""
    results = []
    for fn in (inplace, pure):
        x = leaf(*values)
        (fn(x * 1.0) * fb.tensor([1.0, 2.0, 3.0], dtype=fb.float64)).sum().backward()
        results.append(x.grad.tolist())
    return results


def _slice_times_two(t):
    t[1:].mul_(2)
    return t


def _select_assigned(t):
    t[1] = t[0] * 3
    return t


def _zeroed_part(t):
    t[0].zero_()
    return t


def _view_of_view(t):
    t[:][1:][0].mul_(5)
    return t


def _twice(t):
    t[0].neg_()
    t[0:2].mul_(2)
    return t


PAIRS = [
    (lambda t: t.mul_(3), lambda t: t * 3),
    (lambda t: t.exp_(), lambda t: t.exp()),
    (lambda t: t.add_(t.exp(), alpha=2), lambda t: t + t.exp() * 2),
    (lambda t: t.zero_(), lambda t: t * 0),
    (lambda t: t.fill_(3), lambda t: t * 0 + 3),
    (lambda t: t.copy_(t * 2), lambda t: t * 2),
    (_slice_times_two, lambda t: t * fb.tensor([1.0, 2.0, 2.0], dtype=fb.float64)),
    (_select_assigned, lambda t: fb.stack([t[0], t[0] * 3, t[2]])),
    (_zeroed_part, lambda t: t * fb.tensor([0.0, 1.0, 1.0], dtype=fb.float64)),
    (_view_of_view, lambda t: t * fb.tensor([1.0, 5.0, 1.0], dtype=fb.float64)),
    (_twice, lambda t: fb.stack([t[0] * -2, t[1] * 2, t[2]])),
]


@pytest.mark.parametrize(("inplace", "pure"), PAIRS)
def test_writing_in_place_has_the_gradient_of_the_pure_form(inplace, pure):
    a, b = both([0.5, -1.0, 2.0], inplace, pure)
    assert a == pytest.approx(b, rel=1e-12)


def test_a_base_without_history_gets_one_through_its_view():
    b, w = fb.zeros(3, dtype=fb.float64) + 2, leaf(5.0)
    v, other = b[:1], b[1:]
    v.mul_(w)
    assert b.requires_grad
    assert other.requires_grad
    assert type(b.grad_fn).__name__ == "CopySlices"
    assert type(v.grad_fn).__name__ == "AsStridedBackward0"
    (b * b).sum().backward()
    assert w.grad.item() == 2 * 5 * 4
    assert v._base is b or v._base.data_ptr() == b.data_ptr()


def test_a_view_follows_writes_to_its_base():
    x = leaf(1.0, 2.0)
    b = x * 1
    v = b[0]
    b.mul_(3)
    v.backward()
    assert x.grad.tolist() == [3.0, 0.0]


def test_overlapping_views_of_a_written_base_add_up():
    x = leaf(1.0, 2.0)
    b = x * 1
    e = b.expand(3, 2)
    b.mul_(3)
    e.sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]


def test_second_derivatives_pass_through_writes_to_views():
    x = leaf(2.0, 3.0)
    y = x * x
    y[0].mul_(x[0])
    (g,) = fb.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 6.0]
    (h,) = fb.autograd.grad(g.sum(), x)
    assert h.tolist() == [12.0, 2.0]


def test_half_precision_parts_are_cast():
    w = fb.ones(1, dtype=fb.float32, requires_grad=True)
    b = fb.ones(2, dtype=fb.float64)
    b[:1].mul_(w)
    b.sum().backward()
    assert (w.grad.dtype, w.grad.item()) == (fb.float32, 1.0)


def _leaf():
    leaf(1.0).add_(1)


def _view_of_leaf():
    leaf(1.0, 2.0)[0].add_(1)


def _unbound():
    a, b = (leaf(1.0, 2.0) * 2).unbind()
    a.mul_(b)


def _split():
    a, b = (leaf(1.0, 2.0) * 2).split([1, 1])
    a.mul_(b)


def _no_grad_view():
    b = leaf(1.0, 2.0) * 2
    with fb.no_grad():
        v = b[0]
    v.mul_(2)


def _out():
    fb.add(leaf(1.0), 1, out=fb.ones(1, dtype=fb.float64))


def _inference():
    with fb.inference_mode():
        t = fb.ones(1, dtype=fb.float64)
    t.mul_(leaf(1.0))


def _inference_alone():
    with fb.inference_mode():
        t = fb.ones(1)
        t.add_(1)
    t.add_(1)


def _saved_inference():
    with fb.inference_mode():
        t = fb.ones(1, dtype=fb.float64)
    leaf(1.0) * t


REFUSED = [
    (_leaf, "a leaf Variable that requires grad is being used in an in-place operation."),
    (_view_of_leaf, "a view of a leaf Variable that requires grad is being used in an in-place operation."),
    (_unbound, "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that returns multiple"),
    (_split, "Output 0 of SplitWithSizes is a view and is being modified inplace."),
    (_no_grad_view, "A view was created in no_grad mode and is being modified inplace with grad mode enabled."),
    (_out, "add\\(\\): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    (_inference, "Inplace update to inference tensor outside InferenceMode is not allowed."),
    (_inference_alone, "Inplace update to inference tensor outside InferenceMode is not allowed."),
    (_saved_inference, "Inference tensors cannot be saved for backward."),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_ambiguous_writes_are_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_leaves_may_be_written_to_without_recording():
    x = leaf(1.0)
    with fb.no_grad():
        x.add_(1)
    assert (x.item(), x._version, x.is_leaf, x.requires_grad) == (2.0, 1, True, True)
