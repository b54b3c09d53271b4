"""The order of contractions in einsum: from left to right here, whatever these switches say."""

enabled = False
strategy = None


def is_available() -> bool:
    """False."""
    return False


def get_opt_einsum() -> None:
    """None: the package is not used."""
