"""The tools that build and check what is published."""

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import check_wheels  # noqa: E402
import new_package  # noqa: E402
import version_matrix  # noqa: E402
import wheels  # noqa: E402
import workspace  # noqa: E402


@pytest.fixture
def repository(tmp_path):
    """A small repository: the real core's description, and one package that nox -s new made."""
    core = tmp_path / "packages" / "core"
    (core / "src" / "flambeau").mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", tmp_path / "LICENSE")
    shutil.copy(ROOT / "packages" / "core" / "pyproject.toml", core)
    shutil.copy(ROOT / "packages" / "core" / "src" / "flambeau" / "_version.py", core / "src" / "flambeau")
    new_package.create("small", "utils.small", [], root=tmp_path)
    return tmp_path


def test_a_changed_line_arrives_in_the_wheel(repository):
    cache = repository / "wheels"
    first = wheels.build("small", root=repository, cache=cache)
    assert wheels.build("small", root=repository, cache=cache) == first
    module = repository / "packages/small/src/flambeau/utils/small/__init__.py"
    module.write_text(module.read_text() + "CHANGED = True\n")
    second = wheels.build("small", root=repository, cache=cache)
    assert second.name == first.name and second != first
    with zipfile.ZipFile(second) as archive:
        assert b"CHANGED = True" in archive.read("flambeau/utils/small/__init__.py")


def test_a_new_package_builds_and_has_no_fault(repository):
    wheel = wheels.build("small", root=repository, cache=repository / "wheels")
    assert check_wheels.check([wheel]) == []
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("flambeau_small-0.1.0.dist-info/METADATA").decode()
    (required,) = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert Requirement(required.split(": ")[1]).specifier.contains(workspace.version("core"))


def test_a_new_package_must_have_a_free_and_valid_name(repository):
    for name in ("small", "Upper", "../x"):
        with pytest.raises(SystemExit, match="exists|name="):
            new_package.create(name, "x", [], root=repository)
    with pytest.raises(SystemExit, match="needs=nothing"):
        new_package.create("other", "x", ["nothing"], root=repository)


FAULTS = {
    "flambeau/__init__.py": "belongs to flambeau-core",
    "flambeau/utils/__init__.py": "belongs to flambeau-core",
    "flambeau/small/lib.so": "pure Python and holds",
    "flambeau/../LICENSE": "has the path",
    "LICENSE": "outside of flambeau/",
}


@pytest.mark.parametrize("path", FAULTS)
def test_a_faulty_wheel_is_refused(tmp_path, path):
    wheel = tmp_path / "flambeau_small-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("flambeau_small-0.1.0.dist-info/licenses/LICENSE", "")
        archive.writestr(path, "")
    assert any(FAULTS[path] in fault for fault in check_wheels.faults_of_wheel(wheel))


def test_an_sdist_with_a_binary_is_refused(tmp_path):
    sdist, binary = tmp_path / "flambeau_small-0.1.0.tar.gz", tmp_path / "lib.so"
    binary.touch()
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(binary, "flambeau_small-0.1.0/src/lib.so")
    assert any("lib.so" in fault for fault in check_wheels.faults_of_sdist(sdist))


def test_every_package_and_its_needs_are_known():
    assert workspace.closure("optim")[0] == "core" and "autograd" in workspace.closure("nn")
    assert set(workspace.closure("flambeau")) == set(workspace.names())
    assert not any(item.startswith("flambeau") for item in workspace.third_party(*workspace.names(), tests=True))


def test_every_range_that_a_package_declares_admits_the_present_version():
    present = {workspace.config(name)["project"]["name"]: workspace.version(name) for name in workspace.names()}
    for name in workspace.names():
        for item in map(Requirement, workspace.config(name)["project"]["dependencies"]):
            assert item.name not in present or item.specifier.contains(present[item.name]), (name, str(item))


def test_versions_are_equal_up_to_trailing_zeros():
    assert version_matrix.same("0.1", "0.1.0") and not version_matrix.same("0.1", "0.10")
