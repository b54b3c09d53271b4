"""With the same seed, the same numbers as PyTorch: random_streams.json is what tools/record_random.py saw there."""

from __future__ import annotations

import json
import math
import os
import pathlib
import threading
import zlib

import flambeau as fb
import pytest

RECORD = json.loads((pathlib.Path(__file__).parent / "random_streams.json").read_text())
# Logarithms and sines may differ in their last places; a half's last place is 1e-3 of it.
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 4e-6, "float64": 1e-13}
REAL = {fb.complex64: "float32", fb.complex128: "float64"}


def values_of(x):
    """Its elements as Python numbers, complex ones as pairs, and the tolerance that belongs to its dtype."""
    if x.dtype in REAL:
        name, x = REAL[x.dtype], fb.view_as_real(x)
    else:
        name = str(x.dtype).split(".")[-1]
    exact = name not in TOLERANCE
    return x.to(fb.int64 if exact else fb.float64).flatten().tolist(), list(x.shape), TOLERANCE.get(name, 0)


def assert_near(got, want, tolerance, scale=1.0):
    __tracebackhide__ = True
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a == b or abs(a - b) <= tolerance * max(scale, abs(b)), f"{got} is not {want}"


@pytest.mark.parametrize("case", RECORD["cases"], ids=lambda c: c["expr"])
def test_the_stream_is_the_recorded_one(case):
    fb.manual_seed(7)
    result = eval(case["expr"], {"fb": fb})
    following = int(fb.randint(0, 2**28 - 1, ()).item())
    values, shape, tolerance = values_of(result)
    assert shape == case["shape"]
    if "values" in case:
        assert_near(values, case["values"], tolerance)
    else:
        assert_near(values[:2] + values[-2:], case["first"] + case["last"], tolerance)
        if "crc" in case:
            assert zlib.crc32(repr(values).encode()) == case["crc"]
        else:
            assert_near([sum(values)], [case["sum"]], tolerance + 1e-9, sum(map(abs, values)))
    assert following == case["next"], "it used another number of draws"


@pytest.mark.parametrize(("seed", "initial", "drawn"), RECORD["seeds"])
def test_any_64_bit_seed_is_taken_negative_ones_modulo_2_to_64(seed, initial, drawn):
    fb.manual_seed(seed)
    assert fb.initial_seed() == initial
    assert fb.rand(2, dtype=fb.float64).tolist() == drawn
    assert fb.rand(2, dtype=fb.float64, generator=fb.Generator().manual_seed(seed)).tolist() == drawn


@pytest.mark.parametrize(("expression", "crc"), RECORD["states"])
def test_a_saved_state_is_byte_for_byte_pytorchs(expression, crc):
    fb.manual_seed(2**45 + 3)
    eval(expression, {"fb": fb})
    assert zlib.crc32(fb.get_rng_state().numpy().tobytes()) == crc


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 3000])
def test_a_state_that_is_set_again_repeats_the_numbers(draws):
    fb.manual_seed(3)
    fb.rand(draws)
    fb.randn(1)  # leaves the second number of its pair in the state
    state = fb.get_rng_state()
    first = fb.randn(5, dtype=fb.float64).tolist()
    fb.set_rng_state(state)
    assert fb.randn(5, dtype=fb.float64).tolist() == first
    own = fb.Generator()
    own.set_state(state)
    assert fb.randn(5, dtype=fb.float64, generator=own).tolist() == first
    assert own.initial_seed() == 3


def test_generators_are_independent_and_start_alike():
    assert fb.Generator().initial_seed() == 67280421310721
    a, b = fb.Generator().manual_seed(1), fb.Generator().manual_seed(1)
    fb.rand(3)
    first = fb.rand(4, generator=a)
    assert not fb.equal(fb.rand(4, generator=a), first)
    assert fb.equal(fb.rand(4, generator=b), first)
    assert a.seed() == a.initial_seed()
    assert fb.seed() == fb.initial_seed()


