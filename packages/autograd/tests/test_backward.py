"""backward and grad: values, accumulation, what they refuse, and what becomes of the graph."""

import gc
import warnings
import weakref

import flambeau as fb
import pytest
from flambeau.autograd import backward, grad


def leaf(*values, dtype=fb.float64):
    return fb.tensor(values, dtype=dtype, requires_grad=True)


def test_backward_adds_to_grad():
    x = leaf(2.0, 3.0)
    for times in (1, 2, 3):
        (x * x * x).sum().backward()
        assert x.grad.tolist() == [12.0 * times, 27.0 * times]


def test_grad_returns_and_changes_no_grad():
    x, w = leaf(2.0), leaf(5.0)
    assert [g.item() for g in grad((x * w).sum(), [x, w])] == [5.0, 2.0]
    assert x.grad is None
    assert w.grad is None


def test_grad_of_x_is_the_same_object_each_time_and_keeps_its_attributes():
    x = leaf(1.0)
    x.sum().backward()
    g = x.grad
    g.mark = 1
    x.sum().backward()
    assert x.grad is g
    assert x.grad.mark == 1
    x.grad = None
    assert x.grad is None
    other = fb.ones(1, dtype=fb.float64)
    x.grad = other
    assert x.grad is other
    del x.grad
    assert x.grad is None


