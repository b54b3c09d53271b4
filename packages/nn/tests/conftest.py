"""Every test draws the same numbers in every run: tolerances that hold once hold always."""

import flambeau as fb
import pytest


@pytest.fixture(autouse=True)
def seeded():
    fb.manual_seed(0)
