"""gradcheck finds wrong derivatives and passes right ones; anomaly detection names the culprit."""

import flambeau as fb
import pytest
from flambeau.autograd import Function, GradcheckError, detect_anomaly, gradcheck, gradgradcheck, set_detect_anomaly


def leaf(*values, dtype=fb.float64):
    return fb.tensor(values, dtype=dtype, requires_grad=True)


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class WrongAgain(Function):
    """The first derivative is right, but its graph is not that of the derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0].detach()


def test_right_derivatives_pass():
    x, y = leaf(0.3, -1.2), leaf(2.0, 0.5)
    assert gradcheck(lambda a, b: (a * b, a.exp()), (x, y))
    assert gradgradcheck(lambda a, b: (a * a * b).sum(), (x, y))
    assert gradcheck(lambda z: z * z * (1 + 2j), leaf(1 + 2j, -0.5j, dtype=fb.complex128))


def test_wrong_derivatives_fail():
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, leaf(1.0, 2.0))
    assert not gradcheck(Wrong.apply, leaf(1.0, 2.0), raise_exception=False)
    assert gradcheck(WrongAgain.apply, leaf(1.0, 2.0))
    assert not gradgradcheck(WrongAgain.apply, leaf(1.0, 2.0), raise_exception=False)


def test_something_must_require_grad():
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, fb.ones(1))


def test_anomalies_are_traced_to_their_forward_call():
    x = leaf(0.0)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), detect_anomaly():
        y = (x * 0).sqrt() * 0
    with set_detect_anomaly(True), pytest.warns(UserWarning, match="Error detected in SqrtBackward0. Traceback of forward call") as caught:
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."):
            y.backward()
    assert "test_anomalies_are_traced_to_their_forward_call" in str(caught[0].message)
    with pytest.raises(RuntimeError, match="second time"):
        y2 = (x * x).sum()
        y2.backward()
        y2.backward()
