"""The Python types that are written in C: ``Size`` and ``Memory``."""

import sys

from ._native import lib

Size: type
Memory: type
if lib.fbp_make_types(id(sys.modules[__name__])):
    raise MemoryError("the types Size and Memory could not be made")
