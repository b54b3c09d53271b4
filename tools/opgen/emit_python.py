"""Python from the table: functions, methods, and type stubs.

Each wrapper tries the fast call with what it was given; anything that does not fit (a number for a tensor, a subclass that
overrides, a NumPy integer, a wrong type) raises inside `try` and goes to `_slow`, which converts or explains.
"""
from __future__ import annotations

from model import Arg, Op

HEAD = '"""Written by tools/opgen from native/ops."""\n# ruff: noqa\n'


def literal(a: Arg) -> str:
    v = a.default
    return repr(v)


def param(a: Arg, name: str) -> str:
    return f"{name}={literal(a)}" if a.has_default else name


def py_param_name(op: Op, a: Arg) -> str:
    return "input" if a is op.args[0] and a.name == "self" else a.name


def signature(op: Op, method: bool, out: bool) -> str:
    """The parameter list of the Python function; a method's first parameter is self."""
    parts, star = [], False
    vararg = op.get("vararg") if method else None
    for i, a in enumerate(op.args):
        name = "self" if method and i == 0 else py_param_name(op, a)
        if a.name == vararg:  # x.flip(0, 1), x.flip((0, 1)), x.flip(dims=(0, 1))
            parts += ["*_args", f"{name}=None"]
            star = True
            continue
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        parts.append(param(a, name))
    if out:
        if not star:
            parts.append("*")
        parts.append("out=None")
    return ", ".join(parts)


def convert(a: Arg, name: str) -> str:
    """The expression(s) passed to C for one argument on the fast path."""
    t = a.type
    if t == "Tensor":
        return f"{name}._h"
    if t == "Tensor?":
        return f"(NULL if {name} is None else {name}._h)"
    if t == "Tensor[]":
        return f"[_t._h for _t in {name}], len({name})"
    if t == "Tensor?[]":
        return f"[NULL if _t is None else _t._h for _t in {name}], len({name})"
    if t in ("Scalar", "Scalar?", "float?"):
        if a.has_default and a.default in (0, 1) and type(a.default) is int:
            return f"({'ONE' if a.default else 'ZERO'} if {name} is _{a.default} else _scalar({name}))"
        return f"(NO_SCALAR if {name} is None else _scalar({name}))" if t.endswith("?") else f"_scalar({name})"
    if t == "int?":
        return f"(ABSENT if {name} is None else {name})"
    if t in ("int[]?", "float[]?"):
        return f"(NULL if {name} is None else {name}), (-1 if {name} is None else len({name}))"
    if t == "int[]":
        return f"{name}, len({name})"
    if t == "bool?":
        return f"(-1 if {name} is None else {name})"
    if t == "dtype?":
        return f"(-1 if {name} is None else {name}.num)"
    if t == "device?":
        return f"(NO_DEVICE if {name} is None else _device({name}))"
    if t == "Generator?":
        return f"(NULL if {name} is None else {name}._h)"
    if t == "str":
        return f"{name}.encode()"
    if t == "str?":
        return f"(NULL if {name} is None else {name}.encode())"
    return name


def prepare(op: Op, names: list[str], method: bool) -> list[str]:
    """Statements before the call: an int for an int list."""
    lines = []
    for a, n in zip(op.args, names, strict=True):
        if a.type in ("int[]", "int[]?"):
            if method and a.name == op.get("vararg"):
                lines.append(f"if {n} is None: {n} = _args[0] if len(_args) == 1 and _args[0].__class__ is not int else _args")
            lines.append(f"if {n}.__class__ is int: {n} = ({n},){f' * {a.width}' if a.width > 1 else ''}")
    return lines


def body(op: Op, names: list[str], method: bool, mode: str) -> list[str]:
    """The statements of a wrapper; mode: function, out (with an out parameter), inplace."""
    conv = ", ".join(convert(a, n) for a, n in zip(op.args, names, strict=True))
    tuple_ = "(" + ", ".join(names) + ("," if len(names) == 1 else "") + ")"
    lines, cfn, spec = [], f"_c_{op.name}", f"_s_{op.name}"
    if mode == "out":
        lines.append(f"if out is not None: return _slow_out({spec}, {tuple_}, out)")
    lines += prepare(op, names, method)
    sep = ", " if conv else ""
    if mode == "inplace" or op.inplace_only:
        preset = "" if op.inplace_only else f"{sep}{names[0]}._h"
        lines += ["try:", f"    h = {cfn}({conv}{preset})", "except _CONVERT:", f"    return _slow_inplace({spec}, {tuple_})",
                  "if not h: _raise()", f"return {names[0]}"]
        return lines
    if op.returns_list:
        lines += ["try:", f"    l = {cfn}({conv})", "except _CONVERT:", f"    return _slow({spec}, {tuple_})",
                  "if not l: _raise()", "return _unpack_list(l)"]
        return lines
    k = len(op.returns)
    nulls = sep + ", ".join(["NULL"] * k)
    lines += ["try:", f"    h = {cfn}({conv}{nulls})", "except _CONVERT:", f"    return _slow({spec}, {tuple_})"]
    if k == 1:
        if op.get("may_return_self"):
            lines.append(f"if h == {names[0]}._h: _release(h); return {names[0]}")
        lines.append("return _wrap(h)")
    else:
        hidden = op.get("save") or []
        shown = k - len(hidden)
        lines.append("if not h.t0: _raise()")
        for i in range(k):
            lines.append(f"r{i} = _wrap(h.t{i})")
        if any(op.names[:shown]) and shown > 1:
            lines.append(f"return _return_types.{op.python_name or op.name}(({', '.join(f'r{i}' for i in range(shown))}))")
        elif shown == 1:
            lines.append("return r0")
        else:
            lines.append(f"return ({', '.join(f'r{i}' for i in range(shown))})")
    return lines


