"""The compiler of derivative expressions: what it saves, what it rejects, and the C that it writes."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

OPGEN = pathlib.Path(__file__).parents[1]
ROOT = OPGEN.parents[1]
sys.path.insert(0, str(OPGEN))

import derive  # noqa: E402
import model  # noqa: E402

ADD = {"sig": "(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor"}
BASE = {
    "add": ADD,
    "sub": ADD,
    "mul": {"sig": "(self: Tensor, other: Tensor) -> Tensor"},
    "div": {"sig": "(self: Tensor, other: Tensor) -> Tensor"},
    "pow": {"sig": "(self: Tensor, exponent: Tensor) -> Tensor"},
    "neg": {"sig": "(self: Tensor) -> Tensor"},
    "gt": {"sig": "(self: Tensor, other: Tensor) -> Tensor"},
    "conj": {"sig": "(self: Tensor) -> Tensor"},
    "exp": {"sig": "(self: Tensor) -> Tensor"},
    "sum": {"sig": "(self: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor"},
    "reshape": {"sig": "(self: Tensor, shape: int[]) -> Tensor"},
    "split_sizes": {"sig": "(self: Tensor, sizes: int[], dim: int = 0) -> Tensor[]"},
    "two": {"sig": "(self: Tensor, other: Tensor?, both: bool) -> (Tensor a, Tensor b)"},
}


def op_of(name, entry):
    entry = {"flags": "", **entry}
    args, types, names = model.parse_signature(name, entry["sig"], f"[{name}]")
    entry["flags"] = entry["flags"].split()
    return model.Op(name, "test.toml", entry["sig"], args, types, names, entry)


def table(**more):
    return {name: op_of(name, entry) for name, entry in {**BASE, **more}.items()}


def rule(entry):
    ops = table(f=entry)
    return derive.compile_rule(ops["f"], ops)


def saves(text):
    """{name: (kinds, bits)} of the emitted rule."""
    found = re.search(r"saves_f\[\] = \{(.*)\};", text)
    rows = re.findall(r'\{"(\w+)", \d+, ([A-Z_ |]+), (0x\w+)\}', found[1] if found else "")
    return {name: (set(kinds.replace("FB_SAVE_", "").split(" | ")), int(bits, 16)) for name, kinds, bits in rows}


UNARY, BINARY = "(self: Tensor) -> Tensor", "(self: Tensor, other: Tensor) -> Tensor"


@pytest.mark.parametrize(
    ("sig", "grad", "kept"),
    [
        (UNARY, {"self": "grad"}, {}),
        (UNARY, {"self": "grad * self"}, {"self": ({"DATA"}, 1)}),
        (UNARY, {"self": "grad * result"}, {"result": ({"DATA", "RESULT"}, 1)}),
        (UNARY, {"self": "grad.reshape(shape(self))"}, {"self": ({"SHAPE"}, 0)}),
        (UNARY, {"self": "grad.reshape(self.shape)"}, {"self": ({"SHAPE"}, 0)}),
        (UNARY, {"self": "grad / numel(self)"}, {"self": ({"SHAPE"}, 0)}),
        (UNARY, {"self": "grad.reshape(shape(result))"}, {}),
        (UNARY, {"self": "grad / strides(self)[0]"}, {"self": ({"SHAPE", "STRIDES"}, 0)}),
        (BINARY, {"self": "grad * other", "other": "grad * self"}, {"self": ({"DATA"}, 2), "other": ({"DATA"}, 1)}),
        (BINARY, {"self": "grad / other", "other": "-grad * result / other"}, {"other": ({"DATA"}, 3), "result": ({"DATA", "RESULT"}, 2)}),
        ("(self: Tensor, w: Tensor?) -> Tensor", {"self": "grad * w if w is not None else grad"}, {"w": ({"DATA", "SHAPE"}, 1)}),
        ("(ts: Tensor[]) -> Tensor", {"ts": "split_sizes(grad, [len(ts), 2])"}, {"ts": ({"DATA", "LIST"}, 1)}),
    ],
)
def test_a_rule_saves_only_what_its_expressions_read(sig, grad, kept):
    assert saves(rule({"sig": sig, "grad": grad})) == kept


@pytest.mark.parametrize(
    ("sig", "grad", "message"),
    [
        (UNARY, {"self": "grad * nothing"}, "the name 'nothing' is neither an input"),
        (UNARY, {"self": "nothing(grad)"}, "there is no operator 'nothing' in the table"),
        (UNARY, {"self": "grad.sum(dims=1)"}, "sum\\(\\) has no argument 'dims'"),
        (UNARY, {"self": "grad.sum(1, True, 2)"}, "sum\\(\\) takes 3 arguments, not 4"),
        (UNARY, {"self": "grad.reshape()"}, "reshape\\(\\) misses its argument 'shape'"),
        (UNARY, {"self": "grad if self > 0 else -grad"}, "a condition is over parameters, shapes and dtypes, never over data"),
        (UNARY, {"self": "grad.reshape('a')"}, "shape takes int\\[\\], not str"),
        (UNARY, {"self": "grad if"}, "cannot read"),
        (UNARY, {"self": "lambda x: x"}, "is not part of the expression language"),
        (UNARY, {"self": "3 if 1 > 0 else 'a'"}, "the branches of"),
        (UNARY, {"self": "shape(self)"}, "the gradient of self is expected, not ints"),
        (UNARY, {"self": "(grad, grad)"}, "2 gradients for 1 inputs"),
        (UNARY, {"other": "grad"}, "grad names 'other', which is not a tensor argument"),
        (UNARY, {}, "grad has no input"),
        ("(self: Tensor, w: Tensor?) -> Tensor", {"self": "grad * w"}, "w may be absent: guard it"),
        ("(self: Tensor) -> (Tensor a, Tensor b)", {"self": "result9"}, "the name 'result9'"),
    ],
)
def test_a_wrong_entry_is_named_with_what_is_wrong(sig, grad, message):
    with pytest.raises(model.TableError, match=message) as caught:
        rule({"sig": sig, "grad": grad})
    assert str(caught.value).startswith("test.toml: [f]: ")


def test_saving_what_no_formula_uses_is_rejected():
    entry = {"sig": "(self: Tensor) -> (Tensor a, Tensor mean)", "save": ["mean"], "grad": {"self": "grads[0]"}}
    with pytest.raises(model.TableError, match="save names 'mean', which no derivative uses"):
        rule(entry)


def test_internal_results_are_saved_and_get_no_gradient():
    text = rule({"sig": "(self: Tensor) -> (Tensor a, Tensor mean)", "save": ["mean"], "grad": {"self": "grad * mean"}})
    assert saves(text) == {"mean": ({"DATA", "RESULT"}, 1)}
    assert ".n_results = 1" in text


def test_results_may_be_left_without_history():
    text = rule({"sig": "(self: Tensor) -> (Tensor a, Tensor b)", "grad": {"results": 1, "self": "grad * result1"}})
    assert ".n_results = 1" in text
    assert saves(text) == {"result1": ({"DATA", "RESULT"}, 1)}


def test_an_undefined_gradient_skips_what_needs_it():
    text = rule({"sig": "(self: Tensor) -> (Tensor a, Tensor b)", "grad": {"self": "grads[0] * 2 + grads[1]"}})
    assert re.search(r"if \(grads\[0\] && !\(t\d+ = fb_mul\(grads\[0\]", text)
    assert "fb_plus(" in text
    zeros = rule({"sig": "(self: Tensor) -> (Tensor a, Tensor b)", "grad": {"zeros": True, "self": "grads[0] * 2 + grads[1]"}})
    assert "FB_G_ZEROS" in zeros
    assert "fb_plus(" not in zeros


def test_one_call_may_give_several_gradients():
    text = rule({"sig": "(x: Tensor, w: Tensor?) -> Tensor", "grad": {"x, w": "two(grad, w, needs(x))"}})
    assert "fb_two(grads[0], v_w, (needs >> 0 & 1), &t1, &t2)" in text
    assert "grad_inputs[0] = fb_retain(t1)" in text
    assert "grad_inputs[1] = fb_retain(t2)" in text


def test_constants_are_folded():
    text = rule({"sig": UNARY, "grad": {"self": "grad * (2 / math.sqrt(math.pi))"}})
    assert "fb_float(1.1283791670955126)" in text


def test_names_are_those_of_pytorch():
    cases = {"add": "AddBackward0", "log_softmax": "LogSoftmaxBackward0", "_softmax": "SoftmaxBackward0", "log1p": "Log1PBackward0"}
    assert {n: derive.backward_name(op_of(n, BASE["neg"])) for n in cases} == cases


def test_composites_are_functions_of_frames():
    entry = {
        "sig": "(self: Tensor, dims: int[]? = None, scale: float = 1.0) -> Tensor",
        "composite": "e = self.exp()\ne / e.sum(dims, True) * scale",
    }
    ops = table(f=entry)
    text = derive.compile_composite(ops["f"], ops)
    assert "fb_exp(f->in[0])" in text
    assert "fb_sum(t1, p->dims, true)" in text
    assert "fb_give(f, 0" in text


@pytest.mark.parametrize(
    ("grad", "element"),
    [
        ("grad * (1 - result * result)", "((T)(a0 * ((T)((T)1.0 - ((T)(a1 * a1))))))"),
        ("-grad * exp(self).conj()", "((T)((-a0) * fbm_exp(a1)))"),
        ("grad * self * (p / 2)", "((T)(((T)(a0 * a1)) * s0))"),
        ("grad * self", None),
        ("grad * self.sum()", None),
        ("grad * self if self.ndim > 1 else grad / self / self", None),
        ("grad.reshape(shape(self)) * 2 + 1", None),
    ],
)
def test_elementwise_arithmetic_becomes_one_loop(grad, element):
    ops = table(f={"sig": "(self: Tensor, p: float = 1.0) -> Tensor", "grad": {"self": grad}})
    loops = []
    text = derive.compile_rule(ops["f"], ops, loops)
    assert [loop.element for loop in loops] == ([element] if element else [])
    assert ("fb_fused_run(fb_fused_f_self[fb_isa()]" in text) == bool(element)


GRADS = [
    (UNARY, {"self": "grad * (self ** 2) if self.ndim > 1 and numel(self) == 3 else grad.reshape(shape(self)[:-1] + [1, size(self, 0)])"}),
    ("(self: Tensor, p: Scalar, q: int?, r: int[], s: str) -> Tensor",
     {"self": "grad * p ** 2 - (p - 1) if q is not None and s == 'mean' else grad * (r[0] + min(r[1], 3)) if r[0] in (1, 2) else grad * len(r)"}),
    ("(ts: Tensor[], w: Tensor, us: Tensor[]) -> Tensor", {"ts": "split_sizes(grad, [1, 2])", "w": "grad * ts[0]", "us": "[w, w * ts[1]]"}),
    ("(self: Tensor) -> Tensor[]", {"self": "grads[0] * 2"}),
]  # fmt: skip


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_is_written_compiles_without_warnings(tmp_path):
    import emit_c

    entries = {f"f{i}": {"sig": sig, "grad": grad} for i, (sig, grad) in enumerate(GRADS)}
    needed = {"clone": "(self: Tensor, *, memory_format: int? = None) -> Tensor"}
    ops = list(table(**entries, **{n: {"sig": s} for n, s in needed.items()}).values())
    (tmp_path / "flambeau").mkdir()
    (tmp_path / "params.gen.h").write_text(emit_c.params_header(ops))
    (tmp_path / "flambeau" / "ops.gen.h").write_text(emit_c.public_header(ops))
    (tmp_path / "grad.c").write_text(derive.emit(ops))
    native = ROOT / "native"
    run = subprocess.run(
        ["cc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{native}/include", f"-I{native}/src", f"-I{tmp_path}",
         str(tmp_path / "grad.c")], capture_output=True, text=True)  # fmt: skip
    assert run.returncode == 0, run.stderr
