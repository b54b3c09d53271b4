"""For a seed, training goes step by step as with PyTorch: the same first weights, and losses that differ by rounding only."""

import hashlib
import json
from pathlib import Path

import flambeau as fb
import pytest

from .cases import CASES, run

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_weights_are_pytorchs_and_losses_follow(name):
    expected = RECORDED[name]
    start, losses = run(fb, name, fb.float32)
    assert list(start) == list(expected["weights"])
    for key, value in start.items():
        digest = hashlib.sha256(value.numpy().tobytes()).hexdigest()[:16]
        assert digest == expected["weights"][key], f"{key} is not PyTorch's"
    for step, (got, single, double) in enumerate(zip(losses, expected["float32"], expected["float64"], strict=True)):
        assert abs(got - single) <= max(1e-4, 4 * abs(single - double)), f"step {step}: {got} instead of {single}"
