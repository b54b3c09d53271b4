"""Derivative rules and composites: from the table's expressions to C.

An entry's `grad` is a table. A key is an input, or several ("input, weight": one expression with a tuple of results, or one call
with several results); its value an expression, in which stand for

    the inputs, parameters   by their names           result, result0, or its name   what the operator gave
    grad, grads[i], grads    gradients of the results needs(x)                       whether x's gradient is wanted
    shape(x), dtype(x), numel(x), strides(x), offset(x), x.ndim ...                  keep no data of x

Gradients are summed over broadcast dimensions, cast to the input's dtype and made real for a real input by the engine. Further keys:

    results = n              only the first n results have a history (default: those that users see)
    zeros = true             undefined gradients arrive as zeros; else, an operator that needs an undefined one is skipped
    not_implemented = "why"  instead of expressions: backward raises
    function = "name"        a C function of the type fb_backward_fn, with inputs = [...] that it differentiates and saves = [...],
                             inputs or results, whose values it finds in slots 0, 1, ... (fb_node_unpack)

A string in place of the table names such a function; it differentiates and saves all tensor inputs.
"""
from __future__ import annotations

import re
from dataclasses import dataclass

import fused
from emit_c import NOTE, c_name
from expression import ARG_TYPES, Compiler, ExpressionError, Value, const, input_position
from model import Op

SPECIAL = {"zeros", "results", "not_implemented", "function", "inputs", "saves"}


@dataclass
class Save:
    """What a node keeps of an input or a result."""

    name: str
    arg: int  # number among the tensor arguments, or the results
    result: bool
    is_list: bool
    data: int = 0  # bits of the arguments whose formula reads its data
    shape: bool = False
    strides: bool = False
    slot: str = ""


def backward_name(op: Op) -> str:
    """As PyTorch writes it: log_softmax -> LogSoftmaxBackward0."""
    return "".join(w.title() for w in op.name.strip("_").split("_")) + "Backward0"


