"""Settings of the root namespace that PyTorch has for its own libraries. Here results are the same bits each time anyway."""

from __future__ import annotations

import warnings
from typing import Any

from ._tensor_base import Tensor

_deterministic: list[bool] = [False, False]  # the mode, and whether it only warns
_precision = "highest"
_warn_always = False


def _check_bool(name: str, argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' (position 1) must be bool, not {type(value).__name__}")
    return value


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: every operator of the core gives the same bits each time, at any number of threads, on one machine."""
    _deterministic[:] = _check_bool("use_deterministic_algorithms", "mode", mode), _check_bool("use_deterministic_algorithms", "warn_only", warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was called with; False at first."""
    return _deterministic[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was called with ``warn_only``."""
    return _deterministic[1]


_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or name: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, or `error`, but got {debug_mode}")
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _deterministic[:] = debug_mode > 0, debug_mode == 1


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return 0 if not _deterministic[0] else 1 if _deterministic[1] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: products of float32 are computed in float32. ``precision``: "highest", "high" or "medium"; a warning for others."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the call has no effect.", stacklevel=2)
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was called with; "highest" at first."""
    return _precision


def set_warn_always(b: bool) -> None:
    """Accepted: the core gives each warning every time, and the filters of `warnings` decide which are seen."""
    global _warn_always
    _warn_always = _check_bool("set_warn_always", "b", b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was called with; False at first."""
    return _warn_always


def typename(obj: Any) -> str:
    """The name of an object's type with its module: "torch.FloatTensor" of a tensor, "int" of a builtin's."""
    if isinstance(obj, Tensor) and type(obj) is Tensor:
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_warn_always", "typename", "use_deterministic_algorithms",
]  # fmt: skip
