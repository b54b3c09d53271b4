"""The modes: what they switch, how they nest, and how they decorate."""

import time

import flambeau as fb
import pytest

x = fb.ones(1, requires_grad=True)


def test_nothing_is_recorded_within_no_grad():
    with fb.no_grad():
        assert not fb.is_grad_enabled()
        assert not (x * 2).requires_grad
        with fb.enable_grad():
            assert (x * 2).requires_grad
        assert not fb.is_grad_enabled()
    assert fb.is_grad_enabled()


def test_modes_come_back_after_an_exception():
    with pytest.raises(ZeroDivisionError), fb.no_grad():
        raise ZeroDivisionError
    assert fb.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_and_as_a_block():
    mode = fb.set_grad_enabled(False)
    assert not fb.is_grad_enabled()
    with fb.set_grad_enabled(True):
        assert fb.is_grad_enabled()
    assert not fb.is_grad_enabled()
    fb.set_grad_enabled(True)
    assert mode.mode is False


def _enabled(*args):
    return fb.is_grad_enabled()


@pytest.mark.parametrize(
    ("decorator", "inside"),
    [(fb.no_grad, False), (fb.no_grad(), False), (fb.enable_grad(), True), (fb.enable_grad, True), (fb.inference_mode(), False),
     (fb.inference_mode, False)],
)  # fmt: skip
def test_modes_decorate(decorator, inside):
    with fb.set_grad_enabled(not inside):
        assert decorator(_enabled)(1) is inside
        assert fb.is_grad_enabled() is not inside


def test_set_grad_enabled_decorates_without_acting_outside():
    fn = fb.set_grad_enabled(False)(_enabled)
    assert fb.is_grad_enabled()
    assert not fn()
    assert fn.__name__ == "_enabled"


def test_decorated_generators_switch_at_each_step():
    @fb.no_grad()
    def steps():
        seen = []
        try:
            while True:
                seen.append(fb.is_grad_enabled())
                got = yield len(seen)
                if got == "stop":
                    return seen
        except ValueError:
            seen.append(fb.is_grad_enabled())
            yield seen

    g = steps()
    assert next(g) == 1
    assert fb.is_grad_enabled()
    assert g.send(None) == 2
    assert g.throw(ValueError) == [False, False, False]
    g = steps()
    next(g)
    with pytest.raises(StopIteration) as end:
        g.send("stop")
    assert end.value.value == [False]
    assert fb.is_grad_enabled()
    g = steps()
    next(g)
    g.close()
    assert fb.is_grad_enabled()


def test_classes_are_not_decorated():
    with pytest.raises(TypeError, match="Cannot decorate the class"):
        fb.no_grad()(type("C", (), {}))


def test_inference_tensors_have_no_version_and_no_history():
    with fb.inference_mode():
        t = fb.ones(2)
        assert fb.is_inference_mode_enabled()
        assert not (x * 2).requires_grad
        t.add_(1)
        with fb.enable_grad():
            assert not (x * 2).requires_grad
        with fb.inference_mode(False):
            assert not fb.is_inference_mode_enabled()
            assert (x * 2).requires_grad
    assert t.is_inference()
    assert not (t + 1).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter."):
        t._version  # noqa: B018
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."):
        t.requires_grad_()


@pytest.mark.slow
def test_a_block_is_cheap():
    best = min(_block() for _ in range(5))
    assert best < 2e-6  # about 0.25 us on an idle machine


def _block(n=2000):
    t = time.perf_counter()
    for _ in range(n):
        with fb.no_grad():
            pass
    return (time.perf_counter() - t) / n
