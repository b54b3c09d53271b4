"""oneDNN: not in this build. Its switches are kept and have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


@contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """Sets the switches within a with block."""
    new = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    old = {k: globals()[k] for k in new}
    globals().update(new)
    try:
        yield
    finally:
        globals().update(old)
