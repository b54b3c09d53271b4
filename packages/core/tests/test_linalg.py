"""flambeau.linalg against the laws that define each result, and NumPy where it has the same function."""

import math

import flambeau as fb
import numpy as np
import pytest

la = fb.linalg
DTYPES = [fb.float32, fb.float64, fb.complex64, fb.complex128]
SHAPES = [(1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 4), (2, 3, 4, 2), (0, 3), (3, 0), (0, 0), (2, 0, 2, 2)]
SQUARE = [(1, 1), (3, 3), (2, 4, 4), (0, 0), (0, 3, 3)]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.fixture(autouse=True)
def _seed():
    fb.manual_seed(0)


def matrices(shape, dtype):
    x = fb.randn(*shape, dtype=dtype)
    return x.mT.contiguous().mT if len(shape) > 2 else x  # of the batches some are not contiguous


def close(a, b, factor=1):
    tolerance = factor * (1e-4 if a.dtype in (fb.float32, fb.complex64) else 1e-11)
    b = np.asarray(b.resolve_conj().numpy() if isinstance(b, fb.Tensor) else b)
    assert tuple(a.shape) == b.shape
    assert np.allclose(a.numpy(), b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return True


def identity(a):
    return fb.eye(a.shape[-1], dtype=a.dtype).expand((*a.shape[:-2], a.shape[-1], a.shape[-1]))


@each_dtype
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [True, False])
def test_svd_factors_are_orthonormal_and_multiply_to_the_matrix(shape, dtype, full):
    a = matrices(shape, dtype)
    u, s, vh = la.svd(a, full)
    k = min(shape[-2:])
    assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
    close((u[..., :k] * s.unsqueeze(-2).to(dtype)) @ vh[..., :k, :], a)
    close(u.mH @ u, identity(u))
    close(vh @ vh.mH, identity(vh.mH))
    close(s, np.linalg.svd(a.numpy(), compute_uv=False) if a.numel() else np.zeros((*shape[:-2], k)))
    close(la.svdvals(a), s)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr_is_an_orthonormal_times_a_triangular_matrix(shape, dtype, mode):
    a = matrices(shape, dtype)
    q, r = la.qr(a, mode)
    rows = shape[-2] if mode == "complete" else min(shape[-2:])
    assert r.shape == (*shape[:-2], rows, shape[-1])
    close(r, r.triu())
    if mode == "r":
        assert q.numel() == 0
    else:
        close(q @ r, a)
        close(q.mH @ q, identity(q))


@each_dtype
@pytest.mark.parametrize("shape", SQUARE)
def test_inverses_and_solutions_solve(shape, dtype):
    a = matrices(shape, dtype) + 3 * identity(fb.empty(shape, dtype=dtype))
    close(la.inv(a) @ a, identity(a), 10)
    b = fb.randn(*shape[:-1], 2, dtype=dtype)
    close(a @ la.solve(a, b), b, 10)
    c = fb.randn(*shape[:-2], 2, shape[-1], dtype=dtype)
    close(la.solve(a, c, left=False) @ a, c, 10)
    v = fb.randn(*shape[:-1], dtype=dtype)
    close((a @ la.solve(a, v).unsqueeze(-1)).squeeze(-1), v, 10)
    assert la.solve(a, fb.randn(shape[-1], 2, dtype=dtype)).shape == (*shape[:-1], 2)


@each_dtype
@pytest.mark.parametrize("shape", SQUARE)
def test_determinants_are_numpys(shape, dtype):
    a = matrices(shape, dtype)
    close(la.det(a), np.linalg.det(a.numpy()), 10)
    sign, log = la.slogdet(a)
    close(sign * log.exp(), la.det(a), 10)
    assert sign.dtype is dtype and log.dtype is fb.empty(0, dtype=dtype).abs().dtype


@each_dtype
@pytest.mark.parametrize("shape", SQUARE)
def test_cholesky_and_eigh_of_positive_matrices(shape, dtype):
    x = matrices(shape, dtype)
    a = x @ x.mH + identity(x)
    lower, upper = la.cholesky(a), la.cholesky(a, upper=True)
    close(lower @ lower.mH, a, 10)
    close(upper, lower.mH, 10)
    close(lower, lower.tril())
    w, v = la.eigh(a)
    close((v * w.unsqueeze(-2).to(dtype)) @ v.mH, a, 10)
    close(v.mH @ v, identity(v), 10)
    close(la.eigvalsh(a.triu(), "U"), w, 10)  # the other triangle is not read
    assert (w[..., 1:] >= w[..., :-1]).all()


