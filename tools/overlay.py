"""Unpacks wheels into ``build/overlay``: one folder with all of flambeau, for type checkers.

Type checkers don't run ``pkgutil.extend_path``: over the sources they would find core's part of the package alone.
"""

import shutil
import sys
import zipfile

from workspace import ROOT

OVERLAY = ROOT / "build" / "overlay"


def unpack(wheels: list[str]) -> None:
    shutil.rmtree(OVERLAY, ignore_errors=True)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            texts = [name for name in archive.namelist() if name.endswith((".py", ".pyi", ".typed"))]
            archive.extractall(OVERLAY, texts)


if __name__ == "__main__":
    unpack(sys.argv[1:])
