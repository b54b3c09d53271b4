"""Modules without the cost of their starting values."""

from __future__ import annotations

from typing import Any


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """``module_cls(*args, **kwargs)`` with uninitialized parameters: made on the meta device, then moved.

    Raises RuntimeError for a class that isn't a ``Module`` or whose constructor takes no ``device``.
    """
    import inspect  # slow to import, and needed here only

    from .._module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"{module_cls.__name__} must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