def test_failures_name_the_batch_element():
    a = fb.eye(3).repeat(4, 1, 1)
    a[2] = 0
    for fn, text in [(la.inv, "singular"), (lambda x: la.solve(x, x), "singular"), (la.cholesky, "positive-definite")]:
        with pytest.raises(la.LinAlgError, match=rf"\(Batch element 2\).*{text}"):
            fn(a)
        with pytest.raises(RuntimeError):
            fn(fb.zeros(2, 2))
    assert la.inv_ex(a).info.tolist() == [0, 0, 1, 0] and la.inv_ex(a).info.dtype is fb.int32
    assert la.cholesky_ex(-fb.eye(2)).info.item() == 1 and la.solve_ex(a, a).info[2] > 0
    for fn in (la.svdvals, la.svd):
        with pytest.raises(la.LinAlgError, match="non-finite"):
            fn(fb.full((2, 2), math.nan))


@pytest.mark.parametrize("fn", [la.inv, la.det, la.cholesky, la.eigh, la.svdvals, la.qr, la.slogdet, la.svd])
def test_what_is_no_float_matrix_is_refused(fn):
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        fn(fb.ones(3))
    with pytest.raises(RuntimeError, match="floating point or complex"):
        fn(fb.ones(2, 2, dtype=fb.int64))
    if fn not in (la.svd, la.svdvals, la.qr):
        with pytest.raises(RuntimeError, match="2 by 3 matrices"):
            fn(fb.ones(2, 3))
        with pytest.raises(RuntimeError, match="Low precision"):
            fn(fb.ones(2, 2, dtype=fb.float16))


ORDERS = ["fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf]


@each_dtype
@pytest.mark.parametrize("ord", ORDERS)
def test_matrix_norms_are_numpys(ord, dtype):
    for shape in [(3, 3), (4, 2), (2, 3, 4)]:
        a = matrices(shape, dtype)
        close(la.matrix_norm(a, ord), np.linalg.norm(a.numpy(), ord, (-2, -1)))
        close(la.matrix_norm(a, ord, (-1, 0), keepdim=True), np.linalg.norm(a.numpy(), ord, (-1, 0), keepdims=True))
    if ord == "nuc":
        close(fb.norm(a, ord, dim=(1, 2)), la.matrix_norm(a, ord))


@pytest.mark.parametrize("p", [0, 1, 2, 3.5, -1, math.inf, -math.inf])
def test_vector_norms_are_numpys(p):
    a = fb.randn(3, 4, dtype=fb.float64)
    close(la.vector_norm(a, p, 1), np.linalg.norm(a.numpy(), p, 1))
    close(la.norm(a, p, 0, keepdim=True), np.linalg.norm(a.numpy(), p, 0, keepdims=True))
    close(la.vector_norm(a, p), np.linalg.norm(a.numpy().ravel(), p))
    close(la.norm(a[0], p), np.linalg.norm(a[0].numpy(), p))


def test_norms_of_nothing_are_zero_where_there_is_no_smallest():
    for ord in ("fro", "nuc", 2, 1, math.inf):
        assert la.matrix_norm(fb.ones(0, 3), ord) == 0 and la.matrix_norm(fb.ones(3, 0), ord) == 0
    with pytest.raises(IndexError):
        la.matrix_norm(fb.ones(0, 3), -2)


def test_norms_refuse_what_they_cannot_mean():
    a = fb.ones(2, 2, 2)
    for call in [lambda: la.norm(a, 2), lambda: la.matrix_norm(a, 3), lambda: la.matrix_norm(a, dim=(1, 1)), lambda: la.matrix_norm(a, dim=1),
                 lambda: la.norm(a, "fro", 0), lambda: la.norm(a, 2, (0, 1, 2)), lambda: fb.norm(a, "foo")]:  # fmt: skip
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(IndexError):
        la.matrix_norm(a, dim=(0, 3))


def test_multi_dot_is_the_product_in_any_order():
    sizes = [10, 2, 30, 4, 7, 1, 6]
    ts = [fb.randn(m, n, dtype=fb.float64) for m, n in zip(sizes, sizes[1:])]
    close(la.multi_dot(ts), np.linalg.multi_dot([t.numpy() for t in ts]))
    assert la.multi_dot([fb.ones(3), fb.ones(3, 2), fb.ones(2)]).item() == 6
    with pytest.raises(RuntimeError, match="at least 2"):
        la.multi_dot([fb.ones(2, 2)])
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        la.multi_dot([fb.ones(2, 2), fb.ones(3, 2)])


@pytest.mark.parametrize("n", range(-3, 8))
def test_matrix_powers_are_numpys(n):
    a = fb.randn(2, 3, 3, dtype=fb.float64)
    close(la.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n), 1e3)
    assert n != 1 or la.matrix_power(a, n).data_ptr() != a.data_ptr()


