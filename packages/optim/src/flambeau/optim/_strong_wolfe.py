"""A line search for points that satisfy the strong Wolfe conditions.

Nocedal and Wright, Numerical optimization (2nd edition, 2006), algorithms 3.5 and 3.6, with the safeguards of Mark
Schmidt's minFunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flambeau import Tensor


class Point(NamedTuple):
    """A step width t, with the loss, the gradient and the slope along the direction there."""

    t: Any
    loss: float
    grad: Tensor
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Tensor]],
    direction: Tensor,
    t: Any,
    loss: float,
    grad: Tensor,
    slope: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_steps: int = 25,
) -> tuple[Point, int]:
    """A point along `direction` with enough decrease and a slope small enough, and the number of evaluations.

    `t` is the width to try first; `loss`, `grad` and `slope` are those at width 0.
    """
    scale = direction.abs().max()
    start = Point(0, loss, grad.clone(), slope)

    def at(t: Any) -> Point:
        loss, grad = evaluate(t)
        return Point(t, loss, grad, grad.dot(direction))

    def rises(point: Point) -> bool:
        return point.loss > start.loss + c1 * point.t * start.slope

    def is_flat(point: Point) -> bool:
        return bool(abs(point.slope) <= -c2 * start.slope)

    # Widen until an acceptable point lies between two.
    before, new, steps = start, at(t), 0
    bracket: list[Point] | None = None
    while steps < max_steps:
        if rises(new) or (steps > 1 and new.loss >= before.loss):
            bracket = [before, _own(new)]
            break
        if is_flat(new):
            return new, steps + 1
        if new.slope >= 0:
            bracket = [before, _own(new)]
            break
        bounds = (new.t + 0.01 * (new.t - before.t), new.t * 10)
        t = cubic_minimum(before, new, bounds)
        before, new = _own(new), at(t)
        steps += 1
    if bracket is None:
        bracket = [start, new]

    # Narrow it.
    stalled = False
    low, high = _by_loss(bracket)
    while steps < max_steps:
        left, right = sorted(p.t for p in bracket)
        if abs(right - left) * scale < tolerance_change:
            break
        t = cubic_minimum(*bracket)
        # Not too near an end twice in a row: the interval would hardly shrink.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        new = at(t)
        steps += 1
        if rises(new) or new.loss >= bracket[low].loss:
            bracket[high] = _own(new)
            low, high = _by_loss(bracket)
        else:
            if is_flat(new):
                return new, steps + 1
            if new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = _own(new)
    return bracket[low], steps + 1


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through both points with their slopes is least within `bounds` (the points unless given)."""
    if a.t > b.t:
        a, b = b, a
    least, greatest = bounds if bounds is not None else (a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:  # no minimum: halve
        return (least + greatest) / 2.0
    d2 = square**0.5
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, least), greatest)


def _own(point: Point) -> Point:
    return point._replace(grad=point.grad.clone())


def _by_loss(bracket: list[Point]) -> tuple[int, int]:
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
