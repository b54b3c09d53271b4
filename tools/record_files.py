"""Writes packages/core/tests/torch_files.json: files of torch.save, of its zip format and the older one, in base64.

    python tools/record_files.py     # with torch
"""

import base64
import io
import json
import pathlib
from collections import Counter, OrderedDict

import torch

x = torch.arange(6.0).view(2, 3)
tagged = torch.ones(2)
tagged.note = "kept"
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip
state = OrderedDict(weight=torch.full((2, 2), 0.5), bias=torch.zeros(2))
state._metadata = OrderedDict({"": {"version": 1}})
OBJECTS = {
    "views": {"x": x, "t": x.t(), "row": x[1:], "wide": torch.ones(1).expand(100)},
    "dtypes": {name: torch.arange(3).to(getattr(torch, name)) for name in DTYPES},
    "state": state,
    "plain": {"f": 1.5, "i": -5, "big": 2**70, "c": 1j, "b": b"a\xff", "set": {1, 2}, "none": None, "t": (1, ("two",)), "count": Counter("aab"),
              "dtype": torch.bfloat16, "size": x.shape, "device": torch.device("cuda:1"), "layout": torch.strided, "bytes": bytearray(b"12")},
    "odd": {"empty": torch.empty(0), "scalar": torch.tensor(3), "meta": torch.empty(2, device="meta"), "tagged": tagged,
            "conj": torch.tensor([1 + 2j]).conj(), "neg": torch.tensor([1 + 2j]).conj().imag, "bytes": torch.UntypedStorage([1, 2, 3])},
}  # fmt: skip


def saved(obj: object, zipped: bool) -> str:
    buffer = io.BytesIO()
    torch.save(obj, buffer, _use_new_zipfile_serialization=zipped)
    return base64.b64encode(buffer.getvalue()).decode()


files = {name: saved(obj, True) for name, obj in OBJECTS.items()}
files["old"] = saved({**OBJECTS["views"], "half": torch.ones(2).half(), "state": state}, False)
path = pathlib.Path(__file__).parents[1] / "packages/core/tests/torch_files.json"
path.write_text(json.dumps({"torch": torch.__version__, "files": files}, indent=1) + "\n")
