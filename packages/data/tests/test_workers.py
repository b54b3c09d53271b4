"""The loader with worker processes: the same batches, seeds, and what goes wrong."""

import gc
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import flambeau as fb
import numpy as np
import pytest
from flambeau.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from .cases import SEED

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())
pytestmark = [pytest.mark.usefixtures("nothing_left"), pytest.mark.filterwarnings("ignore:This DataLoader will create")]


class Calls(Dataset):
    """Sample i is ``f(i)``."""

    def __init__(self, n, f):
        self.n, self.f = n, f

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.f(i)


class Stream(IterableDataset):
    """Worker number w yields ``100 w, 100 w + 1, ...``, as many as `lengths` says."""

    def __init__(self, *lengths):
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        w = info.id if info else 0
        return iter(range(100 * w, 100 * w + self.lengths[w]))


def loader(data, **options):
    return DataLoader(data, **{"num_workers": 2, "multiprocessing_context": "fork", **options})


def lists(batches):
    return [b.tolist() if isinstance(b, fb.Tensor) else b for b in batches]


# -- the same batches ------------------------------------------------------------------------------------

OPTIONS = [
    {"batch_size": 3},
    {"batch_size": 3, "drop_last": True, "shuffle": True},
    {"batch_size": None},
    {"batch_size": 2, "num_workers": 3, "prefetch_factor": 1},
    {"batch_size": 1, "prefetch_factor": 5, "persistent_workers": True},
    {"batch_sampler": [[3, 1], [2], [0, 5, 4]]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_workers_yield_what_one_process_yields(options):
    fb.manual_seed(1)
    alone = {k: v for k, v in options.items() if k not in ("num_workers", "prefetch_factor", "persistent_workers")}
    expected = [lists(batches) for batches in [DataLoader(range(10), **alone)] * 2]
    fb.manual_seed(1)
    batches = loader(range(10), **options)
    first, second = lists(batches), lists(batches)
    assert first == expected[0]
    # Workers that are kept draw no new seed, so a second shuffle would differ.
    assert second == expected[1] or options.get("persistent_workers")


def test_later_batches_may_come_first_if_order_does_not_matter():
    data = Calls(4, lambda i: time.sleep(0.5 if i == 0 else 0) or i)
    ordered = lists(loader(data, batch_size=1))
    loose = lists(loader(data, batch_size=1, in_order=False))
    assert ordered == [[0], [1], [2], [3]]
    # 0 and 2 are the first worker's tasks, 1 and 3 the other's.
    assert loose == [[1], [3], [0], [2]]


def test_large_batches_cross_whole():
    data = Calls(6, lambda i: fb.full((300_000,), float(i)))
    for i, batch in enumerate(loader(data, batch_size=2, prefetch_factor=3)):
        assert batch.shape == (2, 300_000)
        assert batch.sum(1).tolist() == [300_000.0 * (2 * i), 300_000.0 * (2 * i + 1)]


STREAMS = [
    (dict(batch_size=2), (3, 5), [[0, 1], [100, 101], [2], [102, 103], [104]]),
    (dict(batch_size=2, drop_last=True), (3, 5), [[0, 1], [100, 101], [102, 103]]),
    (dict(batch_size=None), (1, 3), [0, 100, 101, 102]),
    (dict(batch_size=4), (0, 0), []),
    (dict(batch_size=4, num_workers=3, persistent_workers=True), (1, 0, 2), [[0], [200, 201]]),
]


@pytest.mark.parametrize("options, lengths, expected", STREAMS)
def test_each_worker_has_its_own_stream(options, lengths, expected):
    batches = loader(Stream(*lengths), **options)
    for _ in range(2):
        assert lists(batches) == expected


# -- seeds -----------------------------------------------------------------------------------------------


def test_worker_seeds_and_their_random_numbers_are_the_recorded_ones():
    def sample(i):
        return [get_worker_info().id, get_worker_info().seed, fb.randint(2**31, ()).item()]

    fb.manual_seed(SEED)
    assert [b[0] for b in loader(Calls(4, sample), batch_size=1, collate_fn=list)] == RECORDED["workers"]


def test_pythons_and_numpys_random_numbers_are_seeded_too():
    def pass_over():
        fb.manual_seed(3)
        data = Calls(4, lambda i: (random.random(), np.random.rand()))
        return [b[0] for b in loader(data, batch_size=1, collate_fn=list)]

    first = pass_over()
    assert pass_over() == first
    assert len({x for pair in first for x in pair}) == 8


def test_a_worker_knows_itself_and_the_main_process_is_none():
    assert get_worker_info() is None
    data = Calls(2, lambda i: (get_worker_info().id, get_worker_info().num_workers, len(get_worker_info().dataset)))
    assert [b[0] for b in loader(data, batch_size=1, collate_fn=list)] == [(0, 2, 2), (1, 2, 2)]


def test_worker_info_cannot_be_changed():
    def sample(i):
        try:
            get_worker_info().id = 5
        except RuntimeError as e:
            return str(e)

    assert "Cannot assign" in next(iter(loader(Calls(1, sample), collate_fn=list)))[0]


def test_the_init_function_runs_in_each_worker_after_seeding():
    marks = {}

    def init(worker):
        marks["me"] = (worker, fb.initial_seed() == get_worker_info().seed)

    data = Calls(2, lambda i: marks["me"])
    assert [b[0] for b in loader(data, batch_size=1, collate_fn=list, worker_init_fn=init)] == [(0, True), (1, True)]
    assert marks == {}


# -- persistent workers, early ends ----------------------------------------------------------------------


def test_persistent_workers_are_the_same_processes_in_every_pass_and_others_are_not():
    data = Calls(4, lambda i: os.getpid())
    kept, fresh = loader(data, persistent_workers=True), loader(data)
    assert set(sum(lists(kept), [])) == set(sum(lists(kept), []))
    assert not set(sum(lists(fresh), [])) & set(sum(lists(fresh), []))


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("data", [range(50), Stream(25, 25)], ids=["indexed", "stream"])
def test_a_pass_that_is_left_early_does_not_show_in_the_next(data, persistent):
    batches = loader(data, batch_size=2, persistent_workers=persistent)
    whole = lists(batches)
    for stop in (1, 3):
        for i, _ in enumerate(batches):
            if i == stop:
                break
        assert lists(batches) == whole


def test_leaving_early_does_not_wait_for_what_was_fetched_ahead():
    data = Calls(100, lambda i: time.sleep(0.2) or i)
    start = time.monotonic()
    for _ in loader(data, batch_size=1, prefetch_factor=20):
        break
    gc.collect()
    assert time.monotonic() - start < 3


def test_two_passes_at_once_have_workers_of_their_own():
    batches = loader(range(6), batch_size=3)
    assert [(a.tolist(), b.tolist()) for a in batches for b in batches] == [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 2], [3, 4, 5]),
        ([3, 4, 5], [0, 1, 2]),
        ([3, 4, 5], [3, 4, 5]),
    ]


