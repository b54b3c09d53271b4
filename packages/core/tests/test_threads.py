"""Threads: the same bits at any number, calls from several at once, and a fork after the pool has started."""

import multiprocessing
import os
import sys
import threading

import flambeau as fb
import numpy as np
import pytest

COUNTS = (1, 2, 3, 4)


@pytest.fixture
def threads():
    before = fb.get_num_threads()
    yield
    fb.set_num_threads(before)


def data(*shape, dtype=fb.float32):
    return fb.from_numpy(np.random.default_rng(0).normal(size=shape)).to(dtype)


WORK = {
    "exp": lambda: data(1_000_003).exp(),
    "strided": lambda: data(1003, 1001).t().tanh(),
    "broadcast": lambda: data(1000, 1) * data(1, 1000),
    "sum": lambda: data(1_000_003).sum(),
    "sum of halves": lambda: data(1_000_003, dtype=fb.float16).sum(),
    "rows": lambda: data(3, 500_000).sum(1),
    "columns": lambda: data(500_000, 3).sum(0),
    "mean": lambda: data(700, 800).mean((0, 1)),
    "var": lambda: data(700, 801).var(1),
    "norm": lambda: data(1_000_003).norm(),
    "logsumexp": lambda: data(500, 1001).logsumexp(1),
    "softmax": lambda: data(500, 1001).softmax(1),
    "cumsum": lambda: data(50, 10_001).cumsum(1),
    "prod": lambda: (data(100, 1001) * 0.1 + 1).prod(1),
    "mm": lambda: data(300, 500) @ data(500, 200),
    "deep mm": lambda: data(16, 20_000) @ data(20_000, 16),
    "mv": lambda: data(1000, 900) @ data(900),
    "dot": lambda: data(1_000_003).dot(data(1_000_003)),
    "bmm": lambda: data(20, 64, 64) @ data(20, 64, 64),
    "sort": lambda: data(200, 1001).sort(1).values,
    "index_add": lambda: fb.zeros(10, 300).index_add(0, fb.arange(5000) % 10, data(5000, 300)),
    "scatter_add": lambda: fb.zeros(100).scatter_add(0, fb.arange(300_000) % 100, data(300_000)),
    "inv": lambda: fb.linalg.inv(data(40, 30, 30)),
}


@pytest.mark.parametrize("name", WORK)
def test_results_have_the_same_bits_at_any_number_of_threads(name, threads):
    results = []
    for n in COUNTS:
        fb.set_num_threads(n)
        assert fb.get_num_threads() == n
        results.append(WORK[name]().numpy().tobytes())
    assert all(r == results[0] for r in results)


def test_a_number_of_threads_must_be_positive():
    for bad, error in ((0, RuntimeError), (-1, RuntimeError), (1.5, TypeError)):
        with pytest.raises(error):
            fb.set_num_threads(bad)


def run_together(fn, n=4):
    errors = []

    def guarded(i):
        try:
            fn(i)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
        assert not w.is_alive(), "a deadlock"
    if errors:
        raise errors[0]


def test_calls_from_several_threads_do_not_disturb_each_other(threads):
    fb.set_num_threads(2)
    expected = {n: data(400, 400 + n) @ data(400 + n, 100) for n in range(4)}

    def work(i):
        for _ in range(10):
            assert (data(400, 400 + i) @ data(400 + i, 100) == expected[i]).all()
            assert fb.full((200_001,), float(i)).sum() == 200_001 * i
            with pytest.raises(RuntimeError, match=f"size of tensor a \\({i + 2}\\)"):
                fb.ones(i + 2) + fb.ones(i + 7)

    run_together(work)


def test_one_tensor_can_be_read_and_copied_by_all_threads():
    x = data(1000)
    total = x.sum()

    def work(i):
        for _ in range(300):
            y = x[i:].clone()
            assert y.shape == (1000 - i,) and x.sum() == total

    run_together(work)


def child(results):
    results.put((WORK["mm"]().sum().item(), WORK["sum"]().item(), fb.get_num_threads()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes_with_threads_of_its_own(threads):
    fb.set_num_threads(3)
    expected = (WORK["mm"]().sum().item(), WORK["sum"]().item(), 3)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    try:
        assert results.get(timeout=60) == expected
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()
    assert WORK["sum"]().item() == expected[1]


def undisturbed(call, times=1000):
    """How many calls come one after another without another busy thread getting a turn.

    With a long switch interval only a call that releases the interpreter's lock lets the other thread in.
    """
    turns, stop, started = [0], [], threading.Event()

    def other():
        started.set()
        while not stop:
            turns[0] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.5)
    thread = threading.Thread(target=other)
    try:
        thread.start()
        started.wait(10)  # from here on this thread has the lock for half a second
        before = turns[0]
        for i in range(times):
            call()
            if turns[0] != before:
                return i
        return times
    finally:
        stop.append(1)
        sys.setswitchinterval(interval)
        thread.join(10)


def test_short_calls_keep_the_interpreters_lock_and_long_ones_release_it():
    x, y = fb.ones(4), data(600, 600)
    # A loaded machine may take the processor away for the half second: not three times in a row.
    assert any(undisturbed(lambda: x + x) == 1000 for _ in range(3))
    assert undisturbed(lambda: y @ y, 20) < 20