def function(op: Op, pyname: str, method: bool, mode: str) -> str:
    names = ["self" if method and i == 0 else py_param_name(op, a) for i, a in enumerate(op.args)]
    sig = signature(op, method, mode == "out")
    doc = str(op.get("doc", "")).strip().replace("\\", "\\\\").replace('"""', "'''")
    if mode == "inplace" and not op.inplace_only:
        doc = f"In-place form of :func:`{op.python_name}`."
    lines = [f'    """{doc}"""'] if doc else []
    lines += ["    " + line for line in body(op, names, method, mode)]
    return f"def {pyname}({sig}):\n" + "\n".join(lines) + "\n"


SPEC_HEAD = """
from .._binding import (ABSENT, CONVERT_ERRORS as _CONVERT, NO_DEVICE, NO_SCALAR, NULL, ONE, ZERO, Spec as _Spec, device_of as _device,
                        raise_error as _raise, release as _release, scalar as _scalar, slow as _slow,
                        slow_inplace as _slow_inplace, slow_out as _slow_out, unpack_list as _unpack_list)
from .._native import lib as _lib
from .._types import wrap as _wrap
from . import return_types as _return_types
_0, _1 = 0, 1  # `x is _1`: the default itself; an equal number of another type takes the general way
"""


def spec(op: Op) -> str:
    args = ", ".join(
        f"({py_param_name(op, a)!r}, {a.type!r}, {a.width}, {a.name in str(op.get('numbers', '')).split()})" for a in op.args)
    hidden = len(op.get("save") or [])
    k = 0 if op.returns_list else len(op.returns)
    names = op.python_name if k - hidden > 1 and any(op.names) else None
    return (f"_c_{op.name} = _lib.fbp_{op.name}\n"
            f"_s_{op.name} = _Spec({(op.python_name or op.name)!r}, _c_{op.name}, ({args}{',' if op.args else ''}), {k}, {hidden}, "
            f"{'_return_types.' + names if names else None}, {op.inplace_only}, {bool(op.get('may_return_self'))}, {op.get('module')!r})\n")


def functions_module(ops: list[Op]) -> str:
    out = [HEAD, SPEC_HEAD]
    exported: dict[str, list[str]] = {}
    methods, inplace = [], []
    for op in ops:
        out.append(spec(op))
        name = op.python_name or f"_hidden_{op.name}"
        module = op.get("module") or ""
        shown = op.python_name is not None
        v = op.variants
        if op.inplace_only:
            out.append(function(op, f"_m_{op.name}", True, "inplace"))
            inplace.append((name, f"_m_{op.name}", shown))
            if "function" in v:
                exported.setdefault(module, []).append(f"{name!r}: _m_{op.name}")
            continue
        mode = "out" if "out" in v else "function"
        fn = f"_f_{op.name}"
        out.append(function(op, fn, False, mode))
        if shown and "function" in v:
            exported.setdefault(module, []).append(f"{name!r}: {fn}")
        elif not shown:
            exported.setdefault("_hidden", []).append(f"{op.name!r}: {fn}")
        if "method" in v and shown:
            if op.get("vararg"):
                out.append(function(op, f"_m_{op.name}", True, "function"))
                methods.append((name, f"_m_{op.name}"))
            else:
                methods.append((name, fn))
        if "inplace" in v:
            out.append(function(op, f"_i_{op.name}", True, "inplace"))
            inplace.append((name + "_", f"_i_{op.name}", shown))
    for module, entries in exported.items():
        out.append(f"{(module or 'root').lstrip('_').upper()} = {{{', '.join(entries)}}}")
    out.append(f"METHODS = {{{', '.join(f'{n!r}: {f}' for n, f in methods)}, "
               f"{', '.join(f'{n!r}: {f}' for n, f, s in inplace if s)}}}")
    out.append(f"HIDDEN_INPLACE = {{{', '.join(f'{n!r}: {f}' for n, f, s in inplace if not s)}}}")
    out.append("SPECS = {" + ", ".join(f"{op.name!r}: _s_{op.name}" for op in ops) + "}")
    # Names by which users, and pickle, find a function again; a root function's own go last, for its method is the same object.
    places = [("HIDDEN_INPLACE", "", ""), ("METHODS", "", "Tensor.")]
    places += [((m or "root").lstrip("_").upper(), f".{m}" if m.strip("_") in ("nn", "linalg", "special", "fft") else "", "")
               for m in sorted(exported, reverse=True)]
    out.append("_PACKAGE = __name__.rpartition('._gen.')[0]")
    out.append(f"for _table, _module, _class in ({', '.join(f'({t}, {m!r}, {c!r})' for t, m, c in places)}):\n"
               "    for _n, _f in _table.items():\n"
               "        _f.__name__, _f.__qualname__, _f.__module__ = _n, _class + _n, _PACKAGE + _module\n")
    return "\n".join(out)


