"""L-BFGS and its line search: recorded descents, the Wolfe conditions, the ways to stop."""

import copy
import json
import pathlib

import flambeau as fb
import pytest
from flambeau.optim import LBFGS
from flambeau.optim._strong_wolfe import Point, cubic_minimum, strong_wolfe
from hypothesis import given
from hypothesis import strategies as st

from .cases import VALLEY_STEPS, VALLEYS, label, valley

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())["valleys"]


def start(values=(-1.2, 1.0)):
    return fb.tensor(list(values), dtype=fb.float64).requires_grad_()


def closure_of(opt, loss_of):
    def closure():
        opt.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("options", VALLEYS, ids=str)
def test_the_descent_is_the_recorded_one(options):
    p = start()
    opt = LBFGS([p], **options)
    closure = closure_of(opt, lambda: valley(p[0], p[1]))
    for x, y, evaluations in RECORDED[label(("LBFGS", options))]:
        opt.step(closure)
        assert p.tolist() == pytest.approx([x, y], rel=1e-6)
        assert opt.state[p]["func_evals"] == evaluations


def test_a_resumed_descent_goes_on_bit_by_bit():
    def run(steps, p, opt):
        for _ in range(steps):
            opt.step(closure_of(opt, lambda: valley(p[0], p[1])))

    options = VALLEYS[1]
    whole, p = start(), start()
    run(VALLEY_STEPS, whole, LBFGS([whole], **options))
    first, second = LBFGS([p], **options), LBFGS([p])
    run(2, p, first)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    run(VALLEY_STEPS - 2, p, second)
    assert p.tolist() == whole.tolist()


def test_a_quadratic_of_n_dimensions_is_solved_in_about_n_iterations():
    scales = fb.tensor([1.0, 4.0, 9.0, 16.0], dtype=fb.float64)
    p = start([3.0, -2.0, 1.0, 5.0])
    opt = LBFGS([p], line_search_fn="strong_wolfe", max_iter=8, max_eval=100)
    opt.step(closure_of(opt, lambda: (scales * p * p).sum()))
    assert p.tolist() == pytest.approx([0.0] * 4, abs=1e-4)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.01, 10))
def test_the_line_search_ends_where_the_strong_wolfe_conditions_hold(x, y, t):
    def at(point):
        q = point.detach().requires_grad_()
        loss = valley(q[0], q[1])
        loss.backward()
        return loss.item(), q.grad

    p = fb.tensor([x, y], dtype=fb.float64)
    loss, grad = at(p)
    if grad.abs().max() < 1e-3:
        return
    d = -grad / grad.norm()
    slope = grad.dot(d)
    point, _ = strong_wolfe(lambda t: at(p + t * d), d, t, loss, grad, slope, max_steps=60)
    assert point.loss <= loss + 1e-4 * point.t * slope
    assert abs(point.slope) <= 0.9 * abs(slope)


@given(st.floats(-5, 5), st.floats(0.1, 3), st.floats(-5, 5), st.floats(0.1, 4))
def test_the_cubic_through_two_points_of_a_parabola_is_least_where_the_parabola_is(low, steep, a, width):
    def point(t):
        return Point(t, steep * (t - low) ** 2, None, 2 * steep * (t - low))

    found = cubic_minimum(point(a), point(a + width))
    assert found == pytest.approx(min(max(low, a), a + width), abs=1e-5)


def test_a_step_returns_the_loss_at_its_start_and_stops_at_the_bounds():
    p = start()
    opt = LBFGS([p], lr=0.001, max_iter=50, max_eval=7)
    first = valley(*p.tolist())
    assert opt.step(closure_of(opt, lambda: valley(p[0], p[1]))).item() == pytest.approx(first)
    assert opt.state[p]["func_evals"] == 7

    p = start([1.0, 1.0])
    opt = LBFGS([p])
    opt.step(closure_of(opt, lambda: valley(p[0], p[1])))
    assert opt.state[p]["n_iter"] == 0  # the gradient is 0


def test_no_more_changes_are_kept_than_asked_for():
    p = start()
    opt = LBFGS([p], lr=0.01, max_iter=10, history_size=3)
    opt.step(closure_of(opt, lambda: valley(p[0], p[1])))
    assert len(opt.state[p]["old_dirs"]) == len(opt.state[p]["ro"]) == 3


def test_several_parameters_are_one_vector_complex_ones_as_their_parts():
    z = fb.tensor([1 + 2j, -1j], dtype=fb.complex128).requires_grad_()
    w = start([3.0])
    unused = start([7.0])
    opt = LBFGS([z, w, unused], line_search_fn="strong_wolfe")
    opt.step(closure_of(opt, lambda: fb.view_as_real(z).square().sum() + ((w - 2) ** 2).sum()))
    assert fb.view_as_real(z.detach()).abs().max().item() < 1e-6
    assert w.item() == pytest.approx(2.0) and unused.item() == 7.0


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="parameter groups"):
        LBFGS([{"params": start()}, {"params": start()}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe'"):
        LBFGS([start()], line_search_fn="steep").step(lambda: 0.0)
    with pytest.raises(TypeError, match="closure"):
        LBFGS([start()]).step()
