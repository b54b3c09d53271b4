"""Names that other distributions bring, imported when first used."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

_ROOT = __name__.rpartition(".")[0]

# Submodule -> the distribution that holds it.
PORTIONS = {
    "autograd": "flambeau-autograd", "func": "flambeau-autograd", "nn": "flambeau-nn", "optim": "flambeau-optim",
    "distributions": "flambeau-distributions", "sparse": "flambeau-sparse", "fx": "flambeau-fx", "jit": "flambeau-jit",
    "quantization": "flambeau-quantization", "ao": "flambeau-quantization", "onnx": "flambeau-onnx", "hub": "flambeau-hub",
    "profiler": "flambeau-profiler", "distributed": "flambeau-distributed", "cuda": "flambeau-cuda", "vision": "flambeau-vision",
    "audio": "flambeau-audio", "text": "flambeau-text", "testing": "flambeau-testing", "compat": "flambeau-compat",
    "multiprocessing": "flambeau-multiprocessing",
}  # fmt: skip
# Submodules of core that are imported when first used.
_OWN = ("linalg", "special", "fft", "random", "backends", "library", "serialization", "utils", "_nn", "signal", "masked")
# Functions of core that live in such a submodule.
_FUNCTIONS = {"save": "serialization", "load": "serialization"}


class MissingPortionError(AttributeError):
    """A part of the API whose distribution is not installed; an AttributeError, so that hasattr says no."""


def missing(what: str, distribution: str) -> MissingPortionError:
    return MissingPortionError(f"{what} is in the distribution {distribution}, which is not installed: pip install {distribution}")


def portion(name: str) -> Any:
    """The submodule ``name``; MissingPortionError, naming the distribution, where it is not installed."""
    if importlib.util.find_spec(f"{_ROOT}.{name}") is None:
        raise missing(f"{_ROOT}.{name}", PORTIONS[name])
    return importlib.import_module(f"{_ROOT}.{name}")


def lazy_attribute(name: str) -> Any:
    """`__getattr__` of the package."""
    if name in PORTIONS:
        return portion(name)
    if name in _OWN and importlib.util.find_spec(f"{_ROOT}.{name}") is not None:
        return importlib.import_module(f"{_ROOT}.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{_ROOT}.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module {_ROOT!r} has no attribute {name!r}")
