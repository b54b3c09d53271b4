"""Hatch's build hook: compiles the core into the wheel. See build_core.py for how."""

import os
import re
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def platform_tag(files: list[Path]) -> str:
    """``manylinux_2_N_arch``, with N the newest glibc whose symbols the files ask for; elsewhere the plain platform."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if not platform.startswith("linux_"):
        return platform
    minors = [int(n) for path in files for n in re.findall(rb"\0GLIBC_2\.(\d+)", path.read_bytes())]
    return f"manylinux_2_{max([17, *minors])}_{platform.removeprefix('linux_')}"


class NativeBuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("FLAMBEAU_NATIVE") == "skip":
            return
        # hatchling loads this file by its path, so that its folder is not on sys.path.
        import sys

        sys.path.insert(0, self.root)
        import build_core

        if version == "editable":
            build_dir = build_core.source_tree() / "build" / "editable"
            build_core.place(build_core.build(build_dir, fresh=True), Path(self.root) / "src" / "flambeau")
            return
        self.folder = tempfile.TemporaryDirectory(prefix="flambeau-core-")
        files = build_core.build(Path(self.folder.name), strip=True)
        for name, path in files.items():
            build_data["force_include"][str(path)] = f"flambeau/{name}"
        tag = platform_tag([path for path in files.values() if path.suffix == ".so"])
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{tag}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()
