"""C from the table: parameter structs, typed functions, operator rows, and the entries that Python calls."""
from __future__ import annotations

from model import DTYPE_SETS, FLAGS, Arg, Op

NOTE = "/* Written by tools/opgen from native/ops. */\n"
RESERVED = {"int", "float", "double", "default", "register", "long", "short", "char", "signed", "unsigned", "bool"}


def c_name(arg: Arg) -> str:
    return arg.name + "_" if arg.name in RESERVED else arg.name


def params_header(ops: list[Op]) -> str:
    out = [NOTE, "#ifndef FB_PARAMS_GEN_H\n#define FB_PARAMS_GEN_H\n#include \"runtime/core.h\"\n"]
    for op in ops:
        fields = [f"int64_t n_{c_name(a)};" for a in op.args if a.is_list]
        fields += [f"{a.ctype} {c_name(a)};" for a in op.params]
        out.append(f"struct fb_p_{op.name} {{ {' '.join(fields) or 'char none;'} }};")
    out += [f"extern const fb_op fb_op_{op.name};" for op in ops]
    out.append("#endif\n")
    return "\n".join(out)


def c_args(op: Op) -> list[str]:
    """The typed function's arguments, in the signature's order."""
    args = []
    for a in op.args:
        n = c_name(a)
        if a.is_list:
            args.append(f"int64_t n_{n}, fb_tensor *const *{n}")
        elif a.is_tensor:
            args.append(f"fb_tensor *{n}")
        else:
            args.append(f"{a.ctype} {n}" if not a.ctype.endswith("*") else f"{a.ctype}{n}")
    return args


def pass_args(op: Op) -> list[str]:
    return [f"n_{c_name(a)}, {c_name(a)}" if a.is_list else c_name(a) for a in op.args]


def results(op: Op) -> list[str]:
    return [f"r{i}" for i in range(len(op.returns))]


def prototypes(op: Op) -> tuple[str, str]:
    """(plain, with presets): the declarations of the typed functions."""
    args = c_args(op)
    if op.returns_list:
        proto = f"fb_status fb_{op.name}({', '.join(args + ['int64_t *n', 'fb_tensor ***outs'])})"
        return proto, ""
    if len(op.returns) == 1:
        plain = f"fb_tensor *fb_{op.name}({', '.join(args) or 'void'})"
        if op.inplace_only:
            return plain, ""
        return plain, f"fb_tensor *fb_{op.name}_out({', '.join(args + ['fb_tensor *out'])})"
    outs = [f"fb_tensor **{r}" for r in results(op)]
    presets = [f"fb_tensor *o{i}" for i in range(len(op.returns))]
    return (f"fb_status fb_{op.name}({', '.join(args + outs)})",
            f"fb_status fb_{op.name}_out({', '.join(args + presets + outs)})")


def public_header(ops: list[Op]) -> str:
    out = [NOTE, "#ifndef FLAMBEAU_OPS_GEN_H\n#define FLAMBEAU_OPS_GEN_H\n#include \"flambeau/flambeau.h\"\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"]
    for op in ops:
        plain, preset = prototypes(op)
        doc = str(op.get("doc", "")).split("\n")[0].replace("*/", "* /")
        out.append(f"/* {op.sig.strip()}{'  ' + doc if doc else ''} */\nFB_API {plain};")
        if preset:
            out.append(f"FB_API {preset};")
    out.append("#ifdef __cplusplus\n}\n#endif\n#endif\n")
    return "\n".join(out)


