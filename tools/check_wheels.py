"""Checks the wheels and sdists that are about to be published: ``python tools/check_wheels.py PATH.whl ...``.

The sdist is expected beside its wheel. Each check is for a fault that builds, installs and imports without a word.
"""

import argparse
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

BINARY = (".so", ".a", ".o", ".dylib", ".dll", ".pyd", ".pyc")
# Megabytes, compressed. Core: OpenBLAS takes 8 of them, the kernels may take 3.
BUDGET = {"flambeau_core": 12.0}
DEFAULT_BUDGET = 1.0
# Files that core alone may ship: with another distribution's copy installed later, core's would be replaced silently.
CORE_ONLY = ("flambeau/__init__.py", "flambeau/utils/__init__.py")


def distribution(path: Path) -> str:
    return path.name.split("-")[0]


def faults_of_wheel(wheel: Path) -> Iterator[str]:
    name, size = distribution(wheel), wheel.stat().st_size / 1e6
    budget = BUDGET.get(name, DEFAULT_BUDGET)
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    if size > budget:
        yield f"takes {size:.2f} MB, more than its budget of {budget} MB"
    if "linux_" in wheel.name and "manylinux" not in wheel.name:
        yield "carries a linux tag, which no index accepts"
    if not any(".dist-info/" in file and Path(file).name.startswith("LICENSE") for file in files):
        yield "has no LICENSE in its dist-info"
    for file in files:
        if ".." in Path(file).parts or file.startswith("/"):
            yield f"has the path {file}"
        if not file.startswith(("flambeau/", f"{name}-")):
            yield f"puts {file} outside of flambeau/"
        if name != "flambeau_core" and file in CORE_ONLY:
            yield f"ships {file}, which belongs to flambeau-core"
        if name != "flambeau_core" and file.endswith(BINARY):
            yield f"is said to be pure Python and holds {file}"
    if name == "flambeau_core":
        for needed in ("flambeau/__init__.py", "flambeau/_fb.abi3.so", "flambeau/_libs/LICENSE.openblas.txt"):
            if needed not in files:
                yield f"lacks {needed}"


def faults_of_sdist(sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    for member in members:
        if member.name.endswith(BINARY) or "/_gen/" in member.name or ".gen." in member.name:
            yield f"holds {member.name}, which the build makes"
        if member.issym() or member.islnk():
            yield f"holds the link {member.name}"
    if not any(Path(member.name).name == "LICENSE" for member in members):
        yield "has no LICENSE"


def check(wheels: list[Path]) -> list[str]:
    """All faults, as lines to print."""
    faults, owners = [], {}
    for wheel in wheels:
        sdists = list(wheel.parent.glob("*.tar.gz"))
        faults += [f"{wheel.name} {fault}" for fault in faults_of_wheel(wheel)]
        faults += [f"{path.name} {fault}" for path in sdists for fault in faults_of_sdist(path)]
        if not sdists:
            faults.append(f"{wheel.name} has no sdist beside it")
        for file in zipfile.ZipFile(wheel).namelist():
            if file in owners:
                faults.append(f"{wheel.name} and {owners[file]} share {file}")
            owners[file] = wheel.name
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    wheels = parser.parse_args().wheels
    for wheel in wheels:
        print(f"{wheel.stat().st_size / 1e6:8.3f} MB  {wheel.name}")
    faults = check(wheels)
    print("\n".join(faults) or "all checks passed")
    sys.exit(bool(faults))
