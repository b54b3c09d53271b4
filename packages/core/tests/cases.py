"""Operators with their NumPy counterparts, and the ways in which the same values can lie in memory."""

import flambeau as fb
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

INTS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTS, *FLOATS, *COMPLEX]

# name: (NumPy's function, dtypes where both mean the same)
UNARY = {
    "neg": (np.negative, INTS + FLOATS + COMPLEX), "abs": (np.abs, INTS + FLOATS + COMPLEX), "sqrt": (np.sqrt, FLOATS),
    "exp": (np.exp, FLOATS + COMPLEX),
    "expm1": (np.expm1, FLOATS), "log": (np.log, FLOATS), "log1p": (np.log1p, FLOATS), "log2": (np.log2, FLOATS),
    "log10": (np.log10, FLOATS),
    "sin": (np.sin, FLOATS), "cos": (np.cos, FLOATS), "tan": (np.tan, FLOATS), "sinh": (np.sinh, FLOATS), "cosh": (np.cosh, FLOATS),
    "tanh": (np.tanh, FLOATS), "asin": (np.arcsin, FLOATS), "acos": (np.arccos, FLOATS), "atan": (np.arctan, FLOATS),
    "asinh": (np.arcsinh, FLOATS),
    "atanh": (np.arctanh, FLOATS), "floor": (np.floor, FLOATS), "ceil": (np.ceil, FLOATS), "trunc": (np.trunc, FLOATS),
    "round": (np.round, FLOATS),
    "sign": (lambda a: np.where(np.isnan(a), 0, np.sign(a)), INTS + FLOATS),
    "square": (np.square, INTS + FLOATS + COMPLEX), "reciprocal": (np.reciprocal, FLOATS),
    "isnan": (np.isnan, FLOATS + COMPLEX), "isinf": (np.isinf, FLOATS + COMPLEX), "isfinite": (np.isfinite, FLOATS + COMPLEX),
    "signbit": (np.signbit, FLOATS), "logical_not": (np.logical_not, ALL), "bitwise_not": (np.invert, ["bool", *INTS]),
    "conj": (np.conj, COMPLEX),
    "angle": (np.angle, COMPLEX), "exp2": (np.exp2, FLOATS), "deg2rad": (np.deg2rad, FLOATS), "positive": (np.positive, INTS + FLOATS),
}  # fmt: skip
BINARY = {
    "add": (np.add, INTS + FLOATS + COMPLEX), "sub": (np.subtract, INTS + FLOATS + COMPLEX), "mul": (np.multiply, INTS + FLOATS + COMPLEX),
    "div": (np.divide, FLOATS), "maximum": (np.maximum, INTS + FLOATS), "minimum": (np.minimum, INTS + FLOATS), "fmax": (np.fmax, FLOATS),
    "fmin": (np.fmin, FLOATS), "atan2": (np.arctan2, FLOATS), "hypot": (np.hypot, FLOATS), "copysign": (np.copysign, FLOATS),
    "eq": (np.equal, ALL), "ne": (np.not_equal, ALL), "lt": (np.less, INTS + FLOATS), "le": (np.less_equal, INTS + FLOATS),
    "gt": (np.greater, INTS + FLOATS), "ge": (np.greater_equal, INTS + FLOATS), "logical_and": (np.logical_and, ALL),
    "logical_or": (np.logical_or, ALL), "logical_xor": (np.logical_xor, ALL), "bitwise_and": (np.bitwise_and, ["bool", *INTS]),
    "bitwise_or": (np.bitwise_or, ["bool", *INTS]), "bitwise_xor": (np.bitwise_xor, ["bool", *INTS]), "fmod": (np.fmod, FLOATS),
    "logaddexp": (np.logaddexp, FLOATS), "nextafter": (np.nextafter, FLOATS),
    "heaviside": (lambda a, b: np.where(np.isnan(a), 0, np.heaviside(a, b)), FLOATS),
    "gcd": (np.gcd, ["uint8"]),
}  # fmt: skip
REDUCE = {
    "sum": (np.sum, ["int64", *FLOATS, *COMPLEX]), "prod": (np.prod, ["int64", *FLOATS]), "mean": (np.mean, FLOATS + COMPLEX),
    "amax": (np.max, INTS + FLOATS), "amin": (np.min, INTS + FLOATS), "all": (np.all, ALL), "any": (np.any, ALL),
    "nansum": (np.nansum, FLOATS), "count_nonzero": (np.count_nonzero, ALL),
}  # fmt: skip
SCAN = {"cumsum": (np.cumsum, ["int64", *FLOATS, *COMPLEX]), "cumprod": (np.cumprod, ["int64", *FLOATS])}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, -3.75, np.inf, -np.inf, np.nan]


def values(dtype, seed=0, shape=(3, 4)):
    """Values of every kind that the dtype has, in some order."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        info = np.iinfo(dtype)
        pool = np.array([0, 1, 2, 3, info.max, info.min, info.max - 1, 7], dtype)
        return np.resize(rng.permutation(np.resize(pool, max(n, 1))), shape)
    if dtype in FLOATS:
        return np.resize(rng.permutation(np.resize(np.array(SPECIAL), max(n, len(SPECIAL)))), shape).astype(dtype)
    return (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)).astype(dtype)


def layouts(a):
    """Tensors with a's values that lie in memory in different ways."""
    t = fb.from_numpy(np.array(a, order="C", copy=True))
    yield "contiguous", t
    if a.ndim >= 2:
        yield "transposed", t.transpose(0, -1).contiguous().transpose(0, -1)
    if a.ndim >= 1:
        wide = fb.zeros(*a.shape[:-1], 2 * a.shape[-1] + 1, dtype=t.dtype)
        part = wide[..., 1::2]
        part.copy_(t)
        yield "strided", part
    offset = fb.zeros(t.numel() + 3, dtype=t.dtype)[3:].view(t.shape)
    offset.copy_(t)
    yield "offset", offset


def same(t, expected, rtol=None):
    """Shape and values, NaN equal to NaN; exact, or within rtol of the dtype."""
    got = t.numpy()
    assert got.shape == np.shape(expected), (got.shape, np.shape(expected))
    if rtol is None:
        rtol = 0 if got.dtype.kind in "biu" else 2e-6 if got.dtype.itemsize <= 4 or got.dtype == np.complex64 else 1e-13
    np.testing.assert_allclose(got, np.asarray(expected).astype(got.dtype), rtol=rtol, atol=rtol if rtol else 0, equal_nan=True)


shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def arrays(dtype=None, shape=shapes):
    """Arrays of small whole numbers, so that sums are exact in any order."""
    kinds = st.sampled_from(["bool", "uint8", "int32", "int64", "float32", "float64", "complex64"]) if dtype is None else st.just(dtype)
    return kinds.flatmap(lambda d: hnp.arrays(np.dtype(d), shape, elements=_elements(d)))


def _elements(dtype):
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith("complex"):
        return st.builds(complex, st.integers(-9, 9), st.integers(-9, 9))
    whole = st.integers(0 if dtype.startswith("u") else -9, 9)
    return whole.map(float) if dtype.startswith("float") else whole