def frame_setup(op: Op) -> str:
    """Statements that fill in[], params and the frame of a typed function."""
    fixed = [a for a in op.tensors if not a.is_list]
    lists = [a for a in op.tensors if a.is_list]
    s = []
    init = [f".n_{c_name(a)} = n_{c_name(a)}" for a in lists] + [f".{c_name(a)} = {c_name(a)}" for a in op.params]
    s.append(f"    const struct fb_p_{op.name} params_ = {{{', '.join(init) or '0'}}};")
    if lists:
        total = " + ".join([str(len(fixed))] + [f"n_{c_name(a)}" for a in lists])
        checks = " || ".join(f"n_{c_name(a)} < 0 || n_{c_name(a)} > INT32_MAX / 4" for a in lists)
        s.append(f"    if ({checks}) {{ fb_fail(FB_EVALUE, \"{op.name}: a list of tensors has a bad length\"); goto failed; }}")
        s.append(f"    total = {total};")
        s.append("    if (total > 16 && !(in = big = fb_alloc(total * (int64_t)sizeof *in))) goto failed;")
        s.append("    k = 0;")
        for a in op.tensors:
            n = c_name(a)
            if a.is_list:
                s.append(f"    for (int64_t j = 0; j < n_{n}; j++) in[k++] = {n}[j];")
            else:
                s.append(f"    in[k++] = {n};")
    else:
        s.append(f"    fb_tensor *in[{max(1, len(fixed))}] = {{{', '.join(c_name(a) for a in fixed) or 'NULL'}}};")
    return "\n".join(s)


def typed_function(op: Op) -> str:
    lists = any(a.is_list for a in op.tensors)
    n_in = "(int32_t)total" if lists else str(len(op.tensors))
    n_out = 0 if op.returns_list else len(op.returns)
    plain, preset = prototypes(op)
    fail = "NULL" if len(op.returns) == 1 and not op.returns_list else "FB_FAIL"
    head = (preset or plain) + "\n{"
    body = []
    if lists:
        body.append("    fb_tensor *small[16], **in = small, **big = NULL;\n    int64_t total, k;")
        body.append(f"    {'fb_tensor *result = NULL' if fail == 'NULL' else 'fb_status result = FB_FAIL'};")
    body.append(frame_setup(op))
    body.append(f"    fb_frame f = {{.op = &fb_op_{op.name}, .in = in, .params = &params_, .below = FB_L_ALL, .n_in = {n_in}, .n_out = {n_out}}};")
    body.append("    f.out = f.out_small;")
    if op.inplace_only:
        body.append(f"    f.out_small[0] = {c_name(op.tensors[0])};\n    f.flags = FB_F_IN_PLACE;")
    elif preset and len(op.returns) == 1:
        first = c_name(op.tensors[0]) if op.tensors and not op.tensors[0].is_list else None
        same = f"out == {first} ? FB_F_IN_PLACE : " if first else ""
        body.append(f"    if (out) {{ f.out_small[0] = out; f.flags = {same}FB_F_OUT_GIVEN; }}")
    elif preset:
        for i in range(len(op.returns)):
            body.append(f"    f.out_small[{i}] = o{i};")
        body.append("    if (o0) f.flags = FB_F_OUT_GIVEN;")
    if op.returns_list:
        call = "fb_run_list(&f, n, outs)"
    elif len(op.returns) == 1:
        call = "fb_run(&f)"
    else:
        body.append(f"    fb_tensor **const to[] = {{{', '.join(results(op))}}};")
        call = "fb_run_several(&f, to)"
    if lists:
        body.append(f"    result = {call};\nfailed:\n    fb_free(big);\n    return result;\n}}")
    else:
        body.append(f"    return {call};\n}}")
    text = head + "\n" + "\n".join(body) + "\n"
    if preset:  # the plain form calls the one with presets
        nulls = ", ".join(pass_args(op) + ["NULL"] * len(op.returns) + (results(op) if fail == "FB_FAIL" else []))
        text += f"{plain} {{ return fb_{op.name}_out({nulls}); }}\n"
    return text


