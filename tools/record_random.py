"""Records PyTorch's random streams into packages/core/tests/random_streams.json, which test_random_streams.py replays.

Run it with a Python that has PyTorch 2.13 (CPU). Each case is an expression over `fb`, evaluated after
``fb.manual_seed(seed)``. Of a long result the first and last values, the sum and, for integers, a checksum are kept;
`next` is a number drawn afterwards: it tells how much of the stream the expression has used.
"""

from __future__ import annotations

import json
import pathlib
import zlib

SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 1000]
FEW = [1, 17, 100]
FLOATS = ["float16", "bfloat16", "float32", "float64"]

CASES: list[tuple[str, list[int]]] = []
for d in FLOATS:
    sizes = SIZES if d in ("float32", "float64") else [1, 16, 17, 33, 1000]
    CASES += [(f"fb.rand({{n}}, dtype=fb.{d})", sizes), (f"fb.randn({{n}}, dtype=fb.{d})", sizes)]
    CASES += [
        (f"fb.empty({{n}}, dtype=fb.{d}).uniform_(-2.3, 7.1)", FEW),
        (f"fb.empty({{n}}, dtype=fb.{d}).normal_(0.5, 0.7)", FEW),
        (f"fb.empty({{n}}, dtype=fb.{d}).exponential_(1.7)", FEW),
        (f"fb.empty({{n}}, dtype=fb.{d}).log_normal_(0.5, 0.25)", FEW),
        (f"fb.empty({{n}}, dtype=fb.{d}).bernoulli_(0.3)", FEW),
        (f"fb.empty({{n}}, dtype=fb.{d}).random_()", FEW),
        (f"fb.bernoulli((fb.arange({{n}}) / 128).to(fb.{d}))", FEW),
        (f"fb.dropout(fb.ones({{n}}, dtype=fb.{d}), 0.3, True)", FEW),
        (f"fb.poisson((fb.arange({{n}}) / 4).to(fb.{d}))", FEW),
        (f"fb.normal((fb.arange({{n}}) / 64 - 1).to(fb.{d}), (fb.arange({{n}}) / 128).to(fb.{d}))", FEW),
    ]
CASES += [
    ("fb.randn({n}, dtype=fb.complex64)", [1, 7, 8, 20]),
    ("fb.rand({n}, dtype=fb.complex128)", [1, 20]),
    ("fb.randint(10, ({n},))", SIZES),
    ("fb.randint(-5, 100, ({n},), dtype=fb.int8)", FEW),
    ("fb.randint(0, 2**28 - 1, ({n},))", FEW),
    ("fb.randint(0, 2**28, ({n},))", FEW),
    ("fb.randint(-(2**40), 2**41, ({n},))", FEW),
    ("fb.randint(3, 7, ({n},), dtype=fb.float32)", FEW),
    ("fb.randperm({n})", SIZES),
    ("fb.randperm({n}, dtype=fb.float32)", FEW),
    ("fb.empty({n}, dtype=fb.float64).cauchy_(1.5, 2.3)", FEW),
    ("fb.empty({n}, dtype=fb.int64).geometric_(0.2)", FEW),
    ("fb.empty({n}, dtype=fb.int32).bernoulli_()", FEW),
    ("fb.empty({n}, dtype=fb.int64).bernoulli_(fb.full((1,), 0.7))", FEW),
    ("fb.empty({n}).bernoulli_(fb.full(({n},), 0.7, dtype=fb.float64))", FEW),
    ("fb.bernoulli(fb.zeros({n}), 0.6)", FEW),
    ("fb.empty({n}, 3).t().normal_()", [1, 10, 33]),
    ("fb.empty(4, {n}, 3).permute(1, 2, 0).uniform_()", [1, 10]),
    ("fb.empty({n}, 8)[:, 1::2].normal_(1, 2)", [1, 10, 33]),
    ("fb.rand_like(fb.empty({n}, 3).t())", [1, 10]),
    ("fb.randn_like(fb.empty({n}, 3))", [1, 10]),
    ("fb.randint_like(fb.empty({n}, 3), 5)", [1, 10]),
    ("fb.normal(2.0, 3.0, ({n},))", [2, 20]),
    ("fb.normal(fb.zeros({n}), 2.0)", [2, 20]),
    ("fb.normal(1.0, fb.ones({n}))", [2, 20]),
    ("fb.native_dropout(fb.ones({n}), 0.4, True)[1]", FEW),
    ("fb.alpha_dropout(fb.arange({n}) / 64 - 1, 0.3, True)", FEW),
    ("fb.feature_dropout(fb.ones({n}, 3, 2), 0.5, True)", [1, 10]),
    ("fb.multinomial(fb.arange({n}) / 128, 1)", [2, 10, 100]),
    ("fb.multinomial(fb.arange(1, {n} + 1) / 128, {n})", [2, 10, 100]),
    ("fb.multinomial(fb.arange({n}) / 128, 20, True)", [2, 10, 100]),
    ("fb.multinomial(fb.arange({n}, dtype=fb.float64).expand(3, {n}), 4, replacement=True)", [5]),
]
for d in ["bool", "uint8", "int8", "int16", "int32", "int64"]:
    CASES.append((f"fb.zeros({{n}}, dtype=fb.{d}).random_()", FEW))
SEEDS = [0, 1, 42, 2**32 - 1, 2**40 + 5, -1, -5, 2**63]


def record(fb, expression: str, seed: int = 7) -> dict:
    fb.manual_seed(seed)
    x = eval(expression, {"fb": fb})
    following = int(fb.randint(0, 2**28 - 1, ()).item())
    if x.is_complex():
        x = fb.view_as_real(x)
    exact = not x.is_floating_point()
    values = x.to(fb.int64 if exact else fb.float64).flatten().tolist()
    if not exact and x.dtype != fb.float64:
        values = [float(f"{v:.9g}") for v in values]
    case = {"expr": expression, "next": following, "shape": list(x.shape)}
    if len(values) <= 8:
        case["values"] = values
    else:
        case["first"], case["last"] = values[:2], values[-2:]
        if exact:
            case["crc"] = zlib.crc32(repr(values).encode())
        else:
            case["sum"] = float(f"{sum(values):.10g}")
    return case


def main() -> None:
    import torch

    torch.set_num_threads(1)
    cases = [record(torch, text.replace("{n}", str(n))) for text, sizes in CASES for n in sizes]
    seeds = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        seeds.append([seed, torch.initial_seed(), torch.rand(2, dtype=torch.float64).tolist()])
    states = []
    for text in ["fb.rand(0)", "fb.rand(3)", "fb.rand(624)", "fb.rand(625)", "fb.randint(9, (5, 7))", "fb.randn(16)"]:
        torch.manual_seed(2**45 + 3)
        eval(text, {"fb": torch})
        states.append([text, zlib.crc32(torch.get_rng_state().numpy().tobytes())])
    out = {"torch": torch.__version__, "cases": cases, "seeds": seeds, "states": states}
    path = pathlib.Path(__file__).parent.parent / "packages/core/tests/random_streams.json"
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    rest = {k: v for k, v in out.items() if k != "cases"}
    path.write_text(json.dumps(rest)[:-1] + ', "cases": [\n' + lines + "\n]}\n")
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
