"""The operator reference page, from the table."""
from __future__ import annotations

from model import Op


def reference(ops: list[Op]) -> str:
    out = ["# Operator reference", "", "Generated from `native/ops`. Forms: f function, m method, i in-place, o `out=`; ∂ has a derivative.", ""]
    for file in dict.fromkeys(op.file for op in ops):
        out += [f"## {file.removesuffix('.toml')}", ""]
        for op in ops:
            if op.file != file or not op.python_name:
                continue
            forms = "".join(v[0] for v in op.variants) + ("∂" if op.get("grad") else "")
            where = f"{op.get('module')}." if op.get("module") else ""
            out.append(f"### {where}{op.python_name}\n\n`{op.sig.strip()}` · {forms}\n\n{str(op.get('doc', '')).strip()}\n")
    return "\n".join(out)
