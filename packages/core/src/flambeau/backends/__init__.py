"""What computes: libraries and instruction sets of this build, and the switches that PyTorch has for those of its own.

A switch whose library is not here is kept and has no effect, so that scripts which set it run.
"""

import importlib
import importlib.util
import pkgutil
from types import ModuleType

# The folder is shared: flambeau-cuda brings backends.cuda.
__path__ = pkgutil.extend_path(__path__, __name__)

_OWN = ("cpu", "cudnn", "mha", "mkl", "mkldnn", "mps", "openblas", "openmp", "opt_einsum")


def __getattr__(name: str) -> ModuleType:
    if name in _OWN:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "cuda":
        present = importlib.util.find_spec(f"{__name__}.cuda") is not None
        return importlib.import_module(f"{__name__}.{'cuda' if present else '_no_cuda'}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
