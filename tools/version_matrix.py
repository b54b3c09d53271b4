"""Tests each package against the oldest core that it admits: ``python tools/version_matrix.py [PACKAGE ...]``.

The oldest version is built from the commit that introduced it, once (cached by commit under ``build/oldest``). While
the oldest version that is admitted is the present one there is nothing to compare, and that is said. A shallow clone
doesn't reach the commit: skipped, loudly.
"""

import argparse
import io
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import wheels
from workspace import ROOT, closure, config, names, third_party, version

OLDEST = ROOT / "build" / "oldest"
VERSION_FILE = "packages/core/src/flambeau/_version.py"


def oldest_admitted(package: str) -> str | None:
    """The lower bound of the package's range for core, None where it doesn't depend on core."""
    for requirement in config(package)["project"].get("dependencies", []):
        if found := re.match(r"flambeau-core\s*>=\s*([0-9.]+)", requirement):
            return found[1]
    return None


def same(first: str, second: str) -> bool:
    """Whether two versions are equal once trailing zeros are dropped: 0.1 and 0.1.0."""
    return re.sub(r"(\.0)+$", "", first) == re.sub(r"(\.0)+$", "", second)


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


def commit_of(wanted: str) -> str | None:
    """The commit that gave core this version."""
    candidates = {wanted, f"{wanted}.0"}
    for commit in git("log", "--reverse", "--format=%H", "--", VERSION_FILE).decode().split():
        text = git("show", f"{commit}:{VERSION_FILE}").decode()
        if any(f'"{candidate}"' in text for candidate in candidates):
            return commit
    return None


def core_wheel(commit: str) -> Path:
    """Core's wheel as that commit builds it."""
    tree = OLDEST / commit
    if not tree.exists():
        partial = OLDEST / f"{commit}.partial"
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
            archive.extractall(partial, filter="data")
        partial.rename(tree)
    return wheels.build("core", root=tree, cache=OLDEST / "wheels")


def test_against(package: str, core: Path) -> int:
    """Runs the package's tests with this core in a fresh environment; returns pytest's exit status."""
    folder = OLDEST / f"venv-{package}"
    venv.create(folder, with_pip=True, clear=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    needed = closure(package, tests=True)
    own = [core, *(wheels.build(name) for name in needed if name != "core")]
    subprocess.run([*pip, *third_party(package, tests=True)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-index", *map(str, own)], check=True)
    return subprocess.run([python, "-m", "pytest", "-q", f"packages/{package}/tests"], cwd=ROOT).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=names())
    failed = []
    for package in parser.parse_args().packages:
        oldest, newest = oldest_admitted(package), version("core")
        if oldest is None:
            continue
        if same(oldest, newest):
            print(f"{package}: oldest == newest (core {newest})")
            continue
        if git("rev-parse", "--is-shallow-repository").strip() == b"true":
            print(f"{package}: SKIPPED, NOT TESTED with core {oldest}: this clone is shallow")
            continue
        commit = commit_of(oldest)
        if commit is None:
            print(f"{package}: no commit gave core the version {oldest}, which its range admits")
            failed.append(package)
        elif (ROOT / "packages" / package / "tests").is_dir():
            print(f"{package}: core {oldest} of {commit[:10]}", flush=True)
            if test_against(package, core_wheel(commit)) not in (0, 5):
                failed.append(package)
    if failed:
        print(f"failed with the oldest core: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
