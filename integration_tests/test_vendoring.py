"""A copy of core under another import name, as another framework would ship it."""

import importlib.metadata
import shutil
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture(scope="module")
def vendored(tmp_path_factory):
    """A folder to put on sys.path, in which the copy is ``other._vendor.tensors``."""
    root = tmp_path_factory.mktemp("vendored")
    target = root / "other" / "_vendor" / "tensors"
    for file in importlib.metadata.files("flambeau-core"):
        if file.parts[0] == "flambeau":
            copy = target.joinpath(*file.parts[1:])
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), copy)
    for folder in (root / "other", root / "other" / "_vendor"):
        (folder / "__init__.py").touch()
    return root


def run(folder, code):
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, cwd=folder)


def test_the_copy_computes_where_flambeau_itself_cannot_be_imported(vendored):
    run(
        vendored,
        """
        import sys

        sys.modules["flambeau"] = None  # any import of it now fails
        from other._vendor import tensors as t

        assert t.__name__ == "other._vendor.tensors"
        x = t.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert (x @ x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
        assert type(x).__module__.startswith("other._vendor.tensors")
        """,
    )


def test_the_copy_and_the_original_share_no_state(vendored):
    run(
        vendored,
        """
        import flambeau as fb
        from other._vendor import tensors as t

        assert t.Tensor is not fb.Tensor
        fb.manual_seed(1)
        expected = fb.rand(4).tolist()
        fb.manual_seed(1)
        t.manual_seed(2)
        t.rand(100)
        assert fb.rand(4).tolist() == expected
        t.set_num_threads(1)
        fb.set_num_threads(2)
        assert t.get_num_threads() == 1
        t.set_default_dtype(t.float64)
        assert fb.ones(1).dtype is fb.float32 and t.ones(1).dtype is t.float64
        """,
    )
