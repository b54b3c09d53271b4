"""Home of the utilities that other distributions add: ``data``, ``checkpoint``, ``tensorboard`` and so on."""

import importlib
import importlib.util
import pkgutil
from types import ModuleType

from .._lazy import missing

# The folder is shared: each of those distributions brings its own portion of it.
__path__ = pkgutil.extend_path(__path__, __name__)

# Submodule -> the distribution that holds it.
_PORTIONS = {
    "data": "flambeau-data",
    "checkpoint": "flambeau-autograd",
    "tensorboard": "flambeau-tensorboard-utils",
    "model_zoo": "flambeau-hub",
    "bottleneck": "flambeau-profiler",
    "cpp_extension": "flambeau-extension",
}


def __getattr__(name: str) -> ModuleType:
    if name not in _PORTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise missing(f"{__name__}.{name}", _PORTIONS[name])
    return importlib.import_module(f"{__name__}.{name}")