class Rule:
    def __init__(self, op: Op, table: dict[str, Op]):
        self.op, self.table = op, table
        self.saves: dict[str, Save] = {}
        self.bit = 0  # the argument(s) whose formula is being compiled
        self.uses_params = False
        self.loops: list[fused.Fused] = []
        self.diff = 0
        grad = op.get("grad")
        self.grad = {"function": grad} if isinstance(grad, str) else dict(grad)
        hidden = op.get("save") or []
        self.shown = min(len(op.returns) - len(hidden), self.grad.get("results", len(op.returns)))
        if hidden and op.names[len(op.returns) - len(hidden):] != list(hidden):
            op.fail(f"save={hidden} are not the trailing results of {op.sig}")
        for key in self.grad:
            if key in SPECIAL:
                continue
            for name in self.inputs_of(key):
                self.diff |= 1 << self.number(name)

    @staticmethod
    def inputs_of(key: str) -> list[str]:
        return [k.strip() for k in key.split(",")]

    def number(self, name: str) -> int:
        for i, a in enumerate(self.op.tensors):
            if a.name == name:
                return i
        self.op.fail(f"grad names {name!r}, which is not a tensor argument of {self.op.sig}")

    # ---- names of the language ----

    def save(self, name: str, arg: int, result: bool) -> Save:
        is_list = not result and self.op.tensors[arg].is_list
        return self.saves.setdefault(name, Save(name, arg, result, is_list))

    def result_number(self, name: str) -> int | None:
        if name == "result":
            return 0 if len(self.op.returns) >= 1 and not self.op.returns_list else None
        if (m := re.fullmatch(r"result(\d+)", name)) and int(m[1]) < len(self.op.returns):
            return int(m[1])
        return self.op.names.index(name) if name in self.op.names and name else None

    def lookup(self, name: str) -> Value | None:
        name, _, want = name.partition("@")
        op = self.op
        if want == "needs":
            return Value("bool", f"(needs >> {self.number(name)} & 1)")
        if name in ("grad", "grads"):
            if want:
                return None
            several = len(op.returns) > 1 or op.returns_list
            soft = several and not self.grad.get("zeros")
            if name == "grad":
                if op.returns_list:
                    raise ExpressionError("the gradients of a list are `grads`")
                return Value("T?" if soft else "T", "grads[0]", soft=soft)
            if op.returns_list:
                return Value("TL" if self.grad.get("zeros") else "T?L", "grads", n="n->n_outputs")
            return Value("tuple", items=[Value("T?" if soft else "T", f"grads[{i}]", soft=soft) for i in range(self.shown)])
        for i, a in enumerate(op.tensors):
            if a.name == name:
                return self.kept(name, i, False, want, ARG_TYPES[a.type])
        if (r := self.result_number(name)) is not None:
            if want == "shape" and r < self.shown:
                return Value("T", meta=f"&n->outputs[{r}]")
            return self.kept(name, r, True, want, "T")
        for a in op.params:
            if a.name == name and not want:
                self.uses_params = True
                return Value(ARG_TYPES[a.type], f"p->{c_name(a)}")
        return None

    def kept(self, name: str, arg: int, result: bool, want: str, kind: str) -> Value:
        """A saved value. Nothing is kept until the data or the shape is asked for."""
        v = f"v_{name}"
        if want:
            if result:
                raise ExpressionError(f"the shape of {name}, a result that users do not see")
            s = self.save(name, arg, result)
            s.shape = True
            s.strides |= want == "strides"
            if s.is_list:
                raise ExpressionError(f"the shape of {name}, which is a list: sizes({name}, dim)")
            return Value(kind, meta=f"n->saved[@{name}@].meta")

        def use() -> Value:
            s = self.save(name, arg, result)
            s.data |= self.bit
            if s.is_list:
                self.uses_params = True
                return Value(kind, v, n=f"p->n_{c_name(self.op.tensors[arg])}")
            return Value(kind, v)

        if kind.endswith("L"):
            return use()
        if kind == "T?":  # presence is asked of the shape, so that no data is kept for it
            s = self.save(name, arg, result)
            s.shape = True
            return Value(kind, v, meta=f"n->saved[@{name}@].meta", use=use)
        return Value(kind, v, use=use)

    # ---- code ----

    def formula(self, key: str, text: str) -> tuple[list[str], list[str], list[str]]:
        """(declarations, statements, cleanup) that set grad_inputs of the inputs named in key."""
        names = self.inputs_of(key)
        args = [self.op.tensors[self.number(n)] for n in names]
        self.bit = sum(1 << self.number(n) for n in names)
        c = Compiler(self.table, self.lookup)
        c.counter = self.counter
        c.depth = 2
        c.narrowed = set(names)  # an argument whose gradient is wanted is there
        loop = fused.fuse(f"fb_fused_{self.op.name}_{names[0]}", text, c) if len(args) == 1 and not args[0].is_list else None
        c.memo = {}
        v = c.run(text)
        values = v.items if v.type == "tuple" else [v]
        if len(values) != len(args):
            raise ExpressionError(f"{len(values)} gradients for {len(args)} inputs")
        for a, value in zip(args, values, strict=True):
            at = self.edge(a)
            if a.is_list:
                if value.type not in ("TL", "T?L"):
                    raise ExpressionError(f"the gradient of {a.name}, a list, is a list, not {value.type}")
                n = f"p->n_{c_name(a)}"
                self.uses_params = True
                c.emit(f'if ({value.n} != {n}) {{ fb_fail(FB_ERUNTIME, "{self.op.name}: %d gradients for %d inputs", (int){value.n}, '
                       f"(int){n}); goto done; }}")
                c.emit(f"for (int64_t j = 0; j < {n}; j++) grad_inputs[{at} + j] = fb_retain({value.c}[j]);")
                continue
            if value.type == "none":
                continue
            value = c.tensor(value, f"the gradient of {a.name}") if value.type != "T?" else value
            if value.owned and v.type != "tuple" and not c.locals:
                c.emit(f"grad_inputs[{at}] = {value.c}; {value.c} = NULL;")
            else:
                c.emit(f"grad_inputs[{at}] = fb_retain({value.c});")
        body = [f"    if (needs & {hex(self.bit)}) {{", *c.lines, "    }"]
        if loop:
            self.loops.append(loop)
            at, t = self.edge(args[0]), c.temp()
            head = [" " * 8 + line for line in fused.call(loop, t)]
            taken = f"        if ({t}) {{ grad_inputs[{at}] = {t}; {t} = NULL; }}"
            body = [body[0], *head, taken, f"        if (!grad_inputs[{at}]) {{", *("    " + x for x in c.lines), "        }", "    }"]
        self.counter = c.counter
        return c.decls, body, c.cleanup

    def edge(self, arg) -> str:
        terms, fixed = [], 0
        for i, a in enumerate(self.op.tensors):
            if a is arg:
                break
            if not self.diff >> i & 1:
                continue
            if a.is_list:
                terms.append(f"p->n_{c_name(a)}")
                self.uses_params = True
            else:
                fixed += 1
        return " + ".join([str(fixed), *terms])

    def place(self) -> list[Save]:
        """Lists last; gives each its slot."""
        order = sorted(self.saves.values(), key=lambda s: s.is_list)
        plain = sum(not s.is_list for s in order)
        before = ""
        for i, s in enumerate(order):
            s.slot = f"{plain}{before}" if s.is_list else str(i)
            if s.is_list:
                before += f" + p->n_{c_name(self.op.tensors[s.arg])}"
        return order

    def check_saves(self) -> None:
        for name in self.op.get("save") or []:
            i = self.op.names.index(name)
            if name not in self.saves and f"result{i}" not in self.saves:
                self.op.fail(f"save names {name!r}, which no derivative uses")

    def compile(self) -> str:
        op, grad = self.op, self.grad
        if any(a.is_list for a in op.tensors):
            self.uses_params = True
        if (why := grad.get("not_implemented")) is not None:
            return self.rule(None, why)
        if (fn := grad.get("function")) is not None:
            for name in grad.get("inputs") or [a.name for a in op.tensors]:
                self.diff |= 1 << self.number(name)
            for name in grad.get("saves") or [a.name for a in op.tensors]:
                r = self.result_number(name)
                s = self.save(name, r if r is not None else self.number(name), r is not None)
                s.data = self.diff
            self.uses_params = True
            self.place()
            return f"fb_status {fn}(fb_node *, fb_tensor *const *, fb_tensor **, uint64_t);\n" + self.rule(fn, None)
        if not self.diff:
            op.fail("grad has no input; operators without derivative say flags = \"nondiff\" or not_implemented")
        self.counter = 0
        decls, lines, cleanup = [], [], []
        for key, text in grad.items():
            if key in SPECIAL:
                continue
            if not isinstance(text, str):
                op.fail(f"grad.{key} is no expression")
            try:
                d, body, end = self.formula(key, text)
            except ExpressionError as e:
                op.fail(f"grad.{key}: {e}")
            decls += d
            lines += body
            cleanup += end
        self.check_saves()
        order = self.place()
        head = [f"static fb_status backward_{op.name}(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)", "{"]
        if self.uses_params:
            head.append(f"    const struct fb_p_{op.name} *p = n->params;")
        body = ["    fb_status status = FB_FAIL;"]
        unpack = []
        for s in order:
            if not s.data:
                continue
            if s.is_list:
                count = f"p->n_{c_name(op.tensors[s.arg])}"
                body.append(f"    fb_tensor **v_{s.name} = NULL;")
                unpack.append(f"    if ((needs & {hex(s.data)}) && fb_node_unpack_list(n, {s.slot}, {count}, &v_{s.name}) != FB_OK) goto done;")
                cleanup.append(f"if (v_{s.name}) fb_release_list({count}, v_{s.name});")
            else:
                body.append(f"    fb_tensor *v_{s.name} = NULL;")
                unpack.append(f"    if ((needs & {hex(s.data)}) && fb_node_unpack(n, {s.slot}, &v_{s.name}) != FB_OK) goto done;")
                cleanup.append(f"fb_release(v_{s.name});")
        body += ["    " + d for d in decls]
        single = len(op.returns) == 1 and not op.returns_list
        body.append("    (void)grads; (void)n; (void)needs;")
        if single:
            body.append("    if (!grads[0]) return FB_OK;")
        body += unpack + lines + ["    status = FB_OK;"]
        if any("goto done" in line for line in unpack + lines):
            body.append("done:")
        body += ["    " + c for c in reversed(cleanup)] + ["    return status;", "}"]
        text = "\n".join(head + body) + "\n"
        text = re.sub(r"@(\w+)@", lambda m: self.saves[m[1]].slot, text)
        return "".join(map(fused.declaration, self.loops)) + text + self.rule(f"backward_{op.name}", None)

    def rule(self, function: str | None, why: str | None) -> str:
        op = self.op
        order = sorted(self.saves.values(), key=lambda s: s.is_list)
        text = ""
        if order:
            rows = []
            for s in order:
                kinds = ["FB_SAVE_DATA"] * bool(s.data) + ["FB_SAVE_SHAPE"] * s.shape + ["FB_SAVE_STRIDES"] * s.strides
                kinds += ["FB_SAVE_RESULT"] * s.result + ["FB_SAVE_LIST"] * s.is_list
                rows.append(f'{{"{s.name}", {s.arg}, {" | ".join(kinds)}, {hex(s.data)}}}')
            text += f"static const fb_save_rule saves_{op.name}[] = {{{', '.join(rows)}}};\n"
        flags = ["FB_G_PARAMS"] * self.uses_params + ["FB_G_ZEROS"] * bool(self.grad.get("zeros"))
        diff = self.diff or (1 << len(op.tensors)) - 1
        fields = [f'.name = "{backward_name(op)}"', f".diff = {hex(diff)}", f".n_results = {-1 if op.returns_list else self.shown}"]
        if function:
            fields.append(f".backward = {function}")
        if why is not None:
            fields.append(f".why_not = {const(why).c}")
        if order:
            fields.append(f".saves = saves_{op.name}, .n_saves = {len(order)}")
        if flags:
            fields.append(f".flags = {' | '.join(flags)}")
        return text + f"extern const fb_grad_rule fb_grad_{op.name};\nconst fb_grad_rule fb_grad_{op.name} = {{{', '.join(fields)}}};\n"


