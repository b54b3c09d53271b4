"""Wheels of our packages, built once for each state of their sources: ``python tools/wheels.py core nn``.

Prints the wheels' paths, one a line. Each is built from its own sdist, so that a file which the sdist lacks is missed
every time and not on the day of a release. The results lie in ``build/wheels``, under a hash of what they were made
from: pip thinks that two wheels of one version are the same, we must not.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from workspace import ROOT, names

CACHE = ROOT / "build" / "wheels"
IGNORED = {"_gen", "_libs", "__pycache__", "build", "dist", ".pytest_cache", ".hypothesis", ".mypy_cache"}


def sources(root: Path, package: str) -> list[Path]:
    """The files that a package's sdist is made from."""
    tops = [root / "packages" / package]
    if package == "core":
        tops += [root / "native", root / "tools" / "opgen"]
    found = []
    for top in tops:
        for folder, subfolders, files in os.walk(top):
            subfolders[:] = [name for name in subfolders if name not in IGNORED]
            found += [Path(folder, name) for name in files if not name.endswith((".so", ".pyc"))]
    return sorted(found)


def fingerprint(root: Path, package: str) -> str:
    digest = hashlib.sha256(os.environ.get("FLAMBEAU_CMAKE_ARGS", "").encode())
    for path in sources(root, package):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _builder(cache: Path) -> Path:
    """An interpreter that has PyPI's ``build``: in a place of its own, so that no environment of ours needs it."""
    python = cache / "builder" / "bin" / "python"
    with open(cache / "builder.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists():
            partial = cache / "builder.partial"
            venv.create(partial, with_pip=True, clear=True)
            install = [partial / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "build"]
            subprocess.run(install, check=True)
            partial.rename(cache / "builder")
    return python


def _hide_system_tools(folder: Path) -> str:
    """A PATH on which cmake and ninja fail, so that a build which leans on the system's is caught."""
    for name in ("cmake", "ninja", "ninja-build"):
        tool = folder / name
        complaint = f"the system {name} was used; it must come from build-system.requires"
        tool.write_text(f"#!/bin/sh\necho '{complaint}' >&2\nexit 99\n")
        tool.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def build(package: str, root: Path = ROOT, cache: Path = CACHE) -> Path:
    """The wheel of the package as its sources stand in ``root``; its sdist lies beside it."""
    target = cache / f"{package}-{fingerprint(root, package)}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{package}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            start = time.monotonic()
            with tempfile.TemporaryDirectory(dir=cache) as temporary:
                stubs, out = Path(temporary, "bin"), Path(temporary, "out")
                stubs.mkdir()
                environment = {**os.environ, "PATH": _hide_system_tools(stubs)}
                command = [str(_builder(cache)), "-m", "build", "--outdir", str(out), str(root / "packages" / package)]
                with open(Path(temporary, "log"), "w+") as log:
                    if subprocess.run(command, env=environment, stdout=log, stderr=log).returncode:
                        log.seek(0)
                        raise SystemExit(f"{log.read()}\nbuilding {package} failed")
                out.rename(target)
            print(f"built {package} in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
        # Earlier states of a package are of no more use; ten are kept for whoever switches between branches.
        kept = sorted(cache.glob(f"{package}-*"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-10]:
            if path != target:
                shutil.rmtree(path)
    (wheel,) = target.glob("*.whl")
    return wheel


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=names(), help="folders under packages/; all without any")
    for package in parser.parse_args().packages:
        print(build(package))
