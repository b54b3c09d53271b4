"""Linear algebra: norms, products and decompositions of matrices and of batches of them."""

from .._errors import LinAlgError
from ._decompositions import (
    cholesky,
    cholesky_ex,
    det,
    eigh,
    eigvalsh,
    inv,
    inv_ex,
    qr,
    slogdet,
    solve,
    solve_ex,
    svd,
    svdvals,
)  # fmt: skip
from ._exponential import matrix_exp
from ._norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from ._products import cross, diagonal, matmul, matrix_power, multi_dot, vecdot
from ._reflections import householder_product

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "householder_product", "inv", "inv_ex",
    "matmul", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "qr", "slogdet", "solve", "solve_ex", "svd", "svdvals", "vecdot",
    "vector_norm",
]  # fmt: skip
