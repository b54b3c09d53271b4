"""Arguments that would make a kernel read or write outside its memory, or loop without end, are refused before it starts."""

import flambeau as fb
import pytest

WRITERS = {
    "index_add_ index": lambda i: i.index_add_(0, i, i.clone()),
    "index_add_ source": lambda i: i.index_add_(0, i.clone(), i),
    "index_copy_ index": lambda i: i.index_copy_(0, i, i.clone()),
    "index_copy_ source": lambda i: i.index_copy_(0, i.clone(), i),
    "index_fill_": lambda i: i.index_fill_(0, i, 1 << 40),
    "scatter_ value": lambda i: i.scatter_(0, i, 1 << 40),
    "scatter_ source": lambda i: i.scatter_(0, i.clone(), i),
    "scatter_add_": lambda i: i.scatter_add_(0, i, i.clone()),
    "scatter_reduce_": lambda i: i.scatter_reduce_(0, i, i.clone(), "amax"),
    "put_": lambda i: i.put_(i, i.clone()),
    "index_put_ index": lambda i: i.index_put_((i,), i.clone()),
    "index_put_ values": lambda i: i.index_put_((i.clone(),), i),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_the_written_memory_is_not_an_index_or_a_source(write):
    i = fb.tensor([2, 0, 1])
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(i)
    assert i.tolist() == [2, 0, 1]


@pytest.mark.parametrize("k", [0, -1, -2, -(1 << 40), 4])
def test_kthvalue_refuses_a_k_outside_the_dimension(k):
    with pytest.raises(RuntimeError, match="selected number k out of range"):
        fb.arange(3.0).kthvalue(k)


@pytest.mark.parametrize("name", ["stride", "padding", "dilation"])
def test_convolutions_refuse_parameters_beyond_31_bits(name):
    with pytest.raises(RuntimeError, match="below 2\\*\\*31"):
        fb.conv1d(fb.ones(2, 3, 4), fb.ones(1, 3, 2), **{name: (1 << 63) - 1})


def test_huge_repeats_are_an_error_at_once():
    with pytest.raises((RuntimeError, OverflowError)):
        fb.ones(2).repeat_interleave(1 << 61)
