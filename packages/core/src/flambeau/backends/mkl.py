"""MKL: not in this build."""


def is_available() -> bool:
    """False."""
    return False
