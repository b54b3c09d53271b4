"""backends.cuda where flambeau-cuda is not installed: its switches are kept and have no effect."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True)


def is_built() -> bool:
    """False: this build computes on the CPU only."""
    return False
