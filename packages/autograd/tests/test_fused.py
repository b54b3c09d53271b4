"""Derivatives that run as one loop give the bits that their operators give one by one (as they run when recorded)."""

import flambeau as fb
import pytest
from flambeau.autograd import grad

POSITIVE = ["sqrt", "rsqrt", "log2", "log10", "log1p", "reciprocal"]
ANY = ["square", "exp2", "expm1", "erf", "erfc", "atan", "asinh", "tan", "sigmoid", "tanh"]
UNIT = ["asin", "acos", "atanh", "erfinv"]


def _bits(t):
    return t.detach().reshape(-1).tolist()


def _same(f, *inputs, **options):
    y = f(*inputs)
    w = (y.detach() * 0.37 + 0.11).clone()
    wanted = [x for x in inputs if x.requires_grad]
    fused = grad(y, wanted, w, retain_graph=True)
    recorded = grad(y, wanted, w, create_graph=True)
    for a, b in zip(fused, recorded, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert _bits(a) == _bits(b)


@pytest.mark.parametrize("dtype", [fb.float32, fb.float64, fb.bfloat16])
@pytest.mark.parametrize("size", [7, 10007])
@pytest.mark.parametrize("name", POSITIVE + ANY + UNIT)
def test_unary(name, size, dtype):
    low, high = (0.1, 3.0) if name in POSITIVE else (-0.9, 0.9) if name in UNIT else (-3.0, 3.0)
    x = (fb.arange(size, dtype=fb.float64) * ((high - low) / size) + low).to(dtype).requires_grad_()
    _same(getattr(fb, name), x)


BINARY = [fb.div, fb.hypot, fb.logaddexp, fb.atan2, lambda a, b: fb.addcdiv(a, b, a, value=3), lambda a, b: fb.addcmul(a, b, a, value=0.3),
          lambda a, b: fb.lerp(a, b, b)]  # fmt: skip


@pytest.mark.parametrize("other", ["same", "row", "strided", "number", "float32"])
@pytest.mark.parametrize("f", BINARY)
def test_binary_of_any_layout(f, other):
    a = (fb.arange(12, dtype=fb.float64).reshape(3, 4) * 0.3 + 0.1).requires_grad_()
    base = fb.arange(48, dtype=fb.float64) * 0.07 + 0.2
    b = {"same": base[:12].reshape(3, 4).clone(), "row": base[:4].clone(), "strided": base[::4].reshape(4, 3).t(), "number": base[7].clone(),
         "float32": base[:12].reshape(3, 4).to(fb.float32)}[other]  # fmt: skip
    if other == "float32" and f not in (fb.div, fb.hypot, fb.logaddexp, fb.atan2):
        pytest.skip("takes one dtype")
    _same(f, a, b.requires_grad_() if b.is_leaf else b.detach().requires_grad_())
