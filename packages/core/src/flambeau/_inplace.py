"""Functions of the root namespace that write into their first argument: the methods of the same names."""

from __future__ import annotations

from typing import Any

from ._functions import export
from ._gen.functions import METHODS
from ._tensor_base import Tensor

NAMES = """abs acos acosh addmv alpha_dropout arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil celu clamp
clamp_max clamp_min clip conj_physical cos cosh deg2rad dropout erf erfc exp exp2 expm1 feature_alpha_dropout feature_dropout fill
fix floor frac gcd lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt selu
sigmoid sin sinc sinh sqrt square tan tanh threshold trunc xlogy""".split()

for _name in NAMES:
    _method: Any = getattr(Tensor, f"{_name}_", None) or METHODS.get(f"{_name}_")
    if _method is not None:
        export(_method, f"{_name}_")
