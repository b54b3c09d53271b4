"""Samplers: recorded orders, laws, errors."""

import json
import pathlib
from collections import Counter

import flambeau as fb
import pytest
from flambeau.utils import data
from hypothesis import given
from hypothesis import strategies as st

from .cases import LOADERS, SAMPLERS, SEED

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())


def generator(seed):
    g = fb.Generator()
    g.manual_seed(seed)
    return g


def options(given):
    return {k: generator(v) if k == "generator" else v for k, v in given.items()}


def two_passes(made):
    passes = [[x.tolist() if isinstance(x, fb.Tensor) else x for x in made] for _ in range(2)]
    return [*passes, fb.randint(2**31, ()).item()]


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_gives_the_recorded_order_and_draws_no_more(name):
    kind, arguments, given = SAMPLERS[name]
    fb.manual_seed(SEED)
    assert two_passes(getattr(data, kind)(*arguments, **options(given))) == RECORDED["samplers"][name]


@pytest.mark.parametrize("name", LOADERS)
def test_a_seed_gives_the_recorded_batches_and_draws_no_more(name):
    fb.manual_seed(SEED)
    assert two_passes(data.DataLoader(range(10), **options(LOADERS[name]))) == RECORDED["loaders"][name]


@given(st.integers(1, 20), st.integers(1, 50))
def test_without_replacement_no_index_comes_twice_more_often_than_another(n, wanted):
    sampler = data.RandomSampler(range(n), num_samples=wanted)
    counts = Counter(sampler)
    assert len(sampler) == wanted == sum(counts.values())
    assert max(counts.values()) - min(counts.get(i, 0) for i in range(n)) <= 1


@given(st.integers(0, 20), st.integers(1, 6), st.booleans())
def test_batches_are_the_sequence_in_pieces(n, size, drop_last):
    batches = data.BatchSampler(range(n), size, drop_last)
    pieces = [list(range(n))[i : i + size] for i in range(0, n, size)]
    expected = [p for p in pieces if len(p) == size or not drop_last]
    assert list(batches) == expected and len(batches) == len(expected)


@given(st.integers(0, 20), st.integers(1, 6), st.booleans(), st.booleans())
def test_the_shares_of_all_processes_cover_the_dataset_and_have_one_length(n, processes, shuffle, drop_last):
    shares = [
        list(data.DistributedSampler(range(n), processes, r, shuffle, drop_last=drop_last)) for r in range(processes)
    ]
    lengths = {len(s) for s in shares}
    assert lengths == {n // processes if drop_last else -(-n // processes)}
    seen = Counter(i for s in shares for i in s)
    if drop_last:
        assert all(k == 1 for k in seen.values())
    else:
        assert set(seen) == set(range(n))


def test_an_epoch_has_its_own_order():
    sampler = data.DistributedSampler(range(50), 2, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_a_weight_of_zero_is_never_drawn():
    assert set(data.WeightedRandomSampler([0.0, 1.0, 0.0, 1.0], 100)) == {1, 3}


BAD = [
    (lambda: data.RandomSampler([]), ValueError, "num_samples=0"),
    (lambda: data.RandomSampler([1], num_samples=-1), ValueError, "num_samples=-1"),
    (lambda: data.RandomSampler([1], replacement=1), TypeError, "replacement=1"),
    (lambda: data.WeightedRandomSampler([1.0], True), ValueError, "num_samples=True"),
    (lambda: data.WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement=1"),
    (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "1d sequence"),
    (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size=0"),
    (lambda: data.BatchSampler([1], True, False), ValueError, "batch_size=True"),
    (lambda: data.BatchSampler([1], 1, 1), ValueError, "drop_last=1"),
    (lambda: data.DistributedSampler([1], 2, 2), ValueError, "Invalid rank 2"),
    (lambda: iter(data.Sampler()), NotImplementedError, None),
]


@pytest.mark.parametrize("make, error, words", BAD)
def test_what_makes_no_sense_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
