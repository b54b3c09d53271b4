"""Compiles the expression language of derivatives and composites to C statements.

Values have types, checked here: T (a tensor), T? (one that may be absent), TL and T?L (lists), int, float, bool, S (a number of
any kind), ints, floats, str, dtype, device, gen, each with a "?" form where absence is allowed, and tuple (several results).
A T? that comes from an undefined gradient is *soft*: an operator that needs it is skipped and its result is soft again.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable

from emit_c import c_name
from expression_builtins import C_TYPES, NUMBERS, Builtins, ExpressionError, Value, const
from model import Arg, Op

# type of an argument in a signature -> type of a value
ARG_TYPES = {
    "Tensor": "T", "Tensor?": "T?", "Tensor[]": "TL", "Tensor?[]": "T?L", "Scalar": "S", "Scalar?": "S?", "int": "int", "int?": "int?",
    "int[]": "ints", "int[]?": "ints?", "float": "float", "float?": "S?", "float[]?": "floats?", "bool": "bool", "bool?": "bool?",
    "str": "str", "str?": "str?", "dtype?": "dtype?", "device?": "device?", "Generator?": "gen?",
}  # fmt: skip
ABSENT = {
    "T?": "NULL", "S?": "(fb_scalar){0}", "int?": "FB_ABSENT", "ints?": "(fb_ints){-1, NULL}", "floats?": "(fb_floats){-1, NULL}",
    "bool?": "-1", "str?": "NULL", "dtype?": "FB_NONE", "device?": "(fb_device){FB_NO_DEVICE, -1}", "gen?": "NULL",
}  # fmt: skip
IS_ABSENT = {
    "T?": "!{}", "S?": "{}.kind == FB_S_NONE", "int?": "{} == FB_ABSENT", "ints?": "{}.n < 0", "floats?": "{}.n < 0", "bool?": "{} < 0",
    "str?": "!{}", "dtype?": "{} == FB_NONE", "device?": "{}.type == FB_NO_DEVICE", "gen?": "!{}",
}  # fmt: skip
OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
    ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=",
           ast.Gt: ">", ast.GtE: ">="}  # fmt: skip
SCALAR_FN = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


class Compiler(Builtins):
    """Statements of one C function; `names` answers what a name stands for."""

    def __init__(self, table: dict[str, Op], names: Callable[[str], Value | None]):
        self.table, self.names = table, names
        self.lines: list[str] = []
        self.decls: list[str] = []
        self.cleanup: list[str] = []
        self.counter = 0
        self.depth = 1
        self.memo: dict[str, Value] = {}
        self.locals: dict[str, Value] = {}
        self.narrowed: set[str] = set()

    # ---- emitting ----

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def temp(self) -> str:
        t = self.fresh("t")
        self.decls.append(f"fb_tensor *{t} = NULL;")
        self.cleanup.append(f"fb_release({t});")
        return t

    def temp_list(self) -> tuple[str, str]:
        name = self.fresh("l")
        self.decls += [f"fb_tensor **{name} = NULL;", f"int64_t {name}_n = 0;"]
        self.cleanup.append(f"fb_release_list({name}_n, {name});")
        return name, f"{name}_n"

    # ---- statements and expressions ----

    def run(self, text: str) -> Value:
        """Local assignments, separated by newlines or ';', then the final expression."""
        try:
            statements = ast.parse("\n".join(s.strip() for s in self.split(text)), mode="exec").body
        except SyntaxError as e:
            raise ExpressionError(f"cannot read {text!r}: {e.msg}") from None
        if not statements or not isinstance(statements[-1], ast.Expr):
            raise ExpressionError("the last line must be an expression")
        for s in statements[:-1]:
            if not isinstance(s, ast.Assign) or len(s.targets) != 1:
                raise ExpressionError(f"{ast.unparse(s)!r} is neither an assignment nor the final expression")
            self.assign(s.targets[0], self.value(s.value))
        return self.value(statements[-1].value)

    @staticmethod
    def split(text: str) -> list[str]:
        """Logical lines: brackets may span several."""
        out, depth, current = [], 0, ""
        for c in text:
            depth += (c in "([{") - (c in ")]}")
            if c in ";\n" and depth == 0:
                out.append(current)
                current = ""
            else:
                current += " " if c == "\n" else c
        return [s for s in [*out, current] if s.strip()]

    def assign(self, target: ast.expr, v: Value) -> None:
        if isinstance(target, ast.Name):
            self.locals[target.id] = v
            self.memo = {}
        elif isinstance(target, ast.Tuple) and v.type == "tuple":
            if len(target.elts) != len(v.items):
                raise ExpressionError(f"{len(v.items)} results cannot be assigned to {len(target.elts)} names")
            for t, item in zip(target.elts, v.items, strict=True):
                self.assign(t, item)
        else:
            raise ExpressionError(f"cannot assign to {ast.unparse(target)!r}")

    def value(self, e: ast.expr) -> Value:
        key = ast.dump(e)
        if key in self.memo:
            return self.memo[key]
        handler = getattr(self, "do_" + type(e).__name__.lower(), None)
        if handler is None:
            raise ExpressionError(f"{ast.unparse(e)!r} is not part of the expression language")
        v = handler(e)
        self.memo[key] = v
        return v

    def tensor(self, v: Value, what: str = "a tensor") -> Value:
        """v as a tensor that is there; numbers are wrapped."""
        if v.use:
            v = v.use()
        if v.type in NUMBERS:
            t = self.temp()
            self.emit(f"if (!({t} = fb_number({self.scalar(v)}))) goto done;")
            return Value("T", t, owned=True)
        if v.type == "T" or (v.type == "T?" and v.soft):
            return v
        if v.type == "T?":
            raise ExpressionError(f"{v.c.removeprefix('v_')} may be absent: guard it by '... if x is not None else ...'")
        raise ExpressionError(f"{what} is expected, not {v.type}")

    def scalar(self, v: Value) -> str:
        make = {"int": "fb_int", "float": "fb_float", "bool": "fb_boolean"}
        if v.type in ("S", "S?"):
            return v.c
        if v.type not in make:
            raise ExpressionError(f"a number is expected, not {v.type}")
        return f"{make[v.type]}({v.c})"

    def do_constant(self, e: ast.Constant) -> Value:
        return const(e.value)

    def do_name(self, e: ast.Name) -> Value:
        v = self.locals.get(e.id) or self.names(e.id)
        if v is None:
            if e.id == "inf":
                return const(math.inf)
            raise ExpressionError(f"the name {e.id!r} is neither an input, a result, a parameter nor a local name")
        if e.id in self.narrowed:
            v = Value(**{**v.__dict__, "type": v.type.rstrip("?")})
            if v.use:
                use = v.use
                v.use = lambda: Value(**{**use().__dict__, "type": "T"})
        return v

    def do_tuple(self, e: ast.Tuple) -> Value:
        return Value("tuple", items=[self.value(x) for x in e.elts])

    def do_list(self, e: ast.List) -> Value:
        items = [self.value(x) for x in e.elts]
        if all(i.type in ("int", "bool") for i in items):
            if all(i.const is not None for i in items):
                return const([int(i.const) for i in items])
            a = self.fresh("a")
            self.decls.append(f"int64_t {a}[{len(items)}];")
            for k, i in enumerate(items):
                self.emit(f"{a}[{k}] = {i.c};")
            return Value("ints", f"(fb_ints){{{len(items)}, {a}}}")
        items = [self.tensor(i) for i in items]
        a = self.fresh("a")
        self.decls.append(f"fb_tensor *{a}[{len(items)}];")
        for k, i in enumerate(items):
            self.emit(f"{a}[{k}] = {i.c};")
        return Value("T?L" if any(i.soft for i in items) else "TL", a, n=str(len(items)))

    def do_unaryop(self, e: ast.UnaryOp) -> Value:
        v = self.value(e.operand)
        if isinstance(e.op, ast.Not):
            return Value("bool", f"(!{self.condition(v)})")
        if isinstance(e.op, ast.USub):
            if v.const is not None and v.type in ("int", "float"):
                return const(-v.const)
            if v.type in ("int", "float"):
                return Value(v.type, f"(-{v.c})")
            if v.type == "S":
                return Value("S", f"fb_scalar_mul({v.c}, fb_int(-1))")
            return self.call("neg", [v], {})
        if isinstance(e.op, ast.Invert):
            return self.call("bitwise_not", [v], {})
        raise ExpressionError(f"{ast.unparse(e)!r} is not part of the expression language")

    def do_binop(self, e: ast.BinOp) -> Value:
        a, b, kind = self.value(e.left), self.value(e.right), type(e.op)
        if kind not in OPERATORS:
            raise ExpressionError(f"{ast.unparse(e)!r} is not part of the expression language")
        if a.type in ("ints",) and b.type in ("ints",) and kind is ast.Add:
            buffer, joined = self.fresh("a"), self.fresh("i")
            self.decls += [f"int64_t {buffer}[FB_MAX_DIMS];", f"fb_ints {joined};"]
            self.emit(f"if (fb_ints_join({buffer}, {a.c}, {b.c}, &{joined}) != FB_OK) goto done;")
            return Value("ints", joined)
        if a.type in NUMBERS and b.type in NUMBERS:
            return self.number_arithmetic(kind, a, b)
        if kind is ast.Mult and a.type not in NUMBERS and b.type == "S":
            a = self.tensor(a)
            return self.simple("fb_scaled", [a], f"{a.c}, {b.c}")
        if kind in (ast.Add, ast.Sub) and (a.soft or b.soft):
            a, b = self.tensor(a), self.tensor(b)
            if kind is ast.Sub:
                b = self.call("neg", [b], {})
            t = self.temp()
            self.emit(f"if (!({t} = fb_plus({a.c}, {b.c})) && ({a.c} || {b.c})) goto done;")
            return Value("T?", t, owned=True, soft=True) if a.soft and b.soft else Value("T", t, owned=True)
        return self.call(OPERATORS[kind], [a, b], {})

    def number_arithmetic(self, kind: type, a: Value, b: Value) -> Value:
        if a.const is not None and b.const is not None:
            ops = {ast.Add: lambda: a.const + b.const, ast.Sub: lambda: a.const - b.const, ast.Mult: lambda: a.const * b.const,
                   ast.Div: lambda: a.const / b.const, ast.Pow: lambda: a.const**b.const, ast.FloorDiv: lambda: a.const // b.const,
                   ast.Mod: lambda: a.const % b.const}  # fmt: skip
            if kind in ops:
                return const(ops[kind]())
        if "S" in (a.type, b.type):
            if kind not in SCALAR_FN:
                raise ExpressionError(f"no {kind.__name__} of numbers of unknown kind")
            return Value("S", f"fb_scalar_{SCALAR_FN[kind]}({self.scalar(a)}, {self.scalar(b)})")
        if kind is ast.Div:
            return Value("float", f"((double){a.c} / (double){b.c})")
        if kind is ast.Pow:
            return Value("float", f"pow((double){a.c}, (double){b.c})")
        if kind in (ast.FloorDiv, ast.Mod):
            if a.type == "float" or b.type == "float" or not isinstance(b.const, int) or b.const <= 0:
                raise ExpressionError("// and % of numbers need integers and a positive constant on the right")
            # C truncates; shapes are not negative
            return Value("int", f"({a.c} {'/' if kind is ast.FloorDiv else '%'} {b.c})")
        if kind not in SYMBOLS:
            raise ExpressionError(f"no {kind.__name__} of numbers")
        return Value("float" if "float" in (a.type, b.type) else "int", f"({a.c} {SYMBOLS[kind]} {b.c})")

    def do_compare(self, e: ast.Compare) -> Value:
        if len(e.ops) != 1:
            raise ExpressionError(f"{ast.unparse(e)!r}: one comparison at a time")
        kind, right = type(e.ops[0]), e.comparators[0]
        a = self.value(e.left)
        if kind in (ast.Is, ast.IsNot) and isinstance(right, ast.Constant) and right.value is None:
            negate = kind is ast.IsNot
            if a.type not in IS_ABSENT:
                return const(negate)
            absent = f"({a.meta})->ndim < 0" if a.meta else IS_ABSENT[a.type].format(a.c)
            return Value("bool", f"(!({absent}))" if negate else f"({absent})")
        if kind in (ast.In, ast.NotIn) and isinstance(right, (ast.Tuple, ast.List)):
            tests = [self.do_compare(ast.Compare(e.left, [ast.Eq()], [x])).c for x in right.elts]
            text = "(" + " || ".join(tests) + ")"
            return Value("bool", f"(!{text})" if kind is ast.NotIn else text)
        b = self.value(right)
        if kind not in SYMBOLS:
            raise ExpressionError(f"{ast.unparse(e)!r} is not part of the expression language")
        if a.type in NUMBERS and b.type in NUMBERS:
            return Value("bool", f"({self.as_number(a)} {SYMBOLS[kind]} {self.as_number(b)})")
        if a.type == b.type == "dtype" and kind in (ast.Eq, ast.NotEq):
            return Value("bool", f"({a.c} {SYMBOLS[kind]} {b.c})")
        if a.type in ("str", "str?") and b.type == "str" and kind in (ast.Eq, ast.NotEq):
            return Value("bool", f"({a.c} && strcmp({a.c}, {b.c}) {SYMBOLS[kind]} 0)")
        if a.type == b.type == "ints" and kind in (ast.Eq, ast.NotEq):
            text = f"({a.c}.n == {b.c}.n && !memcmp({a.c}.v, {b.c}.v, (size_t){a.c}.n * 8))"
            return Value("bool", text if kind is ast.Eq else f"(!{text})")
        return self.call(OPERATORS[kind], [a, b], {})

    def as_number(self, v: Value) -> str:
        return f"fb_scalar_double({v.c})" if v.type == "S" else v.c

    def condition(self, v: Value) -> str:
        if v.type in ("bool", "int", "float"):
            return v.c
        if v.type == "S":
            return f"fb_scalar_true({v.c})"
        if v.type == "bool?":
            return f"({v.c} > 0)"
        raise ExpressionError(f"a condition is over parameters, shapes and dtypes, never over data: {v.type} cannot decide")

    def do_boolop(self, e: ast.BoolOp) -> Value:
        tests = [self.condition(self.value(x)) for x in e.values]
        return Value("bool", "(" + (" && " if isinstance(e.op, ast.And) else " || ").join(tests) + ")")

    @staticmethod
    def guards(test: ast.expr) -> tuple[set[str], set[str]]:
        """Names known to be there where the test holds, and where it does not."""
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and isinstance(test.comparators[0], ast.Constant):
            if test.comparators[0].value is None and isinstance(test.ops[0], ast.IsNot):
                return {test.left.id}, set()
            if test.comparators[0].value is None and isinstance(test.ops[0], ast.Is):
                return set(), {test.left.id}
        if isinstance(test, ast.BoolOp):
            parts = [Compiler.guards(v) for v in test.values]
            if isinstance(test.op, ast.And):
                return set().union(*(p[0] for p in parts)), set()
            return set(), set().union(*(p[1] for p in parts))
        return set(), set()

    def do_ifexp(self, e: ast.IfExp) -> Value:
        test = self.condition(self.value(e.test))
        there, missing = self.guards(e.test)
        outer_lines, outer_memo, outer_narrowed = self.lines, dict(self.memo), set(self.narrowed)
        branches = []
        for expr, extra in ((e.body, there), (e.orelse, missing)):
            self.lines, self.memo, self.narrowed = [], dict(outer_memo) if not extra else {}, outer_narrowed | extra
            self.depth += 1
            v = self.value(expr)
            if v.use:
                v = v.use()
            branches.append((v, self.lines))
            self.depth -= 1
        self.lines, self.memo, self.narrowed = outer_lines, outer_memo, outer_narrowed
        types = {v.type for v, _ in branches}
        if types & {"T", "T?"}:
            if types - {"T", "T?", "none"}:
                raise ExpressionError(f"the branches of {ast.unparse(e)!r} have the types {sorted(types)}")
            t = self.temp()
            soft = "none" in types or any(v.soft for v, _ in branches)
            result = Value("T?" if soft or "T?" in types else "T", t, owned=True, soft=soft)

            def give(v: Value) -> str:
                return f"{t} = NULL;" if v.type == "none" else f"{t} = fb_retain({v.c});"
        else:
            kinds = types - {"none"}
            if kinds <= {"int", "bool"}:
                kind = "int" if "int" in kinds else "bool"
            elif kinds <= {"int", "bool", "float"}:
                kind = "float"
            elif kinds <= set(NUMBERS):
                kind = "S"
            elif len({k.rstrip("?") for k in kinds}) == 1:
                kind = min(k.rstrip("?") for k in kinds)
            else:
                raise ExpressionError(f"the branches of {ast.unparse(e)!r} have the types {sorted(types)}")
            optional = "none" in types or any(k.endswith("?") for k in kinds)
            name = self.fresh("x")
            self.decls.append(f"{C_TYPES[kind]} {name};")
            result = Value(kind + "?" if optional else kind, name)

            def give(v: Value) -> str:
                if v.const is not None and isinstance(v.const, list):
                    a = self.fresh("a")
                    self.decls.append(f"static const int64_t {a}[] = {{{', '.join(map(str, v.const)) or '0'}}};")
                    return f"{name} = (fb_ints){{{len(v.const)}, {a}}};"
                if v.type == "none":
                    return f"{name} = {ABSENT[kind + '?']};"
                return f"{name} = {self.scalar(v) if kind == 'S' else v.c};"
        for k, (v, lines) in enumerate(branches):
            self.emit(f"if ({test}) {{" if k == 0 else "} else {")
            self.lines += lines
            self.emit("    " + give(v))
        self.emit("}")
        return result

    # ---- attributes, indices, calls ----

    def do_attribute(self, e: ast.Attribute) -> Value:
        if isinstance(e.value, ast.Name) and e.value.id == "math" and hasattr(math, e.attr):
            return const(getattr(math, e.attr))
        v = self.value(e.value) if not isinstance(e.value, ast.Name) else self.known(e.value)
        if v.type == "tuple":
            raise ExpressionError(f"{ast.unparse(e)!r}: use an index")
        ints, ndim, _, dtype, device = self.shape_of(v)
        known = {"shape": Value("ints", ints), "ndim": Value("int", f"({ndim})"), "dtype": Value("dtype", dtype),
                 "device": Value("device", device)}  # fmt: skip
        if e.attr not in known:
            raise ExpressionError(f"no attribute {e.attr!r}: {sorted(known)} are known; methods are called")
        return known[e.attr]

    def do_subscript(self, e: ast.Subscript) -> Value:
        v = self.value(e.value)
        if isinstance(e.slice, ast.Slice):
            if v.type != "ints" or e.slice.step is not None:
                raise ExpressionError(f"{ast.unparse(e)!r}: only lists of integers are sliced")
            low = self.value(e.slice.lower).c if e.slice.lower else "0"
            high = self.value(e.slice.upper).c if e.slice.upper else "INT64_MAX"
            return Value("ints", f"fb_ints_slice({v.c}, {low}, {high})")
        i = self.value(e.slice)
        if v.type == "tuple" and isinstance(i.const, int) and -len(v.items) <= i.const < len(v.items):
            return v.items[i.const]
        if i.type != "int":
            raise ExpressionError(f"{ast.unparse(e)!r}: the index must be an integer")
        if v.type == "ints":
            x = self.fresh("x")
            self.decls.append(f"int64_t {x};")
            self.emit(f"if (fb_ints_at({v.c}, {i.c}, &{x}) != FB_OK) goto done;")
            return Value("int", x)
        if v.type in ("TL", "T?L"):
            self.emit(f'if ({i.c} < 0 || {i.c} >= {v.n}) {{ fb_fail(FB_EINDEX, "no element %d of %d", (int)({i.c}), (int)({v.n}));'
                      " goto done; }")
            return Value("T?" if v.type == "T?L" else "T", f"{v.c}[{i.c}]", soft=v.type == "T?L")
        raise ExpressionError(f"{ast.unparse(e)!r}: {v.type} has no elements")

    def do_call(self, e: ast.Call) -> Value:
        keywords = {}
        if isinstance(e.func, ast.Name):
            if (builtin := getattr(self, "fn_" + e.func.id, None)) is not None:
                v = builtin(e)
                if v is not None:
                    return v
            name, first = e.func.id, []
        elif isinstance(e.func, ast.Attribute):
            name = e.func.attr
            if isinstance(e.func.value, ast.Name) and e.func.value.id == "math":
                args = [self.value(a) for a in e.args]
                if all(a.const is not None for a in args):
                    return const(getattr(math, name)(*(a.const for a in args)))
                if name not in ("log", "exp", "sqrt", "pow", "lgamma", "floor", "ceil"):
                    raise ExpressionError(f"math.{name} of something that is not constant")
                return Value("float", f"{name}({', '.join(f'(double){self.as_number(a)}' for a in args)})")
            if name in ("size", "numel") and (builtin := getattr(self, "fn_" + name)) is not None:
                return builtin(ast.Call(ast.Name(name), [e.func.value, *e.args], []))
            first = [self.value(e.func.value)]
            if name == "conj" and first[0].type in ("S", "int", "float"):
                return Value("S", f"fb_scalar_conj({first[0].c})") if first[0].type == "S" else first[0]
        else:
            raise ExpressionError(f"{ast.unparse(e)!r} is not a call of an operator")
        for k in e.keywords:
            keywords[k.arg] = self.value(k.value)
        return self.call(name, first + [self.value(a) for a in e.args], keywords)

    def coerce(self, v: Value, arg: Arg, where: str) -> Value:
        want = ARG_TYPES[arg.type]
        if v.use:
            v = v.use()
        if v.type == "none":
            if want not in ABSENT:
                raise ExpressionError(f"{where} must not be None")
            return Value(want, ABSENT[want])
        base, given = want.rstrip("?"), v.type
        if base == "T" and want in ("T", "T?"):
            if want == "T?" and given == "T?":
                return v
            return self.tensor(v, where)
        if base == "S" and given in NUMBERS + (("S?",) if want == "S?" else ()):
            return Value("S", self.scalar(v))
        if base == "float" and given in ("int", "float", "bool", "S"):
            return Value("float", f"(double){self.as_number(v)}")
        if base == "int" and given in ("int", "bool") or base == "bool" and given in ("int", "bool"):
            return v
        if base == "int" and given == "S":
            raise ExpressionError(f"{where} is an integer: write int(...)")
        if base == "ints" and given == "int":
            return self.do_list_of(v)
        if base == "ints" and given == "tuple" and all(i.type == "int" for i in v.items):
            return self.ints_of(v.items)
        if want == "T?L" and given == "TL":
            return v
        if given == want or given == base:
            return v
        raise ExpressionError(f"{where} takes {arg.type}, not {given}")

    def do_list_of(self, v: Value) -> Value:
        return self.ints_of([v])

    def ints_of(self, items: list[Value]) -> Value:
        a = self.fresh("a")
        self.decls.append(f"int64_t {a}[{len(items)}];")
        for k, i in enumerate(items):
            self.emit(f"{a}[{k}] = {i.c};")
        return Value("ints", f"(fb_ints){{{len(items)}, {a}}}")

    def simple(self, fn: str, tensors: list[Value], args: str) -> Value:
        """A call that answers with one new tensor; skipped where a soft argument is absent."""
        t = self.temp()
        soft = [v.c for v in tensors if v.soft]
        self.emit(f"if ({''.join(s + ' && ' for s in soft)}!({t} = {fn}({args}))) goto done;")
        return Value("T?" if soft else "T", t, owned=True, soft=bool(soft))

    def call(self, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
        op = self.table.get(name)
        if op is None:
            raise ExpressionError(f"there is no operator {name!r} in the table")
        if len(args) > len(op.args):
            raise ExpressionError(f"{name}() takes {len(op.args)} arguments, not {len(args)}")
        given = dict(zip((a.name for a in op.args), args, strict=False))
        for k, v in keywords.items():
            if k in given or k not in {a.name for a in op.args}:
                raise ExpressionError(f"{name}() has no argument {k!r} left; its signature is {op.sig}")
            given[k] = v
        passed, soft_args, values = [], [], []
        for a in op.args:
            if a.name in given:
                v = given[a.name]
            elif a.has_default:
                v = const(a.default)
            elif ARG_TYPES[a.type] in ABSENT:
                v = const(None)
            else:
                raise ExpressionError(f"{name}() misses its argument {a.name!r}")
            v = self.coerce(v, a, f"{name}(): {a.name}")
            if v.soft and a.type == "Tensor":
                soft_args.append(v)
            values.append(v)
            passed.append(f"{v.n}, {v.c}" if a.is_list else v.c)
        if name == "conj":
            return self.simple("fb_conj_of", soft_args, passed[0])
        if op.returns_list:
            if soft_args:
                raise ExpressionError(f"{name}() of a gradient that may be undefined: say zeros = true")
            array, n = self.temp_list()
            self.emit(f"if (fb_{name}({', '.join([*passed, '&' + n, '&' + array])}) != FB_OK) goto done;")
            return Value("TL", array, n=n, owned=True)
        if len(op.returns) == 1:
            return self.simple(f"fb_{name}", soft_args, ", ".join(passed))
        temps = [self.temp() for _ in op.returns]
        guard = "".join(v.c + " && " for v in soft_args)
        self.emit(f"if ({guard}fb_{name}({', '.join(passed + ['&' + t for t in temps])}) != FB_OK) goto done;")
        return Value("tuple", items=[Value("T?" if guard else "T", t, owned=True, soft=bool(guard)) for t in temps])


def input_position(op: Op, arg: Arg, lengths: str) -> str:
    """C for where the argument starts in frame.in; lengths: the expression of the params."""
    terms, fixed = [], 0
    for a in op.tensors:
        if a is arg:
            break
        if a.is_list:
            terms.append(f"{lengths}n_{c_name(a)}")
        else:
            fixed += 1
    return " + ".join([str(fixed), *terms])