@pytest.mark.parametrize(
    ("expression", "error", "text"),
    [
        ("fb.manual_seed(2**64)", (ValueError, RuntimeError), "verflow"),
        ("fb.set_rng_state(fb.zeros(5, dtype=fb.uint8))", RuntimeError, "5056"),
        ("fb.set_rng_state(fb.zeros(5056, dtype=fb.uint8))", RuntimeError, "mt19937"),
        ("fb.set_rng_state(fb.zeros(5056))", TypeError, "ByteTensor"),
        ("fb.zeros(3).uniform_(2, 1)", RuntimeError, "from=2 > to=1"),
        ("fb.zeros(3).uniform_(0, float('inf'))", RuntimeError, "to is out of bounds for float"),
        ("fb.zeros(3).uniform_(-3e38, 3e38)", RuntimeError, "exceed the limit"),
        ("fb.zeros(3, dtype=fb.int64).uniform_()", NotImplementedError, "not implemented for 'Long'"),
        ("fb.zeros(3).normal_(0, -1)", RuntimeError, "std -1"),
        ("fb.zeros(0).normal_(0, -1)", RuntimeError, "std -1"),
        ("fb.zeros(3, dtype=fb.int64).normal_()", NotImplementedError, "not implemented for 'Long'"),
        ("fb.zeros(3).log_normal_(0, 0)", RuntimeError, "std=0"),
        ("fb.zeros(3).exponential_(-1)", RuntimeError, "lambda=-1"),
        ("fb.zeros(3, dtype=fb.int32).exponential_()", RuntimeError, "dtype must be a floating point"),
        ("fb.zeros(3).geometric_(1)", RuntimeError, "p=1"),
        ("fb.zeros(3).cauchy_(0, -1)", RuntimeError, "sigma=-1"),
        ("fb.zeros(3).bernoulli_(1.2)", RuntimeError, "p=1.2"),
        ("fb.bernoulli(fb.full((2,), 1.5))", RuntimeError, "p"),
        ("fb.zeros(2).bernoulli_(fb.zeros(2, 2))", RuntimeError, "number of sizes provided"),
        ("fb.zeros(1).expand(3).normal_()", RuntimeError, "more than one element"),
        ("fb.zeros(3).random_(5, 5)", RuntimeError, "from=5 >= to=5"),
        ("fb.zeros(3).random_(0)", RuntimeError, "from=0 >= to=0"),
        ("fb.zeros(3, dtype=fb.uint8).random_(0, 257)", RuntimeError, "to - 1 is out of bounds for unsigned char"),
        ("fb.zeros(3, dtype=fb.uint8).random_(-1, 5)", RuntimeError, "from is out of bounds for unsigned char"),
        ("fb.randint(5, 5, (2,))", RuntimeError, "from=5 >= to=5"),
        ("fb.randperm(-1)", RuntimeError, "negative"),
        ("fb.randperm(2050, dtype=fb.float16)", RuntimeError, "n cannot be greater than 2049 for Half type"),
        ("fb.randperm(3, dtype=fb.bool)", NotImplementedError, "not implemented for 'Bool'"),
        ("fb.normal(fb.zeros(2), -fb.ones(2))", RuntimeError, "std >= 0"),
        ("fb.poisson(-fb.ones(1))", RuntimeError, "non-negative"),
        ("fb.multinomial(fb.zeros(2), 1)", RuntimeError, "sum of probabilities <= 0"),
        ("fb.multinomial(fb.zeros(2), 2, True)", RuntimeError, "sum of probabilities <= 0"),
        ("fb.multinomial(-fb.ones(2), 1)", RuntimeError, "element < 0"),
        ("fb.multinomial(-fb.ones(2), 3, True)", RuntimeError, "entry < 0"),
        ("fb.multinomial(fb.ones(3), 4)", RuntimeError, "without replacement"),
        ("fb.multinomial(fb.ones(3), 0)", RuntimeError, "n_sample <= 0"),
        ("fb.multinomial(fb.ones(2, 2, 2), 1)", RuntimeError, "1 or 2 dim"),
        ("fb.multinomial(fb.ones(3, dtype=fb.int64), 1)", RuntimeError, "floating-point"),
        ("fb.dropout(fb.ones(3), 1.5, True)", RuntimeError, "between 0 and 1, but got 1.5"),
        ("fb.feature_dropout(fb.ones(3), 0.5, True)", RuntimeError, "at least 2 dimensions"),
    ],
)
def test_bad_arguments_are_named(expression, error, text):
    fb.manual_seed(0)
    with pytest.raises(error, match=".*") as caught:
        eval(expression, {"fb": fb})
    assert text in str(caught.value)
    fb.manual_seed(0)


def test_an_in_place_draw_writes_its_own_elements_only():
    x = fb.zeros(4, 6)
    x[1:3, ::2].normal_()
    assert int((x != 0).sum()) == 6
    assert bool((x[0] == 0).all()) and bool((x[:, 1::2] == 0).all())


def test_samples_without_replacement_are_distinct_and_follow_the_weights():
    weights = fb.arange(6).to(fb.float32)
    samples = fb.multinomial(weights.expand(4000, 6), 5)
    assert all(sorted(row) == [1, 2, 3, 4, 5] for row in samples.tolist())
    first = fb.multinomial(weights.expand(4000, 6), 1).flatten()
    for k in range(6):
        share = int((first == k).sum()) / 4000
        assert abs(share - k / 15) <= 5 * math.sqrt(k / 15 / 4000)


def test_dropout_keeps_the_mean_and_gives_the_gradient_of_what_it_kept():
    x = fb.ones(20000, requires_grad=True)
    y = fb.dropout(x, 0.4, True)
    assert abs(float(y.detach().mean()) - 1) < 0.05
    y.sum().backward()
    assert fb.equal(x.grad, y.detach())
    assert fb.dropout(x, 0.4, False) is x
    assert float(fb.dropout(fb.ones(3), 1.0, True).sum()) == 0


def test_threads_that_draw_share_one_stream():
    fb.manual_seed(5)
    together: list[float] = []

    def draw() -> None:
        for _ in range(50):
            together.extend(fb.rand(4, dtype=fb.float64).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    fb.manual_seed(5)
    assert sorted(together) == sorted(fb.rand(800, dtype=fb.float64).tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_continues_the_stream_of_its_parent():
    fb.manual_seed(6)
    fb.rand(3)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, repr(fb.rand(4).tolist()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    assert os.read(read, 10000).decode() == repr(fb.rand(4).tolist())
    os.close(read)
