"""From samples to a batch."""

from collections import OrderedDict, defaultdict, namedtuple

import flambeau as fb
import numpy as np
import pytest
from flambeau.utils.data import default_collate, default_convert
from flambeau.utils.data._collate import collate, default_collate_fn_map

Point = namedtuple("Point", "x y")


def plain(batch):
    """Tensors in `batch` as (dtype, list)."""
    if isinstance(batch, fb.Tensor):
        return batch.dtype, batch.tolist()
    if isinstance(batch, dict):
        return {k: plain(v) for k, v in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(plain, batch))
    return [plain(x) for x in batch] if isinstance(batch, list) else batch


I64, F64, F32 = fb.int64, fb.float64, fb.float32
COLLATED = [
    ([1, 2], (I64, [1, 2])),
    ([1.0, 2.0], (F64, [1.0, 2.0])),
    ([True, False], (fb.bool, [True, False])),
    (["a", "b"], ["a", "b"]),
    ([b"a"], [b"a"]),
    ([fb.ones(2), fb.zeros(2)], (F32, [[1, 1], [0, 0]])),
    ([np.ones(2), np.zeros(2)], (F64, [[1, 1], [0, 0]])),
    ([np.float32(1), np.float32(2)], (F32, [1, 2])),
    ([np.float64(1)], (F64, [1])),
    ([np.int64(1)], (I64, [1])),
    ([np.array(3.0)], (F64, [3])),
    ([np.str_("a")], ["a"]),
    ([(1, 2.0), (3, 4.0)], [(I64, [1, 3]), (F64, [2, 4])]),
    ([[1, "x"], [2, "y"]], [(I64, [1, 2]), ("x", "y")]),
    ([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], {"a": (I64, [1, 3]), "b": [(I64, [2, 4])]}),
    ([Point(1, 2), Point(3, 4)], Point((I64, [1, 3]), (I64, [2, 4]))),
    ([range(2), range(2)], [(I64, [0, 0]), (I64, [1, 1])]),
    ([(), ()], []),
]


@pytest.mark.parametrize("batch, expected", COLLATED, ids=lambda x: str(x)[:40])
def test_samples_become_a_batch_of_the_same_structure(batch, expected):
    assert plain(default_collate(batch)) == expected


@pytest.mark.parametrize("kind", [OrderedDict, lambda d: defaultdict(int, d)], ids=["ordered", "default"])
def test_mappings_keep_their_type(kind):
    first = kind({"a": 1})
    batch = default_collate([first, kind({"a": 2})])
    assert type(batch) is type(first) and batch["a"].tolist() == [1, 2]
    assert getattr(batch, "default_factory", None) is getattr(first, "default_factory", None)


def test_further_types_are_collated_by_functions_of_their_own():
    functions = {**default_collate_fn_map, Point: lambda batch, *, collate_fn_map: len(batch)}
    assert collate([{"p": Point(1, 2)}, {"p": Point(3, 4)}], collate_fn_map=functions) == {"p": 2}


BAD = [
    ([None], TypeError, "found <class 'NoneType'>"),
    ([1j], TypeError, "complex"),
    ([{1}], TypeError, "set"),
    ([np.array(["a"])], TypeError, "<U1"),
    ([np.array([None])], TypeError, "object"),
    ([(1, 2), (3,)], RuntimeError, "equal size"),
    ([fb.ones(2), fb.ones(3)], RuntimeError, "equal size"),
    ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ([], IndexError, None),
]


@pytest.mark.parametrize("batch, error, words", BAD, ids=lambda x: str(x)[:40])
def test_what_cannot_be_a_batch_is_refused(batch, error, words):
    with pytest.raises(error, match=words):
        default_collate(batch)


def test_converting_turns_numpy_into_tensors_and_leaves_the_rest():
    found = default_convert({"a": [1, np.ones(1), "s"], "p": Point(np.float32(1), None), "t": (1, 2), "r": range(2)})
    assert plain(found) == {"a": [1, (F64, [1]), "s"], "p": Point((F32, 1), None), "t": [1, 2], "r": [0, 1]}
    text = np.array(["a"])
    assert default_convert(text) is text