def test_after_the_end_comes_the_end():
    batches = iter(loader(range(2), batch_size=1))
    assert len(list(batches)) == 2
    assert next(batches, None) is None and next(batches, None) is None


# -- errors ----------------------------------------------------------------------------------------------


class Odd(Exception):
    """Can't be made from a message alone."""

    def __init__(self, a, b):
        super().__init__(a, b)


def fail(error):
    def sample(i):
        if i == 1:
            raise error
        return i

    return sample


ERRORS = [
    (ValueError("some text"), ValueError, "ValueError in DataLoader worker process 1"),
    (KeyError("some text"), KeyError, "KeyError in DataLoader worker process 1"),
    (StopIteration("some text"), None, ""),
    (Odd("some text", 2), RuntimeError, "Odd in DataLoader worker process 1"),
    (type("Local", (ValueError,), {})("some text"), RuntimeError, "Local in DataLoader worker process 1"),
]


@pytest.mark.parametrize("error, kind, words", ERRORS, ids=lambda x: type(x).__name__)
def test_an_exception_arrives_with_its_class_and_traceback_and_the_pass_can_go_on(error, kind, words):
    batches = iter(loader(Calls(4, fail(error)), batch_size=1))
    assert next(batches).tolist() == [0]
    if kind is None:  # as in one process, StopIteration ends the pass
        assert next(batches, "end") == "end"
        return
    with pytest.raises(kind) as caught:
        next(batches)
    message = str(caught.value)
    assert type(caught.value) is kind
    assert f"Caught {words}.\nOriginal Traceback (most recent call last):\n" in message
    assert "some text" in message and "in sample" in message
    assert lists(batches) == [[2], [3]]


