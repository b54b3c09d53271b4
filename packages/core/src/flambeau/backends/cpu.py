"""The processor."""

from .._native import lib

_NAMES = ("DEFAULT", "AVX2", "AVX512")


def get_cpu_capability() -> str:
    """The instruction set that kernels were chosen for at start: DEFAULT, AVX2 or AVX512. The variable FLAMBEAU_ISA lowers it."""
    return _NAMES[lib.fb_isa()]
