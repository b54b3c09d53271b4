"""Values of the expression language, and its built-in functions: shape, dtype, needs and so on."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field

C_TYPES = {"int": "int64_t", "float": "double", "bool": "bool", "S": "fb_scalar", "ints": "fb_ints", "floats": "fb_floats",
           "str": "const char *", "dtype": "fb_dtype", "device": "fb_device"}  # fmt: skip
NUMBERS = ("int", "float", "bool", "S")


class ExpressionError(Exception):
    """What is wrong with an expression; the caller adds where it stands."""


@dataclass
class Value:
    type: str
    c: str = ""
    items: list[Value] = field(default_factory=list)  # of a tuple
    n: str = ""  # the length of a list
    owned: bool = False  # c is a temporary that may be moved out of
    soft: bool = False
    const: object = None
    meta: str = ""  # an fb_meta * that knows its shape; then c may be missing
    use: Callable[[], Value] | None = None  # makes a saved value's data available, on first use


def const(v: object) -> Value:
    if isinstance(v, bool):
        return Value("bool", "true" if v else "false", const=v)
    if isinstance(v, int):
        return Value("int", f"INT64_C({v})" if abs(v) > 2**31 - 1 else str(v), const=v)
    if isinstance(v, float):
        text = "INFINITY" if v == math.inf else "-INFINITY" if v == -math.inf else "NAN" if v != v else repr(v)
        return Value("float", text, const=v)
    if isinstance(v, complex):
        return Value("S", f"(fb_scalar){{FB_S_COMPLEX, 0, {v.real!r}, {v.imag!r}}}")
    if isinstance(v, str):
        return Value("str", '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"', const=v)
    if v is None:
        return Value("none", "NULL")
    if isinstance(v, (list, tuple)) and all(isinstance(x, int) for x in v):
        return Value("ints", f"(fb_ints){{{len(v)}, (const int64_t[]){{{', '.join(map(str, v)) or '0'}}}}}", const=list(v))
    raise ExpressionError(f"the constant {v!r} has no type here")


class Builtins:
    """The part of the compiler that asks for shapes and computes with numbers."""

    def shape_of(self, v: Value) -> tuple[str, str, str, str, str]:
        """C for (ints, ndim, numel, dtype, device) of a tensor or of what is known about it."""
        if v.meta:
            m = v.meta
            return f"fb_meta_shape({m})", f"(int64_t)({m})->ndim", f"({m})->numel", f"(fb_dtype)({m})->dtype", f"({m})->device"
        v = self.tensor(v)
        if v.soft:
            raise ExpressionError("the shape of a gradient that may be undefined")
        c = v.c
        return f"((fb_ints){{{c}->ndim, {c}->sizes}})", f"(int64_t){c}->ndim", f"{c}->numel", f"(fb_dtype){c}->dtype", f"{c}->device"

    def known(self, e: ast.expr, strides: bool = False) -> Value:
        """A tensor of which only the shape is asked: nothing of its data is kept for that."""
        if isinstance(e, ast.Name) and e.id not in self.locals:
            v = self.names(f"{e.id}@strides" if strides else f"{e.id}@shape")
            if v is not None:
                return v
        return self.value(e)

    def one(self, e: ast.Call) -> ast.expr:
        if len(e.args) != 1 or e.keywords:
            raise ExpressionError(f"{ast.unparse(e)!r} takes one argument")
        return e.args[0]

    def fn_shape(self, e: ast.Call) -> Value:
        return Value("ints", self.shape_of(self.known(self.one(e)))[0])

    def fn_ndim(self, e: ast.Call) -> Value:
        return Value("int", f"({self.shape_of(self.known(self.one(e)))[1]})")

    def fn_numel(self, e: ast.Call) -> Value:
        return Value("int", self.shape_of(self.known(self.one(e)))[2])

    def fn_dtype(self, e: ast.Call) -> Value:
        return Value("dtype", self.shape_of(self.known(self.one(e)))[3])

    def fn_device(self, e: ast.Call) -> Value:
        return Value("device", self.shape_of(self.known(self.one(e)))[4])

    def fn_is_complex(self, e: ast.Call) -> Value:
        v = self.value(e.args[0]) if isinstance(e.args[0], ast.Call) else None
        return Value("bool", f"fb_is_complex({v.c if v and v.type == 'dtype' else self.fn_dtype(e).c})")

    def fn_is_floating(self, e: ast.Call) -> Value:
        return Value("bool", f"fb_is_float({self.fn_dtype(e).c})")

    def fn_strides(self, e: ast.Call) -> Value:
        v = self.known(self.one(e), strides=True)
        if v.meta:
            return Value("ints", f"fb_meta_strides({v.meta})")
        v = self.tensor(v)
        return Value("ints", f"((fb_ints){{{v.c}->ndim, {v.c}->strides}})")

    def fn_offset(self, e: ast.Call) -> Value:
        v = self.known(self.one(e), strides=True)
        return Value("int", f"({v.meta})->offset" if v.meta else f"{self.tensor(v).c}->offset")

    def fn_size(self, e: ast.Call) -> Value:
        if len(e.args) != 2:
            raise ExpressionError(f"{ast.unparse(e)!r}: size(x, dim)")
        x = self.fresh("x")
        self.decls.append(f"int64_t {x};")
        shape = self.shape_of(self.known(e.args[0]))[0]
        self.emit(f"if (fb_ints_at({shape}, {self.value(e.args[1]).c}, &{x}) != FB_OK) goto done;")
        return Value("int", x)

    def fn_len(self, e: ast.Call) -> Value:
        v = self.value(self.one(e))
        if v.type in ("ints", "floats"):
            return Value("int", f"({v.c}).n")
        if v.type in ("TL", "T?L"):
            return Value("int", f"(int64_t){v.n}")
        raise ExpressionError(f"{v.type} has no length")

    def fn_needs(self, e: ast.Call) -> Value:
        name = self.one(e)
        v = self.names(f"{name.id}@needs") if isinstance(name, ast.Name) else None
        if v is None:
            raise ExpressionError(f"{ast.unparse(e)!r}: needs() takes the name of a tensor argument with a derivative")
        return v

    def extreme(self, e: ast.Call, macro: str) -> Value | None:
        args = [self.value(a) for a in e.args]
        if len(args) != 2 or any(a.type not in ("int", "float") for a in args):
            return None
        kind = "float" if any(a.type == "float" for a in args) else "int"
        return Value(kind, f"{macro}({', '.join(f'({C_TYPES[kind]}){a.c}' for a in args)})")

    def fn_min(self, e: ast.Call) -> Value | None:
        return self.extreme(e, "FB_MIN")

    def fn_max(self, e: ast.Call) -> Value | None:
        return self.extreme(e, "FB_MAX")

    def fn_float(self, e: ast.Call) -> Value:
        return Value("float", f"(double){self.as_number(self.value(self.one(e)))}")

    def fn_int(self, e: ast.Call) -> Value:
        v = self.value(self.one(e))
        return Value("int", f"fb_scalar_int({v.c})" if v.type == "S" else f"(int64_t)({v.c})")
