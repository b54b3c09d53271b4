"""Turns the operator table into code: python main.py --ops native/ops --out BUILD/gen [--python PACKAGE/_gen]."""
from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import derive  # noqa: E402
import emit_c  # noqa: E402
import emit_docs  # noqa: E402
import emit_python  # noqa: E402
import model  # noqa: E402


def write(path: pathlib.Path, text: str) -> None:
    """Writes only what changed, so that an incremental build stays incremental."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--ops", type=pathlib.Path, required=True, help="folder of the operator table")
    p.add_argument("--out", type=pathlib.Path, help="folder for generated C")
    p.add_argument("--python", type=pathlib.Path, help="folder for generated Python")
    p.add_argument("--docs", type=pathlib.Path, help="folder for the operator reference")
    a = p.parse_args()
    try:
        ops = model.load(a.ops)
        if a.out:
            write(a.out / "params.gen.h", emit_c.params_header(ops))
            write(a.out / "flambeau" / "ops.gen.h", emit_c.public_header(ops))
            write(a.out / "table.gen.c", emit_c.table(ops))
            write(a.out / "grad.gen.c", derive.emit(ops))
            write(a.out / "kernels" / "fused.gen.c", derive.emit_kernels(ops))
            write(a.out / "pybind.gen.c", emit_c.binding(ops))
            write(a.out / "cdef.gen.h", emit_c.cdef(ops))
        if a.python:
            for name, text in emit_python.modules(ops).items():
                write(a.python / name, text)
        if a.docs:
            write(a.docs / "operators.md", emit_docs.reference(ops))
    except model.TableError as e:
        print(f"opgen: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