def test_what_cannot_be_pickled_is_an_error_not_a_hang():
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        next(iter(loader(Calls(2, lambda i: lambda: i), collate_fn=list)))


def test_an_error_in_the_init_function_arrives():
    with pytest.raises(ZeroDivisionError, match="worker process 0"):
        next(iter(loader(range(2), worker_init_fn=lambda w: 1 / 0)))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("how, words", [("kill", "Killed"), ("exit", "exit code 3")])
def test_a_worker_that_dies_is_noticed_within_a_second(how, words, in_order):
    def sample(i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL) if how == "kill" else os._exit(3)
        return i

    batches = iter(loader(Calls(8, sample), batch_size=1, in_order=in_order))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        for _ in batches:
            pass
    assert time.monotonic() - start < 1.5
    assert words in str(caught.value.__cause__)
    assert next(batches, "end") == "end"


def test_a_worker_that_is_killed_while_another_is_slow_is_noticed_within_a_second():
    data = Calls(4, lambda i: time.sleep(3) if i == 0 else os.kill(os.getpid(), signal.SIGKILL))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iter(loader(data, batch_size=1)))
    assert time.monotonic() - start < 1.5


def test_persistent_workers_are_started_anew_after_one_was_killed():
    batches = loader(Calls(4, lambda i: os.getpid()), batch_size=1, persistent_workers=True)
    (victim,) = next(iter(batches)).tolist()
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)
    assert len(lists(batches)) == 4


def test_waiting_has_a_limit_if_asked_for():
    with pytest.raises(RuntimeError, match="timed out after 0.3 seconds"):
        next(iter(loader(Calls(1, lambda i: time.sleep(2)), num_workers=1, timeout=0.3)))


def test_workers_end_when_their_parent_is_killed():
    script = textwrap.dedent("""
        import os, signal, sys, time
        from flambeau.utils.data import DataLoader
        class Pids:
            def __len__(self): return 100
            def __getitem__(self, i): return os.getpid()
        it = iter(DataLoader(Pids(), num_workers=2, batch_size=1, multiprocessing_context="fork"))
        print(next(it).item(), next(it).item(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(x) for x in parent.stdout.readline().split()]
        parent.wait()  # not until the end of its output: the workers hold that open
    assert len(set(pids)) == 2
    deadline = time.monotonic() + 2
    while (left := [p for p in pids if running(p)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_may_end_in_the_middle_of_a_pass():
    script = textwrap.dedent("""
        from flambeau.utils.data import DataLoader
        it = iter(DataLoader(range(100), num_workers=2, multiprocessing_context="fork", persistent_workers=True))
        print(next(it).item())
    """)
    start = time.monotonic()
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert (out.returncode, out.stdout, out.stderr) == (0, "0\n", "")
    assert time.monotonic() - start < 15


def test_a_pass_leaves_no_resource_for_the_interpreter_to_warn_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        assert len(list(loader(range(4), num_workers=1))) == 4
        gc.collect()
