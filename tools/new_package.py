"""Starts a package: ``python tools/new_package.py NAME [--import DOTTED.NAME] [--needs nn,data]``.

Writes ``packages/NAME`` with everything that the other packages have and one test that passes. What remains to be
written by hand: the row in docs/map.md, and the line in ``packages/flambeau/pyproject.toml``.
"""

import argparse
import re
import shutil
import sys
import textwrap
from pathlib import Path

from workspace import ROOT, config, names, version

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{distribution}"
version = "0.1.0"
description = "{description}"
readme = "README.md"
license = "BSD-3-Clause"
license-files = ["LICENSE*"]
authors = [{{ name = "Flambeau contributors" }}]
requires-python = ">=3.11"
dependencies = [{dependencies}]

[dependency-groups]
test = ["pytest>=8", "hypothesis>=6.100", "numpy>=1.26"]

[tool.hatch.build.targets.wheel]
packages = ["src/flambeau"]

[tool.hatch.build.targets.sdist]
include = ["src", "tests", "README.md", "CHANGELOG.md", "LICENSE"]
"""


def requirement(name: str, root: Path) -> str:
    """The range of versions of one of our packages that a new one starts with: the present minor version."""
    major, minor = map(int, version(name, root).split(".")[:2])
    return f"{config(name, root)['project']['name']}>={major}.{minor},<{major}.{minor + 1}"


def create(name: str, module: str, needs: list[str], root: Path = ROOT) -> Path:
    """Writes the package's folder and returns it. ``module`` is its import name below ``flambeau``."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise SystemExit(f"name={name!r} must be lower-case letters, digits and hyphens")
    unknown = [need for need in needs if need not in names(root)]
    if unknown:
        raise SystemExit(f"needs={','.join(unknown)}: no such package; there are {', '.join(names(root))}")
    folder = root / "packages" / name
    if folder.exists():
        raise SystemExit(f"{folder} exists")
    dotted = f"flambeau.{module}"
    files = {
        "pyproject.toml": PYPROJECT.format(
            distribution=f"flambeau-{name}",
            description=f"{dotted}, with PyTorch's interface, over Flambeau tensors",
            dependencies=", ".join(f'"{requirement(need, root)}"' for need in dict.fromkeys(["core", *needs])),
        ),
        "README.md": f"# flambeau-{name}\n\nWhat `torch.{module}` offers, under `{dotted}`.\n",
        "CHANGELOG.md": f"# Changelog of flambeau-{name}\n\n## 0.1.0 (unreleased)\n\n- First version.\n",
        f"src/{dotted.replace('.', '/')}/__init__.py": f'"""``{dotted}``."""\n',
        f"tests/test_{name.replace('-', '_')}.py": textwrap.dedent(f"""\
            import importlib


            def test_the_package_is_found_beside_core():
                assert importlib.import_module("{dotted}").__doc__
            """),
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    shutil.copy(root / "LICENSE", folder / "LICENSE")
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--import", dest="module", help="below flambeau, as utils.data; the package's name without it")
    parser.add_argument("--needs", default="", help="packages beside core, separated by commas")
    arguments = parser.parse_args()
    needs = [need for need in arguments.needs.split(",") if need]
    print(create(arguments.name, arguments.module or arguments.name.replace("-", "_"), needs).relative_to(ROOT))
    print("next: docs/map.md, packages/flambeau/pyproject.toml, python tools/dev.py", file=sys.stderr)