def params_copy(op: Op) -> tuple[str, str, str]:
    """(definitions, copy function, free function); parameters without pointers need none but memcpy."""
    deep = [a for a in op.params if a.ctype in ("fb_ints", "fb_floats", "const char *", "fb_generator *")]
    if not deep:
        return "", "NULL", "NULL"
    name = f"fb_p_{op.name}"
    free = [f"static void {name}_free(void *q)", "{", f"    struct {name} *p = q;"]
    copy = [f"static fb_status {name}_copy(void *q, const void *src)", "{", f"    struct {name} *p = q;",
            f"    *p = *(const struct {name} *)src;"]
    copy += [f"    p->{c_name(a)}{'.v' if a.ctype in ('fb_ints', 'fb_floats') else ''} = NULL;" for a in deep]
    copy.append(f"    const struct {name} *s = src;")
    for a in deep:
        n = c_name(a)
        if a.ctype in ("fb_ints", "fb_floats"):
            copy.append(f"    if (s->{n}.v && s->{n}.n > 0 && !(p->{n}.v = fb_copy_bytes(s->{n}.v, s->{n}.n * 8))) goto failed;")
            free.append(f"    fb_free((void *)p->{n}.v);")
        elif a.ctype == "const char *":
            copy.append(f"    if (s->{n} && !(p->{n} = fb_copy_bytes(s->{n}, (int64_t)strlen(s->{n}) + 1))) goto failed;")
            free.append(f"    fb_free((void *)p->{n});")
        else:
            copy.append(f"    if (s->{n}) p->{n} = fb_generator_retain(s->{n});")
            free.append(f"    fb_generator_release(p->{n});")
    fails = "failed:\n    " + f"{name}_free(p);\n    return FB_FAIL;\n" if any("goto" in c for c in copy) else ""
    text = "\n".join(free) + "\n}\n" + "\n".join(copy) + "\n    return FB_OK;\n" + fails + "}\n"
    return text, f"{name}_copy", f"{name}_free"


def dtype_bits(op: Op) -> str:
    words = str(op.get("dtypes", "")).split()
    if not words:
        return "0"
    bits = []
    for w in words:
        if w not in DTYPE_SETS:
            op.fail(f"dtypes has the unknown word {w!r}; known are {sorted(DTYPE_SETS)}")
        bits += DTYPE_SETS[w]
    return " | ".join(f"FB_BIT(FB_{b})" for b in dict.fromkeys(bits))


