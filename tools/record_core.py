"""Writes packages/core/tests/recorded_core.json: how PyTorch promotes dtypes, and how it prints tensors.

    python tools/record_core.py     # with torch
"""

import itertools
import json
import pathlib
import sys

import torch

PATH = pathlib.Path(__file__).resolve().parents[1] / "packages" / "core" / "tests"
sys.path.insert(0, str(PATH))
from printed import PRINTED  # noqa: E402

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
# What stands beside a tensor of one dimension: a 0-d tensor of the other dtype, or a number.
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "2j": 2j}


def name(d: torch.dtype) -> str:
    return str(d).removeprefix("torch.")


def promoted(f, *args):
    try:
        return name(f(*args))
    except RuntimeError:
        return None


one = {d: torch.ones(1, dtype=getattr(torch, d)) for d in DTYPES}
zero = {d: torch.ones((), dtype=getattr(torch, d)) for d in DTYPES}
pairs = list(itertools.product(DTYPES, DTYPES))
recorded = {
    "torch": torch.__version__,
    "dtypes": DTYPES,
    "promote_types": [promoted(torch.promote_types, one[a].dtype, one[b].dtype) for a, b in pairs],
    "dims_and_0d": [promoted(torch.result_type, one[a], zero[b]) for a, b in pairs],
    "0d_and_0d": [promoted(torch.result_type, zero[a], zero[b]) for a, b in pairs],
    "can_cast": [int(torch.can_cast(one[a].dtype, one[b].dtype)) for a, b in pairs],
    "numbers": {k: [[promoted(torch.result_type, t[d], v) for d in DTYPES] for t in (one, zero)] for k, v in NUMBERS.items()},
    "repr": [repr(eval(text)) for text in PRINTED],
}
(PATH / "recorded_core.json").write_text(json.dumps(recorded) + "\n")
