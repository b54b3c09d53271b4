"""Operators of neural networks that PyTorch keeps out of the root namespace: what the `nn` distribution is made of.

All come from the operator table (entries of native/ops with ``module = "_nn"``), with their in-place forms.
"""

from __future__ import annotations

from ._gen import functions as _functions

globals().update(_functions.NN)
globals().update(
    {f"{name}_": fn for name in _functions.NN if (fn := getattr(_functions, f"_i_{name}", None)) is not None}
)
