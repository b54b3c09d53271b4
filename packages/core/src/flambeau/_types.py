"""The Python types that are written in C (native/python/types.c): ``Size``, ``Memory`` and ``TensorBase``, and ``wrap``."""

import sys
from typing import Any

from ._native import ffi, lib

Size: Any
Memory: Any
TensorBase: Any
wrap: Any  # wrap(handle): a Tensor that takes over the handle's reference; raises the core's error for NULL
set_tensor: Any

_probe = ffi.cast("fb_tensor *", 0x5EED5EED)
_status = lib.fbp_make_types(id(sys.modules[__name__]), id(_probe), 0x5EED5EED)
if _status == -2:
    raise ImportError("this version of cffi lays out its pointers in a way that flambeau-core does not know; install another one")
if _status:
    raise MemoryError("the types of flambeau-core could not be made")
