"""Operators of neural networks that PyTorch keeps out of the root namespace: what the `nn` distribution is made of.

They come from the operator table (entries of native/ops with ``module = "_nn"``), with their in-place forms; some are made of others.
"""

from __future__ import annotations

from ._fractional_pool import fractional_max_pool2d, fractional_max_pool3d  # noqa: F401
from ._gen import functions as _functions

globals().update(_functions.NN)
globals().update(
    {f"{name}_": fn for name in _functions.NN if (fn := getattr(_functions, f"_i_{name}", None)) is not None}
)
