"""First and second derivatives of operators against finite differences, at points away from kinks."""

import random
import zlib

import flambeau as fb
import pytest
from flambeau.autograd import gradcheck, gradgradcheck


def real(*shape, low=-2.0, high=2.0):
    """How to make an input: draws from low..high, no two closer than what finite differences need."""
    return ("real", shape, low, high)


def cplx(*shape):
    return ("complex", shape, -2.0, 2.0)


positive = dict(low=0.3, high=2.0)
unit = dict(low=-0.9, high=0.9)


def make(spec, rng):
    if not isinstance(spec, tuple) or spec[0] not in ("real", "complex"):
        return spec
    kind, shape, low, high = spec
    n = 1
    for s in shape:
        n *= s
    grid = [low + (high - low) * (k + 0.41) / max(n, 1) for k in range(n)]
    rng.shuffle(grid)
    if kind == "complex":
        grid = [complex(a, rng.uniform(low, high)) for a in grid]
    dtype = fb.complex128 if kind == "complex" else fb.float64
    return fb.tensor(grid, dtype=dtype).reshape(shape).clone().requires_grad_()


def fn(name):
    return lambda *a: getattr(fb, name)(*a)


UNARY = {
    "neg": real(3), "abs": real(3), "square": real(3), "reciprocal": real(3, **positive), "relu": real(4), "sqrt": real(3, **positive),
    "rsqrt": real(3, **positive), "exp": real(3), "exp2": real(3), "expm1": real(3), "log": real(3, **positive), "log2": real(3, **positive),
    "log10": real(3, **positive), "log1p": real(3, **positive), "sin": real(3), "cos": real(3), "tan": real(3, **unit), "asin": real(3, **unit),
    "acos": real(3, **unit), "atan": real(3), "sinh": real(3), "cosh": real(3), "tanh": real(3), "asinh": real(3),
    "acosh": real(3, low=1.2, high=3),
    "atanh": real(3, **unit), "sigmoid": real(3), "erf": real(3), "erfc": real(3), "lgamma": real(3, **positive), "digamma": real(3, **positive),
    "logit": real(3, low=0.1, high=0.9), "rad2deg": real(3), "frac": real(3, **positive), "sgn": real(3),
    "erfinv": real(3, **unit), "sum": real(2, 3), "mean": real(2, 3), "prod": real(2, 3), "t": real(2, 3),
    "flatten": real(2, 3), "max": real(2, 3), "min": real(2, 3), "amax": real(2, 3), "amin": real(2, 3), "var": real(2, 3),
    "std": real(2, 3), "norm": real(2, 3), "trunc": real(3, **positive), "round": real(3, low=0.6, high=1.4), "floor": real(3, low=0.1, high=0.9),
    "ceil": real(3, low=0.1, high=0.9), "ravel": real(2, 3), "squeeze": real(1, 3, 1), "clone": real(3), "positive": real(3),
}  # fmt: skip
COMPLEX = ["neg", "abs", "square", "reciprocal", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asinh", "sigmoid",
           "sum", "mean", "t", "conj", "real", "imag", "view_as_real", "angle", "sgn"]  # fmt: skip
