"""The loader in one process, and its options."""

import warnings

import flambeau as fb
import pytest
from flambeau.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)
from hypothesis import given
from hypothesis import strategies as st


class Count(IterableDataset):
    def __init__(self, n, told=None):
        self.n, self.told = n, told

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.told if self.told is not None else self.n


def lists(loader):
    return [x.tolist() if isinstance(x, fb.Tensor) else x for x in loader]


@given(st.integers(1, 20), st.integers(1, 7), st.booleans(), st.booleans())
def test_batches_are_the_samples_in_pieces(n, size, drop_last, stream):
    data = Count(n) if stream else range(n)
    pieces = [list(range(i, min(i + size, n))) for i in range(0, n, size)]
    loader = DataLoader(data, batch_size=size, drop_last=drop_last)
    assert lists(loader) == [p for p in pieces if len(p) == size or not drop_last]
    assert len(loader) == len(lists(loader))


@given(st.integers(1, 20), st.integers(1, 7))
def test_shuffled_batches_hold_every_sample_once(n, size):
    found = lists(DataLoader(range(n), batch_size=size, shuffle=True))
    assert sorted(sum(found, [])) == list(range(n))


def test_without_batches_samples_come_as_they_are():
    assert list(DataLoader(["a", "b"], batch_size=None)) == ["a", "b"]
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]


def test_a_batch_sampler_decides_on_the_batches():
    assert lists(DataLoader(range(9), batch_sampler=[[8, 0], [4]])) == [[8, 0], [4]]
    assert lists(DataLoader(range(3), batch_sampler=BatchSampler(SequentialSampler(range(3)), 2, True))) == [[0, 1]]


def test_two_passes_at_once_do_not_disturb_each_other():
    loader = DataLoader(range(4), batch_size=2)
    a, b = iter(loader), iter(loader)
    assert next(a).tolist() == next(b).tolist() == [0, 1]
    assert next(a).tolist() == next(b).tolist() == [2, 3]


class Doubled(TensorDataset):
    def __getitem__(self, index):
        return tuple(2 * t for t in super().__getitem__(index))


class ByLists(TensorDataset):
    def __getitems__(self, indices):
        return [(7,) for _ in indices]


@pytest.mark.parametrize("indices", [[[0, 3], [2]], [[-1, 1]], [[fb.tensor(1), fb.tensor(2)]], [(0, 2)]], ids=str)
@pytest.mark.parametrize(
    "make",
    [TensorDataset, Doubled, ByLists, lambda *t: Subset(TensorDataset(*t), [3, 1, 0, 2])],
    ids=["plain", "changed samples", "changed lists", "subset"],
)
def test_batches_taken_whole_equal_batches_made_of_samples(make, indices):
    data = make(fb.arange(12.0).reshape(4, 3), fb.arange(4))
    samples = getattr(data, "__getitems__", lambda batch: [data[i] for i in batch])
    for batch, expected in zip(DataLoader(data, batch_sampler=indices), indices, strict=True):
        made = default_collate(samples(expected))
        assert type(batch) is list and [t.tolist() for t in batch] == [t.tolist() for t in made]
        assert [t.dtype for t in batch] == [t.dtype for t in made]


def test_an_index_past_the_end_is_an_error():
    for data in (TensorDataset(fb.arange(4)), [1, 2]):
        with pytest.raises(IndexError):
            list(DataLoader(data, batch_sampler=[[9]]))


def test_a_whole_batch_is_its_own_memory():
    x = fb.zeros(4)
    ((batch,),) = DataLoader(TensorDataset(x), batch_size=4)
    batch.add_(1)
    assert x.tolist() == [0, 0, 0, 0]


def test_a_stream_longer_than_it_said_is_warned_about():
    loader = DataLoader(Count(4, told=2), batch_size=1)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        assert len([*iter(loader)]) == 4


def test_pinned_memory_is_warned_about_once_a_pass_and_changes_nothing():
    with pytest.warns(UserWarning, match="no accelerator") as caught:
        assert lists(DataLoader(range(4), batch_size=2, pin_memory=True)) == [[0, 1], [2, 3]]
    assert len(caught) == 1


def test_too_many_workers_are_warned_about():
    with pytest.warns(UserWarning, match="10000 worker processes"):
        DataLoader(range(3), num_workers=10000)


X = range(4)
BAD = [
    (lambda: DataLoader(X, num_workers=-1), ValueError, "num_workers"),
    (lambda: DataLoader(X, timeout=-1), ValueError, "timeout"),
    (lambda: DataLoader(X, prefetch_factor=2), ValueError, "prefetch_factor"),
    (lambda: DataLoader(X, num_workers=1, prefetch_factor=-2), ValueError, "prefetch_factor"),
    (lambda: DataLoader(X, persistent_workers=True), ValueError, "persistent_workers"),
    (lambda: DataLoader(Count(2), shuffle=True), ValueError, "shuffle=True"),
    (lambda: DataLoader(Count(2), sampler=[1]), ValueError, "sampler"),
    (lambda: DataLoader(Count(2), batch_sampler=[[1]]), ValueError, "batch_sampler"),
    (lambda: DataLoader(X, sampler=[1], shuffle=True), ValueError, "mutually exclusive"),
    (lambda: DataLoader(X, batch_sampler=[[1]], batch_size=3), ValueError, "mutually exclusive"),
    (lambda: DataLoader(X, batch_size=None, drop_last=True), ValueError, "mutually exclusive"),
    (lambda: DataLoader(X, batch_size=0), ValueError, "batch_size=0"),
    (lambda: DataLoader([], shuffle=True), ValueError, "num_samples=0"),
    (lambda: DataLoader(X, multiprocessing_context="fork"), ValueError, "num_workers=0"),
    (lambda: DataLoader(X, num_workers=1, multiprocessing_context="x"), ValueError, "'x'"),
    (lambda: DataLoader(X, num_workers=1, multiprocessing_context=3), TypeError, "=3"),
    (lambda: setattr(DataLoader(X), "batch_size", 3), ValueError, "should not be set"),
    (lambda: setattr(DataLoader(X), "dataset", 3), ValueError, "should not be set"),
    (lambda: len(DataLoader(type("D", (Dataset,), {})())), TypeError, "len"),
]


@pytest.mark.parametrize("make, error, words", BAD)
def test_what_makes_no_sense_is_refused(make, error, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=words):
            make()
