"""PyTorch's import paths of the layers: ``nn.modules.batchnorm._BatchNorm`` and the like."""

from __future__ import annotations

import importlib
import sys
import types

# PyTorch's file -> the files here that hold its classes.
_HOMES = {
    "activation": ("_activation", "_attention"),
    "adaptive": ("_adaptive",),
    "batchnorm": ("_lazy", "_batchnorm"),
    "channelshuffle": ("_shape",),
    "container": ("_container", "_parameter_container"),
    "conv": ("_lazy", "_conv"),
    "distance": ("_distance",),
    "dropout": ("_dropout",),
    "flatten": ("_shape",),
    "fold": ("_shape",),
    "instancenorm": ("_lazy", "_instancenorm"),
    "lazy": ("_lazy",),
    "linear": ("_lazy", "_linear"),
    "linear_cross_entropy_options": ("_linear_cross_entropy",),
    "loss": ("_loss", "_linear_cross_entropy"),
    "module": ("_handle", "_hooks", "_state", "_module"),
    "normalization": ("_normalization",),
    "padding": ("_padding",),
    "pixelshuffle": ("_shape",),
    "pooling": ("_pooling",),
    "rnn": ("_rnn", "_rnn_cells"),
    "sparse": ("_embedding",),
    "transformer": ("_transformer",),
    "upsampling": ("_upsampling",),
}


def _fill() -> None:
    nn = __name__.rpartition(".")[0]
    for old, homes in _HOMES.items():
        module = types.ModuleType(f"{__name__}.{old}", f"PyTorch's import path of {', '.join(homes)}.")
        module.__package__ = __name__
        for home in homes:
            names = vars(importlib.import_module(f"{nn}.{home}"))
            module.__dict__.update((k, v) for k, v in names.items() if not k.startswith("__"))
        sys.modules[module.__name__] = globals()[old] = module
    package = vars(sys.modules[nn])
    globals().update((k, v) for k, v in package.items() if isinstance(v, type) and k not in globals())


_fill()
