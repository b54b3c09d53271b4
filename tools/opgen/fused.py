"""Derivatives made only of elementwise arithmetic, as one loop: `grad / (2 * result)` reads and writes memory once.

An expression is fused where it is built of gradients, saved tensors and numbers by + - * / and functions whose kernel is a
call of vecmath.h, and has at least two operators. Every intermediate is rounded to the tensors' type, so that the loop gives the
bits that the operators give one after another. Whether a call may take it is decided at run time (autograd/fused.c).
"""
from __future__ import annotations

import ast
from dataclasses import dataclass, field

from emit_c import NOTE
from expression import Compiler
from expression_builtins import ExpressionError, Value

# operators whose kernel is fbm_<name>(x)
FUNCTIONS = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "asinh", "atanh", "sqrt", "rsqrt", "erf", "sigmoid"}
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
MAX_INPUTS = 8


@dataclass
class Fused:
    """One loop: C of an element with a0, a1... for the tensors and s0, s1... for the numbers."""

    name: str
    element: str
    tensors: list[Value] = field(default_factory=list)
    numbers: list[Value] = field(default_factory=list)


class _Refuse(Exception):
    pass


class Fuser:
    def __init__(self, compiler: Compiler):
        self.compiler = compiler
        self.tensors: list[Value] = []
        self.numbers: list[Value] = []
        self.operators = 0

    def tensor(self, v: Value) -> str:
        if v.type != "T":
            raise _Refuse
        for i, t in enumerate(self.tensors):
            if t.c == v.c:
                return f"a{i}"
        self.tensors.append(v)
        return f"a{len(self.tensors) - 1}"

    def number(self, v: Value) -> str:
        if v.const is not None:
            return f"(T){float(v.const)!r}"
        self.numbers.append(v)
        return f"s{len(self.numbers) - 1}"

    def is_number(self, e: ast.expr) -> bool:
        """Made of parameters and constants alone."""
        if isinstance(e, ast.Constant):
            return isinstance(e.value, (int, float)) and not isinstance(e.value, bool)
        if isinstance(e, ast.Name):
            v = self.compiler.names(e.id)
            return v is not None and v.type in ("S", "float", "int")
        if isinstance(e, ast.BinOp):
            return type(e.op) in SYMBOLS and self.is_number(e.left) and self.is_number(e.right)
        return isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub) and self.is_number(e.operand)

    def element(self, e: ast.expr) -> str:
        if self.is_number(e):
            before = len(self.compiler.lines)
            v = self.compiler.value(e)
            if len(self.compiler.lines) != before:
                raise _Refuse
            return self.number(v)
        if isinstance(e, ast.Name):
            v = self.compiler.names(e.id)
            if v is None:
                raise _Refuse
            return self.tensor(v.use() if v.use else v)
        if isinstance(e, ast.BinOp) and type(e.op) in SYMBOLS:
            self.operators += 1
            return f"((T)({self.element(e.left)} {SYMBOLS[type(e.op)]} {self.element(e.right)}))"
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            self.operators += 1
            return f"(-{self.element(e.operand)})"
        if isinstance(e, ast.Call) and not e.keywords:
            name, args = (e.func.id, e.args) if isinstance(e.func, ast.Name) else (e.func.attr, [e.func.value, *e.args])
            if len(args) == 1 and name == "conj":  # of a real number
                return self.element(args[0])
            if len(args) == 1 and name in FUNCTIONS:
                self.operators += 1
                return f"fbm_{name}({self.element(args[0])})"
        raise _Refuse


def fuse(name: str, text: str, compiler: Compiler) -> Fused | None:
    """The loop of a formula, or None where it is not elementwise arithmetic."""
    try:
        e = ast.parse(text.strip(), mode="eval").body
        f = Fuser(compiler)
        element = f.element(e)
    except (SyntaxError, _Refuse, ExpressionError):
        return None
    if f.operators < 2 or not f.tensors or len(f.tensors) > MAX_INPUTS:
        return None
    return Fused(name, element, f.tensors, f.numbers)


def declaration(f: Fused) -> str:
    """For grad.gen.c: the copies that this build has."""
    return (f"extern const fb_fused_fn {f.name}_base[], {f.name}_avx2[], {f.name}_avx512[];\n"
            f"static const fb_fused_fn *const {f.name}[] = FB_ISA_LIST({f.name});\n")


def call(f: Fused, target: str) -> list[str]:
    """Statements that set `target` (NULL where the operators must run one by one)."""
    inputs = ", ".join(t.c for t in f.tensors)
    numbers = ", ".join(f"fb_scalar_double({v.c})" if v.type == "S" else f"(double){v.c}" for v in f.numbers)
    complexes = [f"{v.c}.kind == FB_S_COMPLEX" for v in f.numbers if v.type == "S"]
    run = f"fb_fused_run({f.name}[fb_isa()], {len(f.tensors)}, (fb_tensor *[]){{{inputs}}}, "
    run += f"(const double[]){{{numbers}}}, &{target})" if f.numbers else f"NULL, &{target})"
    guard = f"!({' || '.join(complexes)}) && " if complexes else ""
    return [f"if ({guard}{run} != FB_OK) goto done;"]


def kernels(loops: list[Fused]) -> str:
    """The file that is compiled once an instruction set."""
    out = [NOTE, '#include "autograd/fused.h"\n#include "kernels/isa.h"\n#include "kernels/vecmath.h"\n#include <math.h>\n']
    for f in loops:
        for ctype, suffix in (("float", "f32"), ("double", "f64")):
            loads = " ".join(f"const T a{i} = in{i}[i];" for i in range(len(f.tensors)))
            inputs = " ".join(f"const T *in{i} = in[{i}];" for i in range(len(f.tensors)))
            numbers = " ".join(f"const T s{i} = (T)numbers[{i}];" for i in range(len(f.numbers)))
            out.append(
                f"#define T {ctype}\nstatic void {f.name}_{suffix}(int64_t n, void *out, void *const *in, const double *numbers)\n{{\n"
                f"    T *restrict o = out;\n    {inputs}\n    {numbers or '(void)numbers;'}\n"
                f"    for (int64_t i = 0; i < n; i++) {{\n        {loads}\n        o[i] = {f.element};\n    }}\n}}\n#undef T\n"
            )
        out.append(f"extern const fb_fused_fn FB_K({f.name})[];\n"
                   f"const fb_fused_fn FB_K({f.name})[] = {{{f.name}_f32, {f.name}_f64}};\n")
    if not loops:
        out.append("typedef int fb_no_fused_derivatives;\n")
    return "\n".join(out)
