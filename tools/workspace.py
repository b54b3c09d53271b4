"""What the packages in this repository are and need; read from their pyproject.toml. Standard library only."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# Pinned: a new release of one of them changes what it complains about.
LINTERS = ["ruff==0.17.6", "mypy==2.4.1", "clang-format==19.1.7"]


def folders(root: Path = ROOT) -> list[Path]:
    """The folders of the packages, core first."""
    found = (path.parent for path in (root / "packages").glob("*/pyproject.toml"))
    return sorted(found, key=lambda path: (path.name != "core", path.name))


def names(root: Path = ROOT) -> list[str]:
    return [folder.name for folder in folders(root)]


def version(name: str, root: Path = ROOT) -> str:
    """The version that the package's sources have now."""
    table = config(name, root)
    if "version" in table["project"]:
        return table["project"]["version"]
    text = (root / "packages" / name / table["tool"]["hatch"]["version"]["path"]).read_text()
    return re.search(r'__version__ = "([^"]+)"', text)[1]  # type: ignore[index]


def config(name: str, root: Path = ROOT) -> dict[str, Any]:
    return tomllib.loads((root / "packages" / name / "pyproject.toml").read_text())


def _folder_of(requirement: str) -> str | None:
    """The folder of a requirement on one of our own distributions, None for another's."""
    distribution = re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")  # type: ignore[index]
    return next((name for name in names() if config(name)["project"]["name"] == distribution), None)


def _requirements(name: str, tests: bool) -> list[str]:
    table = config(name)
    group = table.get("dependency-groups", {}).get("test", []) if tests else []
    return table["project"].get("dependencies", []) + group


def closure(*wanted: str, tests: bool = False) -> list[str]:
    """These packages and ours that they depend on, and with ``tests`` those that their tests do; core first."""
    found: set[str] = set()
    pending = [(name, tests) for name in wanted]
    while pending:
        name, with_tests = pending.pop()
        found.add(name)
        needed = {_folder_of(item) for item in _requirements(name, with_tests)} - found
        pending += [(item, False) for item in needed if item]
    return [name for name in names() if name in found]


def third_party(*wanted: str, tests: bool = False) -> list[str]:
    """What the closure of these packages needs from the index; with ``tests``, what the named ones' tests need too."""
    found = {item for name in closure(*wanted, tests=tests) for item in _requirements(name, tests and name in wanted)}
    return sorted(item for item in found if not _folder_of(item))
