"""Settings and switches: what scripts set is kept, and wrong values are refused."""

import importlib
import os
import subprocess
import sys

import flambeau as fb
import pytest


def test_deterministic_algorithms_are_a_setting():
    try:
        fb.use_deterministic_algorithms(True, warn_only=True)
        assert fb.are_deterministic_algorithms_enabled() and fb.is_deterministic_algorithms_warn_only_enabled()
        assert fb.get_deterministic_debug_mode() == 1
        for mode, number in [("default", 0), ("warn", 1), ("error", 2), (2, 2)]:
            fb.set_deterministic_debug_mode(mode)
            assert fb.get_deterministic_debug_mode() == number
        for bad in ("often", 3):
            with pytest.raises(RuntimeError, match="debug_mode"):
                fb.set_deterministic_debug_mode(bad)
        with pytest.raises(TypeError, match="mode"):
            fb.use_deterministic_algorithms(1)
    finally:
        fb.use_deterministic_algorithms(False)
    assert not fb.are_deterministic_algorithms_enabled()


def test_matmul_precision_is_a_setting():
    assert fb.get_float32_matmul_precision() == "highest"
    fb.set_float32_matmul_precision("medium")
    assert fb.get_float32_matmul_precision() == "medium"
    with pytest.warns(UserWarning, match="foo is not one of"):
        fb.set_float32_matmul_precision("foo")
    fb.set_float32_matmul_precision("highest")


def test_warn_always_is_a_setting():
    assert not fb.is_warn_always_enabled()
    fb.set_warn_always(True)
    assert fb.is_warn_always_enabled()
    fb.set_warn_always(False)
    with pytest.raises(TypeError):
        fb.set_warn_always(1)


def test_type_names():
    assert fb.typename(fb.ones(1)) == "torch.FloatTensor" and fb.typename(3) == "int" and fb.typename([]) == "list"
    assert fb.typename(fb.Size([1])) == "flambeau.Size" and fb.typename(fb.Tensor) == "flambeau.Tensor"


BACKENDS = ["cpu", "cudnn", "mha", "mkl", "mkldnn", "mps", "openblas", "openmp", "opt_einsum"]


@pytest.mark.parametrize("name", BACKENDS)
def test_backends_are_modules(name):
    assert importlib.import_module(f"flambeau.backends.{name}") is getattr(fb.backends, name)


def test_backends_say_what_is_there():
    assert fb.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    for name in ("cudnn", "mkl", "mkldnn", "mps", "openmp"):
        assert not getattr(fb.backends, name).is_available()
    assert fb.backends.cudnn.version() is None and fb.backends.opt_einsum.get_opt_einsum() is None
    assert (fb.backends.openblas.library() is not None) == fb.backends.openblas.is_available()
    with pytest.raises(AttributeError, match="nothing"):
        fb.backends.nothing  # noqa: B018


def test_switches_of_backends_are_kept():
    cudnn = fb.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert cudnn.benchmark and not cudnn.enabled
    assert not cudnn.benchmark and cudnn.enabled
    with fb.backends.mkldnn.flags(enabled=False):
        assert not fb.backends.mkldnn.enabled
    fb.backends.mha.set_fastpath_enabled(False)
    assert not fb.backends.mha.get_fastpath_enabled()
    fb.backends.mha.set_fastpath_enabled(True)
    fb.backends.cuda.matmul.allow_tf32 = True


@pytest.mark.parametrize("isa,name", [("base", "DEFAULT"), ("avx2", None)])
def test_an_environment_variable_lowers_the_instruction_set(isa, name):
    code = "import flambeau as fb; print(fb.backends.cpu.get_cpu_capability(), fb.linspace(0, 9, 1001).tanh().sum().item())"
    env = {**os.environ, "FLAMBEAU_ISA": isa}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    capability, value = out.stdout.split()
    assert capability == name or (name is None and capability in ("DEFAULT", "AVX2"))
    assert abs(float(value) - fb.linspace(0, 9, 1001).tanh().sum().item()) < 1e-2


def test_matrix_functions_of_the_root_are_those_of_linalg():
    a = fb.tensor([[4.0, 1.0], [2.0, 3.0]])
    assert abs(fb.det(a).item() - 10) < 1e-5 and abs(a.logdet().exp().item() - 10) < 1e-4
    assert (a.inverse() @ a - fb.eye(2)).abs().max() < 1e-5
    assert fb.logdet(-fb.eye(3)).isnan() and fb.slogdet(fb.eye(2)).sign == 1
    u, s, v = fb.svd(a)
    assert (u @ s.diag() @ v.T - a).abs().max() < 1e-5
    q, r = a.qr()
    assert (q @ r - a).abs().max() < 1e-5 and a.matrix_power(2).tolist() == (a @ a).tolist()
    low = fb.cholesky(fb.tensor([[4.0, 2.0], [2.0, 5.0]]))
    assert low.tolist() == [[2, 0], [1, 2]]
    assert fb.cross(fb.tensor([[1.0], [0.0], [0.0]]), fb.tensor([[0.0], [1.0], [0.0]])).tolist() == [[0], [0], [1]]
    with pytest.raises(RuntimeError, match="no dimension of size 3"):
        fb.cross(fb.ones(2, 2), fb.ones(2, 2))
