"""The one door to the compiled core: ``ffi`` and ``lib`` of the cffi module."""

from ._fb import ffi, lib

__all__ = ["ffi", "lib"]
