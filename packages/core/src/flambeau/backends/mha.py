"""Attention: whether a fused path may be taken. There is one path here, so that the switch has no effect."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` set; True at first."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Accepted for PyTorch's API."""
    global _fastpath
    _fastpath = bool(value)