def row(op: Op) -> str:
    """The definition of fb_op_<name>, and what it refers to."""
    text, decl = "", []
    family, kernel, infer, fam = op.get("family"), op.get("kernel"), op.get("infer"), "NULL"
    flags = [FLAGS[f] for f in op.get("flags", [])]
    if op.inplace_only and "FB_OP_DIRECT_OUT" not in flags:
        flags.append("FB_OP_DIRECT_OUT")
    if family == "elementwise":
        n = len(op.tensors)
        slots = op.get("slots", "c" * n + "->c").replace(" ", "")
        ins, outs = slots.split("->")
        if len(ins) != n or len(outs) != len(op.returns):
            op.fail(f"slots={slots!r} does not name {n} inputs and {len(op.returns)} outputs")
        body = op.get("kernel") or f"fb_bodies_{op.name}"
        decl.append(f"FB_DECLARE_BODIES({body})")
        rule = op.get("rule", "promote").upper()
        text += (f"static const fb_ew fb_ew_{op.name} = {{{len(outs)}, {len(ins)}, FB_RULE_{rule}, \"{outs}{ins}\", "
                 f"FB_ISA_LIST({body})}};\n")
        infer, kernels, fam = infer or "fb_ew_infer", "{fb_ew_kernel, fb_ew_kernel, fb_ew_kernel}", f"&fb_ew_{op.name}"
        flags.append("FB_OP_DIRECT_OUT")
    elif family == "reduce":
        decl.append(f"extern const fb_reduce fb_reduce_{op.get('reduce', op.name)};")
        fam = f"&fb_reduce_{op.get('reduce', op.name)}"
        infer, kernels = infer or "fb_reduce_infer", "{fb_reduce_kernel, fb_reduce_kernel, fb_reduce_kernel}"
    elif family is not None:
        op.fail(f"family={family!r} is not elementwise or reduce")
    elif op.get("composite") is not None:
        k = op.get("composite") if op.handwritten else f"fb_composite_{op.name}"
        infer = "NULL"
        decl.append(f"fb_status {k}(fb_frame *);")
        kernels = f"{{{k}, {k}, {k}}}"
        flags.append("FB_OP_COMPOSITE")
    else:
        view = "view" in op.get("flags", [])
        if not (kernel or view) or (not infer and not op.inplace_only):
            op.fail("an entry without family or composite names its infer and kernel functions (a view: only infer)")
        if not kernel:
            kernels = "{NULL, NULL, NULL}"
        elif op.get("isa"):
            decl.append(f"FB_DECLARE_KERNEL({kernel})")
            kernels = f"FB_ISA_LIST({kernel})"
        else:
            decl.append(f"fb_status {kernel}(fb_frame *);")
            kernels = f"{{{kernel}, {kernel}, {kernel}}}"
    if infer and infer not in ("NULL", "fb_ew_infer", "fb_reduce_infer"):
        decl.append(f"fb_status {infer}(fb_frame *);")
    grad = "NULL"
    if op.get("grad") is not None:
        decl.append(f"extern const struct fb_grad_rule fb_grad_{op.name};")
        grad = f"&fb_grad_{op.name}"
    kinds = ", ".join("FB_ARG_LIST" if a.is_list else "FB_ARG_OPTIONAL" if a.type == "Tensor?" else "FB_ARG_TENSOR" for a in op.tensors)
    text += f"static const uint8_t fb_args_{op.name}[] = {{{kinds or '0'}}};\n"
    defs, copy, free = params_copy(op)
    text = "\n".join(decl) + "\n" + text + defs
    text += (f"const fb_op fb_op_{op.name} = {{.name = \"{op.name}\", .id = {op.index}, .version = 1, .n_args = {len(op.tensors)}, "
             f".n_results = {-1 if op.returns_list else len(op.returns)}, .args = fb_args_{op.name}, .flags = {' | '.join(flags) or '0'},\n"
             f"    .dtypes = {dtype_bits(op)}, .infer = {infer or 'NULL'}, .kernel = {kernels}, .family = {fam}, .grad = {grad},\n"
             f"    .params_size = sizeof(struct fb_p_{op.name}), .params_copy = {copy}, .params_free = {free}}};\n")
    return text


def table(ops: list[Op]) -> str:
    out = [NOTE, '#include "runtime/frame.h"\n#include "runtime/random.h"\n#include "kernels/elementwise.h"\n'
           + ('#include "kernels/reduce.h"\n' if any(op.get("family") == "reduce" for op in ops) else "") +
           '#include "autograd/autograd.h"\n#include "params.gen.h"\n#include "flambeau/ops.gen.h"\n']
    for op in ops:
        out.append(row(op))
        out.append(typed_function(op))
    out.append(f"const fb_op *const fb_ops[] = {{{', '.join('&fb_op_' + op.name for op in ops)}}};")
    out.append(f"const int fb_n_ops = {len(ops)};\n")
    return "\n".join(out)


# ---- what Python calls: one entry an operator; a preset output comes back borrowed, a new one owned ------------


def py_args(op: Op) -> list[str]:
    args = []
    for a in op.args:
        n = c_name(a)
        if a.is_list:
            args += [f"fb_tensor **{n}", f"int64_t n_{n}"]
        elif a.is_tensor:
            args.append(f"fb_tensor *{n}")
        elif a.ctype in ("fb_ints", "fb_floats"):
            args += [f"{'int64_t' if a.ctype == 'fb_ints' else 'double'} *{n}", f"int64_t n_{n}"]
        elif a.ctype == "fb_dtype":
            args.append(f"int {n}")
        else:
            args.append(f"{a.ctype} {n}" if not a.ctype.endswith("*") else f"{a.ctype}{n}")
    return args


