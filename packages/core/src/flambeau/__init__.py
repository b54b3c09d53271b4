"""Flambeau: PyTorch's public API over a small C core.

``import flambeau as torch``. This distribution (flambeau-core) holds tensors and operators; autograd, nn, optim, data and
so on are distributions of their own that add themselves to this namespace.
"""

import pkgutil as _pkgutil

# Other distributions bring portions of this package: flambeau/nn, flambeau/optim ...
__path__ = _pkgutil.extend_path(__path__, __name__)

from . import _dtype as _dtype_module
from ._version import __version__
from ._dtype import (
    bfloat16, can_cast, complex64, complex128, dtype, float8_e4m3fn, float8_e5m2, float16, float32, float64, get_default_dtype, int8, int16,
    int32, int64, promote_types, set_default_dtype, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._device import device, get_default_device, set_default_device
from ._errors import OutOfMemoryError
from ._size import (
    Size, channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, sparse_bsc, sparse_bsr, sparse_coo,
    sparse_csc, sparse_csr, strided,
)  # fmt: skip
from ._tensor_base import Tensor
from ._gen import return_types
from . import _tensor, _operators, _indexing, _repr
from ._repr import set_printoptions
from ._creation import (
    arange, as_tensor, asarray, empty, empty_like, empty_permuted, empty_strided, eye, frombuffer, full, full_like, linspace, logspace, ones,
    ones_like, scalar_tensor, tensor, zeros, zeros_like,
)  # fmt: skip
from ._creation import range_ as range
from ._misc import from_numpy
from ._gen.functions import ROOT as _root

bool = _dtype_module.bool_
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
globals().update({_k: _v for _k, _v in _root.items() if _k not in globals()})
from . import _functions, _matrix
globals().update(_functions.EXPORTS)

from ._misc import *  # noqa: F403
from ._random import *  # noqa: F403
from ._settings import *  # noqa: F403
from ._storage import TypedStorage, UntypedStorage
from . import _copying, _storage
globals().update(_storage.LEGACY)
from ._grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from . import _autograd_hooks
from ._ops import ops
from ._lazy import lazy_attribute as __getattr__  # noqa: E402

from ._misc import e, inf, nan, pi
newaxis = None
