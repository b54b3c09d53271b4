"""One environment for working on all packages: ``python tools/dev.py``, then use ``.venv-dev/bin/python``.

The first run makes ``.venv-dev`` with every package installed editable and the tools beside them. Each run after it
builds what changed in ``native/`` or ``tools/opgen/`` (seconds) and puts the module and the generated Python files
into ``packages/core/src/flambeau``. It fails with the compiler's message, and the last good build stays in place.
"""

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import time
import venv

from workspace import LINTERS, ROOT, config, folders, names, third_party

VENV = ROOT / ".venv-dev"
PYTHON = VENV / "bin" / "python"
TOOLS = ["pytest>=8", "hypothesis", "editables", "nox", "build", *LINTERS]


def requirements() -> list[str]:
    """What all packages need from the index, for building, running and testing."""
    builds = [item for name in names() for item in config(name)["build-system"]["requires"]]
    return sorted({*TOOLS, *builds, *third_party(*names(), tests=True)})


def prepare() -> None:
    """Makes the environment, or brings it up to date where the packages or their requirements changed."""
    wanted = requirements()
    described = [(path.name, (path / "pyproject.toml").read_text()) for path in folders()]
    stamp, digest = VENV / "flambeau-stamp", hashlib.sha256(repr((wanted, described)).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    if not PYTHON.exists():
        print(f"making {VENV.name}", flush=True)
        venv.create(VENV, with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    editable = [argument for path in folders() for argument in ("-e", str(path))]
    environment = {**os.environ, "FLAMBEAU_NATIVE": "skip"}
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", *editable], check=True, env=environment)
    stamp.write_text(digest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("--fresh", action="store_true", help="configure the C build from nothing")
    arguments = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    start = time.monotonic()
    with open(ROOT / "build" / "dev.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is running: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        prepare()
        command = [PYTHON, ROOT / "packages/core/build_core.py", "--build-dir", ROOT / "build/dev"]
        command += ["--jobs", str(arguments.jobs), *(["--fresh"] if arguments.fresh else [])]
        status = subprocess.run(command).returncode
    print(f"{'built' if status == 0 else 'FAILED'} in {time.monotonic() - start:.1f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
