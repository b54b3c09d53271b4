"""Finding the operation whose derivative went wrong."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any

from flambeau._autograd_nodes import anomaly_mode, set_anomaly_mode

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def _made(entry: Any) -> None:
    entry.metadata = {**(entry.metadata or {}), "traceback_": traceback.format_stack(sys._getframe(2))}


def _failed(name: str, entry: Any) -> None:
    stack = (entry.metadata or {}).get("traceback_")
    if stack is None:
        text = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        text = f"Traceback of forward call that caused the error:\n{''.join(stack)}"
    warnings.warn(f"Error detected in {name}. {text}", stacklevel=2)


def _apply(mode: int) -> None:
    set_anomaly_mode(mode, _made, _failed)


class set_detect_anomaly:
    """Turns anomaly detection on or off, at once or for a ``with`` block. See `detect_anomaly`.

    Args:
        mode: on or off.
        check_nan: raise where a backward function gives NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = anomaly_mode()
        _apply((2 if check_nan else 1) if mode else 0)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _apply(self.prev)


class detect_anomaly:
    """Within it, an error in backward comes with the traceback of the forward call, and NaN from a backward function is an error.

    It slows every recorded operation down: for debugging.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                      stacklevel=2)  # fmt: skip

    def __enter__(self) -> None:
        self.prev = anomaly_mode()
        _apply(2 if self.check_nan else 1)

    def __exit__(self, *exc: object) -> None:
        _apply(self.prev)
