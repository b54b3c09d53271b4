"""What a C file may not hold: ``python tools/check_c.py``. Tabs, spaces at a line's end, lines that don't fit.

Not clang-format: it takes tables of macros and aligned declarations apart, which are what the kernels are made of.
`.clang-format` is there for editors, to format what one writes.
"""

import sys
from pathlib import Path

from workspace import ROOT

LONGEST = 150  # 110 is what is aimed at; a row of a table may run on


def faults(path: Path) -> list[str]:
    found = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        where = f"{path.relative_to(ROOT)}:{number}: "
        if "\t" in line:
            found.append(where + "a tab")
        if line != line.rstrip():
            found.append(where + "spaces at the end")
        if len(line) > LONGEST:
            found.append(where + f"{len(line)} columns, more than {LONGEST}")
    return found


if __name__ == "__main__":
    files = [path for top in ("native", "integration_tests") for path in sorted((ROOT / top).rglob("*.[ch]"))]
    lines = [line for path in files for line in faults(path)]
    print("\n".join(lines) or f"{len(files)} C files: no faults")
    sys.exit(bool(lines))