def py_prototype(op: Op) -> str:
    args = py_args(op)
    if op.returns_list:
        return f"fb_list *fbp_{op.name}({', '.join(args)})"
    if len(op.returns) == 1:
        if not op.inplace_only:
            args.append("fb_tensor *out")
        return f"fb_tensor *fbp_{op.name}({', '.join(args)})"
    return f"fb_ret{len(op.returns)} fbp_{op.name}({', '.join(args + [f'fb_tensor *o{i}' for i in range(len(op.returns))])})"


TWINS = {"add": "fb_int(1)", "sub": "fb_int(1)", "mul": None, "div": None, "pow": None, "remainder": None, "floor_divide": None,
         "eq": None, "ne": None, "lt": None, "le": None, "gt": None, "ge": None}  # fmt: skip


def twins(ops: list[Op]) -> list[tuple[str, str]]:
    """(prototype, body) of the entries that take a Python float or int in place of the second tensor."""
    out = []
    for op in ops:
        if op.name not in TWINS:
            continue
        extra = f", {TWINS[op.name]}" if TWINS[op.name] else ""
        for suffix, ctype, make in (("d", "double", "fb_float"), ("i", "int64_t", "fb_int")):
            out.append((f"fb_tensor *fbp_{op.name}_{suffix}(fb_tensor *self, {ctype} other, fb_tensor *out)",
                        f"    fb_tensor *o = fb_wrapped({make}(other)), *r = o ? fb_{op.name}_out(self, o{extra}, out) : NULL;\n"
                        "    fb_release(o);\n    if (r && out) fb_release(r);\n    return r;"))
    return out


def binding(ops: list[Op]) -> str:
    out = [NOTE]
    for op in ops:
        call = []
        for a in op.args:
            n = c_name(a)
            if a.is_list:
                call.append(f"n_{n}, {n}")
            elif a.ctype in ("fb_ints", "fb_floats"):
                call.append(f"({a.ctype}){{n_{n}, {n}}}")
            elif a.ctype == "fb_dtype":
                call.append(f"(fb_dtype){n}")
            else:
                call.append(n)
        head = f"static {py_prototype(op)}\n{{\n"
        if op.returns_list:
            out.append(head + "    fb_list *l = &fb_list_of_thread;\n"
                       f"    return fb_{op.name}({', '.join(call + ['&l->n', '&l->t'])}) == FB_OK ? l : NULL;\n}}")
        elif len(op.returns) == 1:
            if op.inplace_only:
                out.append(head + f"    fb_tensor *r = fb_{op.name}({', '.join(call)});\n    if (r) fb_release(r);\n    return r;\n}}")
            else:
                out.append(head + f"    fb_tensor *r = fb_{op.name}_out({', '.join(call + ['out'])});\n"
                           "    if (r && out) fb_release(r);\n    return r;\n}")
        else:
            k = len(op.returns)
            presets = [f"o{i}" for i in range(k)]
            outs = [f"&r.t{i}" for i in range(k)]
            release = " ".join(f"fb_release(r.t{i});" for i in range(k))
            out.append(head + f"    fb_ret{k} r = {{0}};\n"
                       f"    if (fb_{op.name}_out({', '.join(call + presets + outs)}) != FB_OK) return (fb_ret{k}){{0}};\n"
                       f"    if (o0) {{ {release} }}\n    return r;\n}}")
    out += [f"static {proto}\n{{\n{body}\n}}" for proto, body in twins(ops)]
    return "\n".join(out) + "\n"


def cdef(ops: list[Op]) -> str:
    return "\n".join([py_prototype(op) + ";" for op in ops] + [proto + ";" for proto, _ in twins(ops)]) + "\n"
