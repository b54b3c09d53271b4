"""Each README's examples run as they stand, in one piece."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
READMES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("path", READMES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = CODE.findall(path.read_text())
    if path != ROOT / "packages" / "flambeau" / "README.md":
        assert blocks, f"{path} has no example"
    names: dict = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)
