"""Workers that are not forks: everything they need crosses as pickles.

Apart from the other tests of workers, since Python keeps helper processes for these methods.
"""

import flambeau as fb
import pytest
from flambeau.utils.data import DataLoader, TensorDataset


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods_yield_the_same(method):
    data = TensorDataset(fb.arange(6.0), fb.arange(6))
    batches = DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context=method, persistent_workers=True)
    for _ in range(2):
        found = [[t.tolist() for t in b] for b in batches]
        assert found == [[[0, 1, 2, 3], [0, 1, 2, 3]], [[4, 5], [4, 5]]]


def test_what_cannot_be_pickled_is_refused_at_once():
    batches = DataLoader(range(2), num_workers=1, multiprocessing_context="spawn", collate_fn=lambda x: x)
    with pytest.raises(Exception, match="pickle"):
        iter(batches)