def test_cross_and_vecdot():
    a, b = fb.randn(4, 3, dtype=fb.float64), fb.randn(4, 3, dtype=fb.float64)
    close(la.cross(a, b), np.cross(a.numpy(), b.numpy()))
    close(la.cross(a.mT, b.mT, dim=0), np.cross(a.numpy(), b.numpy()).T)
    z = fb.randn(3, dtype=fb.complex128)
    close(la.vecdot(z, z), np.vdot(z.numpy(), z.numpy()))
    with pytest.raises(RuntimeError, match="length 3"):
        la.cross(fb.ones(2), fb.ones(2))
    assert la.diagonal(fb.arange(8).view(2, 2, 2)).tolist() == [[0, 3], [4, 7]]


def test_rank_and_condition_number():
    a = fb.randn(5, 2, dtype=fb.float64) @ fb.randn(2, 4, dtype=fb.float64)
    assert la.matrix_rank(a) == 2 and la.matrix_rank(fb.zeros(3, 3)) == 0 and la.matrix_rank(fb.eye(3), hermitian=True) == 3
    assert la.matrix_rank(fb.diag(fb.tensor([1.0, 0.1, 0.01])), atol=0.05) == 2
    d = fb.diag(fb.tensor([4.0, 2.0, 1.0]))
    for p in (None, 2, "nuc", 1, math.inf):
        close(la.cond(d, p), np.linalg.cond(d.numpy(), p))
    assert la.cond(fb.zeros(2, 2), 1) == math.inf


def test_out_is_written_and_checked():
    a = fb.eye(3) * 2
    out = fb.empty(3, 3)
    assert la.inv(a, out=out) is out and out.tolist() == (fb.eye(3) / 2).tolist()
    s = (fb.empty(0), fb.empty(0))
    assert la.slogdet(a, out=s).sign is s[0] and s[0].item() == 1
    with pytest.raises(RuntimeError, match="safely castable"):
        la.inv(a, out=fb.empty(3, 3, dtype=fb.int64))


def test_meta_tensors_give_shapes():
    a = fb.empty(2, 5, 3, device="meta")
    assert [t.shape for t in la.svd(a)] == [(2, 5, 5), (2, 3), (2, 3, 3)]
    assert [t.shape for t in la.qr(a)] == [(2, 5, 3), (2, 3, 3)]


GRADIENTS = {
    "svdvals": lambda a: la.svdvals(a),
    "svd": lambda a: (lambda u, s, v: (u.abs(), s, v.abs(), u @ v))(*la.svd(a, False)),
    "nuc": lambda a: fb.norm(a, "nuc"),
    "cond": lambda a: la.cond(a),
    "inv": lambda a: la.inv(a[:3]),
    "det": lambda a: la.det(a[:3]),
    "slogdet": lambda a: la.slogdet(a[:3]),
    "solve": lambda a: la.solve(a[:3], a[1:4] if len(a) > 3 else a[:3].mT),
    "cholesky": lambda a: la.cholesky(a[:3] @ a[:3].mH + 2 * fb.eye(3, dtype=a.dtype)),
    "upper": lambda a: la.cholesky(a[:3] @ a[:3].mH + 2 * fb.eye(3, dtype=a.dtype), upper=True),
    "eigvalsh": lambda a: la.eigvalsh(a[:3] + a[:3].mH),
    "eigh": lambda a: (lambda w, v: (w, v.abs()))(*la.eigh(a[:3] + a[:3].mH)),
    "power": lambda a: la.matrix_power(a[:3], -2),
    "multi_dot": lambda a: la.multi_dot([a, a.mT, a]),
}


@pytest.mark.parametrize("dtype", [fb.float64, fb.complex128], ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives_are_those_of_finite_differences(name, dtype):
    autograd = pytest.importorskip("flambeau.autograd")
    for rows in (3, 4) if name in ("svdvals", "svd", "nuc", "cond", "multi_dot", "solve") else (3,):
        a = (fb.randn(rows, 3, dtype=dtype) + fb.eye(rows, 3, dtype=dtype)).requires_grad_()
        assert autograd.gradcheck(GRADIENTS[name], (a,))
        assert autograd.gradgradcheck(GRADIENTS[name], (a,))
