"""OpenMP: not used. Threads are a pool of Flambeau's own, sized by `set_num_threads`."""


def is_available() -> bool:
    """False."""
    return False
