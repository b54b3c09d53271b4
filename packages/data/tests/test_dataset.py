"""Datasets by index, datasets by iteration, and what is made of them."""

import json
import pathlib

import flambeau as fb
import pytest
from flambeau.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from hypothesis import given
from hypothesis import strategies as st

from .cases import SEED, SPLITS

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())["splits"]


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * i


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_a_tensor_dataset_holds_rows_side_by_side():
    x, y = fb.arange(12).reshape(4, 3), fb.arange(4)
    data = TensorDataset(x, y)
    assert len(data) == 4
    assert [t.tolist() for t in data[2]] == [[6, 7, 8], 2]
    assert [t.tolist() for t in data[1:3]] == [[[3, 4, 5], [6, 7, 8]], [1, 2]]
    assert data[-1][1].item() == 3


def test_a_stack_holds_samples_side_by_side_or_by_name():
    assert StackDataset(Squares(5), range(5))[3] == (9, 3)
    named = StackDataset(square=Squares(5), root=range(5))
    assert named[3] == {"square": 9, "root": 3}
    assert named.__getitems__([1, 2]) == [{"square": 1, "root": 1}, {"square": 4, "root": 2}]
    assert len(named) == 5


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.data())
def test_a_concatenation_is_indexed_as_the_concatenated_list(sizes, data):
    joined = ConcatDataset([Squares(n) for n in sizes])
    flat = [i * i for n in sizes for i in range(n)]
    assert len(joined) == len(flat)
    if flat:
        i = data.draw(st.integers(-len(flat), len(flat) - 1))
        assert joined[i] == flat[i]


def test_plus_concatenates_and_chains():
    assert list(Squares(2) + Squares(3)) == [0, 1, 0, 1, 4]
    chained = Count(2) + Count(3)
    assert isinstance(chained, ChainDataset)
    assert list(chained) == [0, 1, 0, 1, 2] and len(chained) == 5


def test_a_subset_asks_for_many_at_once_where_it_can():
    class Many(Squares):
        def __getitems__(self, indices):
            return ("many", indices)

    assert Subset(Many(9), [5, 6, 7]).__getitems__([2, 0]) == ("many", [7, 5])
    assert Subset(Squares(9), [5, 6, 7]).__getitems__([2, 0]) == [49, 25]
    assert Subset(Squares(9), [5, 6])[1] == 36


@pytest.mark.parametrize("lengths, expected", list(zip(SPLITS, RECORDED, strict=True)))
def test_a_seed_gives_the_recorded_split(lengths, expected):
    g = fb.Generator()
    g.manual_seed(SEED)
    assert [part.indices for part in random_split(range(10), lengths, g)] == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_the_parts_of_a_split_are_a_partition(lengths):
    if sum(lengths) == 1:
        lengths = [*lengths, 1]  # 1 would mean all of it
    parts = random_split(range(sum(lengths)), lengths)
    assert [len(p) for p in parts] == lengths
    assert sorted(i for p in parts for i in p.indices) == list(range(sum(lengths)))


def test_an_empty_part_is_warned_about():
    with pytest.warns(UserWarning, match="split at index 1 is 0"):
        random_split(range(3), [1.0, 0.0])


BAD = [
    (lambda: TensorDataset(fb.ones(2), fb.ones(3)), AssertionError, "Size mismatch"),
    (lambda: StackDataset(), ValueError, "At least one"),
    (lambda: StackDataset(range(2), a=range(2)), ValueError, "both types"),
    (lambda: StackDataset(range(2), range(3)), ValueError, "Size mismatch"),
    (lambda: ConcatDataset([]), AssertionError, "empty"),
    (lambda: ConcatDataset([Count(2)]), AssertionError, "IterableDataset"),
    (lambda: ConcatDataset([Squares(2)])[2], IndexError, "2"),
    (lambda: ConcatDataset([Squares(2)])[-3], ValueError, "absolute value"),
    (lambda: list(ChainDataset([[1]])), AssertionError, "only supports"),
    (lambda: Dataset()[0], NotImplementedError, "__getitem__"),
    (lambda: IterableDataset(), TypeError, "abstract"),
    (lambda: random_split(range(4), [1, 2]), ValueError, "does not equal"),
    (lambda: random_split(range(4), [0.5, 0.6]), ValueError, "does not equal"),
    (lambda: random_split(range(4), [1.5, -0.5]), ValueError, "index 0 is not between"),
]


@pytest.mark.parametrize("make, error, words", BAD)
def test_what_makes_no_sense_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