BINARY = {
    "add": (real(2, 3), real(3)), "sub": (real(2, 1), real(3)), "mul": (real(2, 3), real(3)), "div": (real(2, 3), real(3, **positive)),
    "pow": (real(2, 3, **positive), real(3)), "atan2": (real(3), real(3, **positive)), "hypot": (real(3), real(3)),
    "maximum": (real(4), real(4, low=-1.9, high=2.3)),
    "minimum": (real(4), real(4, low=-1.9, high=2.3)), "fmax": (real(4), real(4, low=-1.9, high=2.3)),
    "fmin": (real(4), real(4, low=-1.9, high=2.3)), "fmod": (real(3, low=0.2, high=0.8), real(3, low=1, high=2)),
    "remainder": (real(3, low=0.2, high=0.8), real(3, low=1, high=2)), "copysign": (real(3), real(3, **positive)),
    "logaddexp": (real(3), real(3)), "logaddexp2": (real(3), real(3)), "xlogy": (real(3, **positive), real(3, **positive)),
    "matmul": (real(2, 3), real(3, 2)), "mm": (real(2, 3), real(3, 2)), "mv": (real(2, 3), real(3)), "dot": (real(3), real(3)),
    "outer": (real(2), real(3)), "bmm": (real(2, 2, 3), real(2, 3, 2)), "rsub": (real(3), real(3)),
}  # fmt: skip
OTHERS = [
    ("pow_number", lambda x: x**3, real(3)), ("rpow", lambda x: 2**x, real(3)), ("pow_negative", lambda x: x**-1.5, real(3, **positive)),
    ("div_number", lambda x: 2 / x, real(3, **positive)), ("add_alpha", lambda a, b: fb.add(a, b, alpha=3), real(3), real(3)),
    ("addcmul", lambda a, b, c: fb.addcmul(a, b, c, value=2), real(3), real(3), real(3)),
    ("addcdiv", lambda a, b, c: fb.addcdiv(a, b, c, value=2), real(3), real(3), real(3, **positive)),
    ("lerp", lambda a, b, w: fb.lerp(a, b, w), real(3), real(3), real(3)), ("clamp", lambda x: x.clamp(-0.6, 0.9), real(6)),
    ("where", lambda a, b: fb.where(fb.tensor([True, False, True]), a, b), real(3), real(3)),
    ("masked_fill", lambda x: x.masked_fill(fb.tensor([True, False, True]), 2.0), real(3)),
    ("reshape", lambda x: x.reshape(3, 2), real(2, 3)), ("permute", lambda x: x.permute(2, 0, 1), real(2, 1, 3)),
    ("transpose", lambda x: x.transpose(0, 1), real(2, 3)), ("expand", lambda x: x.expand(2, 3, 2), real(3, 1)),
    ("select", lambda x: x.select(1, -1), real(2, 3)), ("slice", lambda x: x[:, 0:3:2], real(2, 3)),
    ("unsqueeze", lambda x: x.unsqueeze(1), real(2, 3)),
    ("diagonal", lambda x: x.diagonal(1), real(3, 3)), ("unfold", lambda x: x.unfold(0, 3, 1), real(5)),
    ("as_strided", lambda x: x.as_strided((2, 2), (1, 1), 1), real(4)), ("split", lambda x: x.split(2), real(5)),
    ("split_with_sizes", lambda x: x.split([1, 3], 1), real(2, 4)), ("unbind", lambda x: x.unbind(1), real(2, 3)),
    ("chunk", lambda x: x.chunk(2), real(4)), ("cat", lambda a, b: fb.cat([a, b], 1), real(2, 1), real(2, 3)),
    ("stack", lambda a, b: fb.stack([a, b], 1), real(2, 3), real(2, 3)), ("flip", lambda x: x.flip(0), real(2, 3)),
    ("roll", lambda x: x.roll(1, 0), real(2, 3)), ("repeat", lambda x: x.repeat(2, 1), real(2, 3)), ("tril", lambda x: x.tril(), real(3, 3)),
    ("index_select", lambda x: x.index_select(0, fb.tensor([1, 0, 1])), real(2, 3)),
    ("gather", lambda x: x.gather(1, fb.tensor([[0, 2, 2], [1, 0, 1]])), real(2, 3)),
    ("scatter_add", lambda x, s: x.scatter_add(0, fb.tensor([0, 0, 1]), s), real(3), real(3)),
    ("index_add", lambda x, s: x.index_add(0, fb.tensor([0, 0]), s), real(3, 2), real(2, 2)),
    ("getitem", lambda x: x[fb.tensor([0, 1, 0])], real(2, 3)), ("getitem_mask", lambda x: x[fb.tensor([True, False])], real(2, 3)),
    ("sum_dims", lambda x: x.sum([0, 2], True), real(2, 3, 2)), ("mean_dim", lambda x: x.mean(1), real(2, 3)),
    ("prod_dim", lambda x: x.prod(1), real(2, 3)),
    ("max_dim", lambda x: x.max(1).values, real(2, 3)), ("amax_dim", lambda x: x.amax(1), real(2, 3)),
    ("cumsum", lambda x: x.cumsum(1), real(2, 3)), ("cumprod", lambda x: x.cumprod(1), real(2, 3, **positive)),
    ("logsumexp", lambda x: x.logsumexp(1), real(2, 3)), ("softmax", lambda x: x.softmax(1), real(2, 3)),
    ("log_softmax", lambda x: x.log_softmax(1), real(2, 3)), ("var_dim", lambda x: x.var(1), real(2, 3)), ("std_dim", lambda x: x.std(1), real(2, 3)),
    ("norm_3", lambda x: x.norm(3, 1), real(2, 3)), ("sort", lambda x: x.sort(1).values, real(2, 3)),
    ("topk", lambda x: x.topk(2).values, real(2, 4)),
    ("addmm", lambda m, a, b: fb.addmm(m, a, b, beta=2, alpha=3), real(2, 2), real(2, 3), real(3, 2)),
    ("matmul_vec", lambda a, b: a @ b, real(2, 3), real(3)), ("matmul_batch", lambda a, b: a @ b, real(2, 2, 3), real(3, 2)),
    ("einsum", lambda a, b: fb.einsum("ij,jk->ik", a, b), real(2, 3), real(3, 2)), ("to", lambda x: x.to(fb.float32).to(fb.float64) * 0 + x, real(3)),
    ("mul_complex", lambda a, b: a * b, cplx(2, 3), cplx(3)), ("div_complex", lambda a, b: a / b, cplx(3), cplx(3)),
    ("mul_mixed", lambda a, b: a * b, real(3), cplx(3)), ("pow_complex", lambda a: a**2, cplx(3)),
    ("matmul_complex", lambda a, b: a @ b, cplx(2, 3), cplx(3, 2)),
]  # fmt: skip

CASES = [(name, fn(name), spec) for name, spec in UNARY.items()]
CASES += [(name + "_complex", fn(name), cplx(2, 3)) for name in COMPLEX]
CASES += [(name, fn(name), *specs) for name, specs in BINARY.items()]
CASES += OTHERS
SECOND_IS_ZERO = {"sgn", "frac", "trunc", "round", "floor", "ceil"}


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_derivatives_agree_with_finite_differences(case):
    name, f, *specs = case
    rng = random.Random(zlib.crc32(name.encode()))
    inputs = [make(s, rng) for s in specs]
    assert gradcheck(f, inputs)
    if name not in SECOND_IS_ZERO:
        assert gradgradcheck(f, inputs, atol=1e-4)
