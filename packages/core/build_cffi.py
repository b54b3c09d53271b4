"""Writes the C source of ``flambeau._fb`` from the generated and the handwritten declarations.

Run by CMake: ``python build_cffi.py --native native --gen <build>/gen --out _fb.c``.
"""

import argparse
from pathlib import Path

import cffi

# cffi would release the GIL around every call. Taking it back costs more than a small operator, and with another busy
# Python thread it costs a thread switch, so the entries keep it; the core releases it itself around long work, through
# the hooks that module.c sets. Redefined last, so that module.c can still use Python's own macros.
KEEP_GIL = """
#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }
"""


def write_source(native: Path, gen: Path, out: Path) -> None:
    cdefs = [path for path in (native / "python" / "cdef.h", native / "python" / "autograd_cdef.h", gen / "cdef.gen.h") if path.exists()]
    sources = [path for path in (native / "python" / "module.c", native / "python" / "autograd.c", gen / "pybind.gen.c") if path.exists()]
    ffi = cffi.FFI()
    for path in cdefs:
        ffi.cdef(path.read_text())
    ffi.set_source("flambeau._fb", "".join(f'#include "{path}"\n' for path in sources) + KEEP_GIL)
    ffi.emit_c_code(str(out))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--native", "--gen", "--out"):
        parser.add_argument(name, type=Path, required=True)
    arguments = parser.parse_args()
    write_source(arguments.native, arguments.gen, arguments.out)
