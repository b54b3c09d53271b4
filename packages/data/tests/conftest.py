"""Every test here ends within its time, and leaves no process and no open file behind."""

import gc
import multiprocessing
import os
import signal
import time

import pytest

LIMIT = 30  # seconds


@pytest.fixture(autouse=True)
def hard_limit():
    def late(signum, frame):
        raise TimeoutError(f"the test took more than {LIMIT} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def open_files():
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


@pytest.fixture
def nothing_left():
    """Use it where workers are started by fork; other methods start helpers that stay."""
    gc.collect()
    files = open_files()
    yield
    gc.collect()
    deadline = time.monotonic() + 6
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert multiprocessing.active_children() == []
    assert len(open_files()) <= len(files)
