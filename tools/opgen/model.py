"""The operator table as Python objects: reads native/ops/*.toml and parses its signatures."""
from __future__ import annotations

import ast
import pathlib
import re
import tomllib
from dataclasses import dataclass, field

# Python-syntax type of an argument -> the C type of its field in the params struct (None: a tensor, it goes into frame.in)
PARAM_TYPES = {
    "Tensor": None,
    "Tensor?": None,
    "Tensor[]": None,
    "Tensor?[]": None,
    "Scalar": "fb_scalar",
    "Scalar?": "fb_scalar",
    "int": "int64_t",
    "int?": "int64_t",
    "int[]": "fb_ints",
    "int[]?": "fb_ints",
    "float": "double",
    "float?": "fb_scalar",
    "float[]?": "fb_floats",
    "bool": "bool",
    "bool?": "int64_t",
    "str": "const char *",
    "str?": "const char *",
    "dtype?": "fb_dtype",
    "device?": "fb_device",
    "Generator?": "fb_generator *",
}
DTYPE_SETS = {
    "bool": ["BOOL"],
    "int": ["U8", "I8", "I16", "I32", "I64", "U16", "U32", "U64"],
    "half": ["F16", "BF16"],
    "float": ["F16", "BF16", "F32", "F64"],
    "full": ["F32", "F64"],  # float32 and float64 only
    "complex": ["C64", "C128"],
    "float8": ["F8E4M3FN", "F8E5M2"],
}
KEYS = {
    "sig", "family", "slots", "rule", "infer", "kernel", "isa", "composite", "dtypes", "python", "module", "variants",
    "flags", "grad", "save", "jvp", "doc", "vararg", "numbers", "may_return_self", "method", "reduce", "fields", "inplace_of",
}  # fmt: skip
FLAGS = {
    "view": "FB_OP_VIEW", "direct_out": "FB_OP_DIRECT_OUT", "stage_half": "FB_OP_STAGE_HALF", "data_shape": "FB_OP_DATA_SHAPE",
    "inplace": "FB_OP_INPLACE", "nondiff": "FB_OP_NONDIFF", "random": "FB_OP_RANDOM", "alias": "FB_OP_ALIAS",
}  # fmt: skip


class TableError(Exception):
    """An entry of the table that cannot be right; the text names file and entry."""


@dataclass
class Arg:
    name: str
    type: str
    default: object = None
    has_default: bool = False
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.type.startswith("Tensor")

    @property
    def is_list(self) -> bool:
        return self.type in ("Tensor[]", "Tensor?[]")

    @property
    def ctype(self) -> str:
        return PARAM_TYPES[self.type]

    @property
    def width(self) -> int:
        """N of an int[N] argument, for which a single int stands for N of them; 0: no such rule."""
        return self._width

    _width: int = 0


@dataclass
class Op:
    name: str
    file: str
    sig: str
    args: list[Arg]
    returns: list[str]  # the C types: "Tensor", or "Tensor[]"
    names: list[str]  # field names of the results, "" where unnamed
    keys: dict = field(default_factory=dict)
    index: int = 0

    def get(self, key, default=None):
        return self.keys.get(key, default)

    @property
    def tensors(self) -> list[Arg]:
        return [a for a in self.args if a.is_tensor]

    @property
    def params(self) -> list[Arg]:
        return [a for a in self.args if not a.is_tensor]

    @property
    def returns_list(self) -> bool:
        return self.returns == ["Tensor[]"]

    @property
    def handwritten(self) -> bool:
        """Is the composite a C function (fb_c_...) rather than an expression?"""
        return str(self.get("composite", "")).startswith("fb_c_")

    @property
    def inplace_only(self) -> bool:
        return "inplace" in self.get("flags", [])

    @property
    def python_name(self) -> str | None:
        p = self.get("python", True)
        return None if p is False else self.name if p is True else p

    @property
    def variants(self) -> list[str]:
        """function, method, inplace, out: the Python forms that the entry gets."""
        v = self.get("variants")
        if v is not None:
            return v.split()
        if self.inplace_only:
            return ["method"]
        base = ["function", "method"] if self.args and self.args[0].type == "Tensor" and self.args[0].name == "self" else ["function"]
        if self.get("module"):
            base = ["function"]
        if "view" in self.get("flags", []) or self.returns_list:
            return base
        first = self.args[0].name if self.args else ""
        if self.get("family") == "elementwise" and self.get("rule", "promote") != "none" and first == "self":
            base.append("inplace")
        return base + ["out"]

    def fail(self, text: str):
        raise TableError(f"{self.file}: [{self.name}]: {text}")


ARG = re.compile(r"^(\w+)\s*:\s*([A-Za-z]+(?:\?)?(?:\[(\d*)\])?\??)\s*(?:=\s*(.+))?$")


def split_args(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def parse_arg(text: str, keyword_only: bool, where: str) -> Arg:
    m = ARG.match(text)
    if not m:
        raise TableError(f"{where}: cannot read the argument {text!r}")
    name, typ, width, default = m.groups()
    n = int(width) if width else 0
    typ = re.sub(r"\[\d+\]", "[]", typ)
    if typ not in PARAM_TYPES:
        raise TableError(f"{where}: argument {name!r} has the unknown type {typ!r}")
    arg = Arg(name, typ, keyword_only=keyword_only, has_default=default is not None)
    arg._width = n
    if default is not None:
        arg.default = ast.literal_eval(default)
    return arg


def parse_signature(name: str, sig: str, where: str) -> tuple[list[Arg], list[str], list[str]]:
    m = re.match(r"^\((.*)\)\s*->\s*(.+)$", sig.strip(), re.S)
    if not m:
        raise TableError(f"{where}: a signature reads '(self: Tensor, ...) -> Tensor', not {sig!r}")
    args, keyword_only = [], False
    for part in split_args(m.group(1)):
        if part == "*":
            keyword_only = True
            continue
        args.append(parse_arg(part, keyword_only, where))
    ret = m.group(2).strip()
    if ret.startswith("("):
        parts = [p.split() for p in split_args(ret[1:-1])]
        types, names = [p[0] for p in parts], [p[1] if len(p) > 1 else "" for p in parts]
    else:
        types, names = [ret.split()[0]], [""]
    if any(t not in ("Tensor", "Tensor[]") for t in types):
        raise TableError(f"{where}: results are Tensor, (Tensor a, Tensor b) or Tensor[], not {ret!r}")
    return args, types, names


def load(folder: pathlib.Path) -> list[Op]:
    """All operators, in a fixed order (by file, then as written)."""
    ops: list[Op] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text()).items():
            where = f"{path.name}: [{name}]"
            if unknown := set(entry) - KEYS:
                raise TableError(f"{where}: unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
            if name in seen:
                raise TableError(f"{where}: already declared in {seen[name]}")
            if "sig" not in entry:
                raise TableError(f"{where}: no 'sig'")
            seen[name] = path.name
            args, types, names = parse_signature(name, entry["sig"], where)
            entry["flags"] = entry.get("flags", "").split()
            if bad := set(entry["flags"]) - set(FLAGS):
                raise TableError(f"{where}: unknown flags {sorted(bad)}; known are {sorted(FLAGS)}")
            ops.append(Op(name, path.name, entry["sig"], args, types, names, entry))
    for i, op in enumerate(ops):
        op.index = i
    return ops