def test_second_derivatives_of_x_cubed():
    x = leaf(2.0)
    (first,) = grad((x**3).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_weights_of_roots_scale_gradients():
    x = leaf(1.0, 2.0)
    backward([x * 3, x * x], [fb.tensor([1.0, 10.0], dtype=fb.float64), fb.tensor([100.0, 1.0], dtype=fb.float64)])
    assert x.grad.tolist() == [3 + 200, 30 + 4]


def test_inputs_limit_where_gradients_go():
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    (y * y).sum().backward(inputs=[x, y])
    assert x.grad.item() == 36.0
    assert y.grad.item() == 12.0
    assert w.grad is None


def test_unused_inputs_are_an_error_unless_allowed():
    x, z = leaf(1.0), leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used in the graph"):
        grad(x.sum(), [x, z])
    assert grad(x.sum(), [x, z], allow_unused=True)[1] is None
    assert grad(x.sum(), [x, z], materialize_grads=True)[1].tolist() == [0.0, 0.0]


def _freed():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward()
    y.backward()


def _overwritten():
    x, b = leaf(1.0, 2.0, dtype=fb.float32), fb.ones(2)
    y = (x * b).sum()
    b.add_(1)
    y.backward()


def _overwritten_result():
    x = leaf(1.0, 2.0, dtype=fb.float32)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


REFUSED = [
    (_freed, RuntimeError, "Trying to backward through the graph a second time \\(or directly access saved tensors after"),
    (_overwritten, RuntimeError, "modified by an inplace operation: \\[torch.FloatTensor \\[2\\]\\] is at version 1; expected version 0 instead"),
    (_overwritten_result, RuntimeError, "\\[torch.FloatTensor \\[2\\]\\], which is output 0 of Exp, is at version 1; expected version 0 instead"),
    (lambda: fb.ones(2).sum().backward(), RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda: (leaf(1.0, 2.0) * 2).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    (lambda: (leaf(1.0, 2.0) * 2).backward(fb.ones(3)), RuntimeError, "Mismatch in shape: grad_output\\[0\\] has a shape of"),
    (lambda: grad(leaf(1.0).sum(), fb.ones(1)), RuntimeError, "One of the differentiated Tensors does not require grad"),
    (lambda: grad(leaf(1.0).sum(), []), (RuntimeError, ValueError), "`inputs` argument to `grad\\(\\)` cannot be empty."),
    (lambda: leaf(1.0).sum().backward(inputs=[]), RuntimeError, "`inputs` argument to `backward\\(\\)` cannot be empty."),
    (lambda: setattr(leaf(1.0) * 2, "requires_grad", False), RuntimeError, "you can only change requires_grad flags of leaf variables."),
    (lambda: fb.ones(1, dtype=fb.int64).requires_grad_(), RuntimeError, "only Tensors of floating point and complex dtype can require grad"),
    (lambda: setattr(leaf(1.0), "grad", fb.ones(2, dtype=fb.float64)), RuntimeError, "attempting to assign a gradient of size '\\[2\\]' to a ten"),
    (lambda: setattr(leaf(1.0), "grad", 3), TypeError, "assigned grad expected to be a Tensor or None but got grad of type int"),
    (lambda: fb.ones(1).retain_grad(), RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"),
    (lambda: leaf(1.0)[0].detach_(), RuntimeError, "Can't detach views in-place. Use detach\\(\\) instead."),
    (lambda: backward([leaf(1.0)], [None, None]), RuntimeError, "Got 1 tensors and 2 gradients"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_misuse_is_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_graph_may_be_kept():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0


def test_the_gradient_has_the_dtype_and_shape_of_its_leaf():
    x, w = leaf(1.0, 2.0, dtype=fb.float32), fb.ones((3, 1), dtype=fb.float64, requires_grad=True)
    (x * w).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (fb.float32, [3.0, 3.0])
    assert (w.grad.dtype, w.grad.tolist()) == (fb.float64, [[3.0], [3.0], [3.0]])


def test_real_leaves_of_complex_results_get_real_gradients():
    x = leaf(1.0, 2.0)
    z = x * fb.tensor([1 + 2j, 3 - 1j], dtype=fb.complex128)
    fb.real(z).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (fb.float64, [1.0, 3.0])


def test_two_leaves_never_share_one_gradient():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (a + b).sum().backward()
    a.grad.add_(1)
    assert b.grad.tolist() == [1.0, 1.0]


def test_retained_gradients_of_results():
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.item() == 18.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (x * 2).grad is None
    assert "The .grad attribute of a Tensor that is not a leaf" in str(caught[0].message)


def test_long_graphs_neither_overflow_nor_leak():
    x = leaf(1.0)
    y = x
    for _ in range(50000):
        y = y + x
    y.backward()
    assert x.grad.item() == 50001.0


def test_a_graph_dies_with_its_results():
    x = leaf(1.0)
    y = x * x
    keep = y.grad_fn
    node = weakref.ref(keep)
    del y
    gc.collect()
    assert node() is keep
    del keep
    assert node() is None


def test_grad_fn_names_the_operation_and_its_inputs():
    x = leaf(1.0)
    y = x * 2 + 1
    assert y.grad_fn.name() == "AddBackward0"
    assert type(y.grad_fn).__name__ == "AddBackward0"
    assert y.grad_fn is y.grad_fn
    (mul, nr), constant = y.grad_fn.next_functions
    assert (mul.name(), nr, constant) == ("MulBackward0", 0, (None, 0))
    assert mul.next_functions[0][0].name() == "AccumulateGrad"
    assert mul.next_functions[0][0].variable.tolist() == [1.0]
    assert x.grad_fn is None
    assert (x.is_leaf, y.is_leaf) == (True, False)


def test_saved_values_can_be_looked_at():
    x = leaf(2.0)
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    assert (x * y).grad_fn._saved_self is not None
    with pytest.raises(AttributeError):
        y.grad_fn._saved_nothing  # noqa: B018


def test_detach_stops_gradients_and_shares_the_version():
    x = leaf(2.0)
    y = x * x
    d = y.detach()
    assert not d.requires_grad
    d.add_(1)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z = x.exp()
        z.detach().add_(1)
        z.sum().backward()
    z = x.exp()
    z.data.add_(1)
    z.sum().backward()


def test_an_interrupt_reaches_python():
    import signal
    import threading

    x = leaf(1.0)
    y = x
    for _ in range(200000):
        y = y * x
    main = threading.get_ident()
    timer = threading.Timer(0.001, lambda: signal.pthread_kill(main, signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            y.sum().backward()
            timer.join()
            for _ in range(1000):  # it may come after the run
                pass
    finally:
        signal.signal(signal.SIGINT, before)


def test_edges_and_versions_can_be_asked_for_and_changed():
    from flambeau.autograd import Variable
    from flambeau.autograd.graph import get_gradient_edge, increment_version

    x = leaf(2.0)
    y = x * x
    assert get_gradient_edge(y).node is y.grad_fn
    assert get_gradient_edge(x).node.name() == "AccumulateGrad"
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge for a Tensor that does not require gradients"):
        get_gradient_edge(fb.ones(1))
    increment_version(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    v = Variable(fb.ones(1), requires_grad=True)
    assert v.requires_grad
    assert isinstance(v, Variable)


def test_batches_of_weights_give_batches_of_gradients():
    x = leaf(1.0, 2.0)
    (jacobian,) = grad(x * x, x, fb.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=fb.float64), is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]