def compile_rule(op: Op, table: dict[str, Op], loops: list[fused.Fused] | None = None) -> str:
    """C of the backward function and of fb_grad_<name>; appends the loops that it calls to `loops`."""
    if len(op.tensors) > 64:
        op.fail(f"{len(op.tensors)} tensor arguments; 64 is the limit")
    rule = Rule(op, table)
    text = rule.compile()
    if loops is not None:
        loops += rule.loops
    return text


def compile_composite(op: Op, table: dict[str, Op]) -> str:
    """C of fb_composite_<name>: calls the named function, or evaluates the expression."""
    text = op.get("composite")
    if re.fullmatch(r"\s*fb_\w+\s*", text):
        return (f"fb_status {text.strip()}(fb_frame *);\nfb_status fb_composite_{op.name}(fb_frame *f);\n"
                f"fb_status fb_composite_{op.name}(fb_frame *f) {{ return {text.strip()}(f); }}\n")
    positions = {a.name: input_position(op, a, "p->") for a in op.tensors}

    def lookup(name: str) -> Value | None:
        if "@" in name:
            return None
        for a in op.tensors:
            if a.name == name:
                at = positions[name]
                if a.is_list:
                    return Value(ARG_TYPES[a.type], f"(f->in + {at})", n=f"p->n_{c_name(a)}")
                return Value(ARG_TYPES[a.type], f"f->in[{at}]")
        for a in op.params:
            if a.name == name:
                return Value(ARG_TYPES[a.type], f"p->{c_name(a)}")
        return None

    c = Compiler(table, lookup)
    try:
        v = c.run(text)
        values = v.items if v.type == "tuple" else [v]
        if op.returns_list:
            if v.type not in ("TL",):
                raise ExpressionError(f"the result is a list, not {v.type}")
            c.emit(f"if (fb_out_count(f, (int32_t){v.n}) != FB_OK) goto done;")
            c.emit(f"for (int64_t j = 0; j < {v.n}; j++) f->out[j] = fb_retain({v.c}[j]);")
        else:
            if len(values) != len(op.returns):
                raise ExpressionError(f"{len(values)} results where the signature has {len(op.returns)}")
            for i, value in enumerate(values):
                c.emit(f"if (fb_give(f, {i}, fb_retain({c.tensor(value, 'the result').c})) != FB_OK) goto done;")
    except ExpressionError as e:
        op.fail(f"composite: {e}")
    params = f"    const struct fb_p_{op.name} *p = f->params;\n    (void)p;\n"
    decls = "".join(f"    {d}\n" for d in c.decls)
    body = "\n".join(c.lines)
    done = "done:\n" if "goto done" in body else ""
    cleanup = "".join(f"    {x}\n" for x in reversed(c.cleanup))
    proto = f"fb_status fb_composite_{op.name}(fb_frame *f)"
    head = f"{proto};\n{proto}\n{{\n{params}    fb_status status = FB_FAIL;\n{decls}"
    return f"{head}{body}\n    status = FB_OK;\n{done}{cleanup}    return status;\n}}\n"


def emit(ops: list[Op]) -> str:
    """The text of grad.gen.c: every rule and every composite."""
    table = {op.name: op for op in ops}
    headers = ["autograd/fused.h", "autograd/grad_ops.h", "kernels/elementwise.h", "runtime/frame.h", "params.gen.h", "flambeau/ops.gen.h"]
    out = [NOTE, *(f'#include "{h}"' for h in headers), "#include <math.h>\n"]
    for op in ops:
        if op.get("composite") is not None:
            out.append(compile_composite(op, table))
        if op.get("grad") is not None:
            out.append(compile_rule(op, table))
    return "\n".join(out)


def emit_kernels(ops: list[Op]) -> str:
    """The text of kernels/fused.gen.c: the loops that grad.gen.c calls."""
    table = {op.name: op for op in ops}
    loops: list[fused.Fused] = []
    for op in ops:
        if op.get("grad") is not None:
            compile_rule(op, table, loops)
    return fused.kernels(loops)
