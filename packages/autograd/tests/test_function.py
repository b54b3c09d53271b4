"""Functions with a derivative of their own."""

import gc
import weakref

import flambeau as fb
import pytest
from flambeau.autograd import Function, grad
from flambeau.autograd.function import once_differentiable


def leaf(*values, dtype=fb.float64):
    return fb.tensor(values, dtype=dtype, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


def test_forward_and_backward_are_used():
    x = leaf(2.0)
    y = Cube.apply(x)
    assert y.item() == 8.0
    assert y.grad_fn.name() == "CubeBackward"
    assert type(y.grad_fn).__name__ == "CubeBackward"
    assert y.grad_fn.next_functions[0][0].name() == "AccumulateGrad"
    y.backward()
    assert x.grad.item() == 12.0


@pytest.mark.parametrize(("fn", "derivatives"), [(Cube, (12.0, 12.0, 6.0)), (Exp, (7.38905609893065,) * 3)])
def test_functions_are_differentiated_again(fn, derivatives):
    x = leaf(2.0)
    y = fn.apply(x)
    for want in derivatives:
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(want, rel=1e-12)


def test_saved_inputs_are_the_same_objects():
    seen = []

    class F(Cube):
        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.saved_tensors[0])
            return g

    x = leaf(1.0)
    F.apply(x).backward()
    assert seen[0] is x


def test_setup_context_may_be_apart():
    class Scale(Function):
        @staticmethod
        def forward(x, by):
            return x * by

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]
            assert output is not None

        @staticmethod
        def backward(ctx, g):
            return g * ctx.by, None

    x = leaf(1.0)
    Scale.apply(x, 5).backward()
    assert x.grad.item() == 5.0


class Two(Function):
    @staticmethod
    def forward(ctx, x, y, materialize=True):
        ctx.set_materialize_grads(materialize)
        ctx.needs = ctx.needs_input_grad
        return x * 2, y * 3, 7

    @staticmethod
    def backward(ctx, a, b, c):
        Two.seen = (a, b, c, ctx.needs)
        return None if a is None else a * 2, None if b is None else b * 3, None


def test_undefined_gradients_are_zeros_unless_refused():
    x, y = leaf(1.0), fb.ones(1, dtype=fb.float64)
    a, b, c = Two.apply(x, y)
    assert c == 7
    a.backward()
    assert [Two.seen[0].item(), Two.seen[1].item(), Two.seen[2], Two.seen[3]] == [1.0, 0.0, None, (True, False)]
    Two.apply(x, y, False)[0].backward()
    assert Two.seen[1] is None
    assert x.grad.item() == 4.0


def test_outputs_may_have_no_derivative():
    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            same = x.clone()
            ctx.mark_non_differentiable(same)
            return x * 2, same

        @staticmethod
        def backward(ctx, g, unused):
            assert unused.tolist() == [0.0]
            return g * 2

    x = leaf(1.0)
    y, same = Sorted.apply(x)
    assert not same.requires_grad
    y.backward()
    assert x.grad.item() == 2.0


class Double_(Function):
    @staticmethod
    def forward(ctx, x):
        with fb.no_grad():
            x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_inputs_may_be_changed_in_place():
    x = leaf(1.0, 2.0)
    t = x * 1
    out = Double_.apply(t)
    assert out is t
    t.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    b = fb.ones(2, dtype=fb.float64) * x.detach()
    Double_.apply((b * x)[0]).backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        Double_.apply(leaf(1.0))


def test_an_input_returned_as_it_is_becomes_another_tensor():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(1.0)
    y = Identity.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.item() == 10.0


def _returns(*values):
    class F(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return values if len(values) != 1 else values[0]

    return lambda: F.apply(leaf(1.0, 2.0), 2).sum().backward()


def _bad_save():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)

    F.apply(leaf(1.0))


def _written():
    x = leaf(1.0)
    t = x * 1
    y = Cube.apply(t)
    t.add_(1)
    y.backward()


def _freed():
    y = Cube.apply(leaf(1.0))
    y.backward()
    y.backward()


def _no_backward():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    F.apply(leaf(1.0)).backward()


def _twice():
    class Once(Cube):
        backward = staticmethod(once_differentiable(Cube.backward))

    x = leaf(1.0)
    (g,) = grad(Once.apply(x) * x, x, create_graph=True)
    g.backward()


def _raises():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise LookupError("my own error")

    F.apply(leaf(1.0)).backward()


REFUSED = [
    (_returns(None), RuntimeError, "returned an incorrect number of gradients \\(expected 2, got 1\\)"),
    (_returns(3, None), TypeError, "expected Variable or None \\(got int\\)"),
    (_returns(None, fb.ones(1)), RuntimeError, "returned a gradient different from None at position 2, but the corresponding forward"),
    (_returns(fb.ones(3, dtype=fb.float64), None), RuntimeError,
     "returned an invalid gradient at index 0 - got \\[3\\] but expected shape compatible with \\[2\\]"),
    (_bad_save, TypeError, "save_for_backward can only save variables, but argument is of type int"),
    (_written, RuntimeError, "has been modified by an inplace operation"),
    (_freed, RuntimeError, "Trying to backward through the graph a second time"),
    (_no_backward, NotImplementedError, "You must implement either the backward or vjp method"),
    (_twice, RuntimeError, "trying to differentiate twice a function that was marked with @once_differentiable"),
    (_raises, LookupError, "my own error"),
    (Cube, RuntimeError, "Methods on autograd functions are all static"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_misuse_is_explained(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_nothing_is_kept_alive_by_a_function():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            F.ctx = weakref.ref(ctx)
            y = x * 2
            ctx.save_for_backward(x, y)
            ctx.mark = 1
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    y = F.apply(leaf(1.0))
    assert y.grad_fn.mark == 1
    assert F.ctx() is not None
    del y
    assert F.ctx() is None
    with fb.no_grad():
        assert F.apply(leaf(1.0)).grad_fn is None
    gc.collect()
    assert F.ctx() is None
