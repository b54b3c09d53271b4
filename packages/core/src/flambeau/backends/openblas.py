"""OpenBLAS, which multiplies matrices and has LAPACK."""

from __future__ import annotations

from pathlib import Path


def _library() -> Path | None:
    return next(iter(sorted((Path(__file__).parents[1] / "_libs").glob("lib*openblas*"))), None)


def is_available() -> bool:
    """Whether this build brings OpenBLAS along. One against a system BLAS says no."""
    return _library() is not None


def library() -> str | None:
    """The path of the library, or None."""
    found = _library()
    return None if found is None else str(found)