def return_types_module(ops: list[Op]) -> str:
    """Structure classes such as max(values=..., indices=...): tuples with field names, printed as PyTorch prints them."""
    out = [HEAD, "from .._structseq import structseq as _structseq\n"]
    seen = set()
    for op in ops:
        shown = len(op.returns) - len(op.get("save") or [])
        if not op.returns_list and shown > 1 and any(op.names[:shown]):
            name = op.python_name or op.name
            if name not in seen:
                seen.add(name)
                out.append(f"{name} = _structseq({name!r}, {tuple(op.names[:shown])!r})")
    return "\n".join(out) + "\n"


STUB_TYPES = {
    "Tensor": "Tensor", "Tensor?": "Tensor | None", "Tensor[]": "Sequence[Tensor]", "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "Number", "Scalar?": "Number | None", "int": "int", "int?": "int | None", "int[]": "int | Sequence[int]",
    "int[]?": "int | Sequence[int] | None", "float": "float", "float?": "float | None", "float[]?": "Sequence[float] | None",
    "bool": "bool", "bool?": "bool | None", "str": "str", "str?": "str | None", "dtype?": "dtype | None",
    "device?": "device | str | None", "Generator?": "Generator | None",
}  # fmt: skip


def stub_line(op: Op, name: str, method: bool, out: bool) -> str:
    parts, star = [], False
    for i, a in enumerate(op.args):
        if method and i == 0:
            parts.append("self")
            continue
        if a.keyword_only and not star:
            parts.append("*")
            star = True
        typ = STUB_TYPES[a.type]
        if a.name in str(op.get("numbers", "")).split():
            typ = "Tensor | Number"
        if method and a.name == op.get("vararg"):
            parts.append(f"*{a.name}: int | Sequence[int]")
            star = True
            continue
        parts.append(f"{py_param_name(op, a)}: {typ}" + (" = ..." if a.has_default else ""))
    if out:
        if not star:
            parts.append("*")
        k = len(op.returns)
        parts.append("out: Tensor | None = ..." if k == 1 else "out: tuple[Tensor, ...] | None = ...")
    shown = len(op.returns) - len(op.get("save") or [])
    ret = "list[Tensor]" if op.returns_list else "Tensor" if shown == 1 else f"tuple[{', '.join(['Tensor'] * shown)}]"
    if op.returns_list:
        ret = "tuple[Tensor, ...]"
    return f"def {name}({', '.join(parts)}) -> {ret}: ..."


def stubs(ops: list[Op]) -> str:
    out = [HEAD, "from collections.abc import Sequence\nfrom typing import Any\n",
           "from .._dtype import dtype\nfrom .._device import device\nfrom .._random import Generator\nfrom .._tensor import Tensor\n",
           "Number = int | float | complex | bool\n"]
    for op in ops:
        if op.python_name and not op.get("module") and "function" in op.variants:
            out.append(stub_line(op, op.python_name, False, "out" in op.variants and not op.inplace_only))
    return "\n".join(out) + "\n"


def method_stubs(ops: list[Op]) -> str:
    out = [HEAD, "from collections.abc import Sequence\n",
           "from .._dtype import dtype\nfrom .._device import device\nfrom .._random import Generator\nfrom .._tensor import Tensor\n",
           "Number = int | float | complex | bool\n\n\nclass TensorMethods:"]
    for op in ops:
        if not op.python_name:
            continue
        if op.inplace_only or "method" in op.variants:
            out.append("    " + stub_line(op, op.python_name, True, False))
        if "inplace" in op.variants and not op.inplace_only:
            out.append("    " + stub_line(op, op.python_name + "_", True, False))
    return "\n".join(out) + "\n"


def modules(ops: list[Op]) -> dict[str, str]:
    return {
        "__init__.py": HEAD,
        "functions.py": functions_module(ops),
        "return_types.py": return_types_module(ops),
        "functions.pyi": stubs(ops),
        "methods.pyi": method_stubs(ops),
    }
