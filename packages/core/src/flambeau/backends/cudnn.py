"""cuDNN: not in this build. Its switches are kept and have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor: object) -> bool:
    """False: no tensor can be given to cuDNN."""
    return False


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True
) -> Iterator[None]:
    """Sets the switches within a with block."""
    new = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit, "deterministic": deterministic, "allow_tf32": allow_tf32}
    old = {k: globals()[k] for k in new}
    globals().update(new)
    try:
        yield
    finally:
        globals().update(old)
