"""Finding the operation whose derivative went wrong."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any

from flambeau import _autograd_nodes as _nodes
from flambeau._native import ffi, lib

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def _made(node: Any) -> None:
    entry = _nodes.watch(node)
    entry.metadata = {**(entry.metadata or {}), "traceback_": traceback.format_stack(sys._getframe(2))}


def _failed(node: Any) -> None:
    entry = _nodes.watch(node)
    name = ffi.string(lib.fb_ag_node_name(node)).decode()
    stack = (entry.metadata or {}).get("traceback_")
    if stack is None:
        warnings.warn(
            f"Error detected in {name}. No forward pass information available. Enable detect anomaly during forward pass for more "
            "information.",
            stacklevel=2,
        )
    else:
        warnings.warn(
            f"Error detected in {name}. Traceback of forward call that caused the error:\n{''.join(stack)}", stacklevel=2
        )


def _apply(mode: int) -> None:
    lib.fb_ag_set_anomaly(mode)
    _nodes.node_made = _made if mode else None
    _nodes.node_failed = _failed if mode else None
    lib.fbp_ag_watch_nodes(bool(mode))


class set_detect_anomaly:
    """Turns anomaly detection on or off, at once or for a ``with`` block. See `detect_anomaly`.

    Args:
        mode: on or off.
        check_nan: raise where a backward function gives NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = lib.fb_ag_anomaly()
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
        self.prev = lib.fb_ag_anomaly()
        _apply(2 if self.check_nan else 1)

    def __exit__(self, *exc: object) -> None:
        _apply(self.prev)
