"""What a file that is loaded with ``weights_only=True`` may name, how each may be called, and the checks of its arguments."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from . import _copying, _storage
from ._creation import make_subclass
from ._device import device
from ._dtype import BY_NAME, dtype
from ._size import Size, memory_format
from ._tensor_base import Tensor
from ._unpickler import Named, refuse

_ROOT = __name__.rpartition(".")[0]
safe: dict[str, Any] = {}  # add_safe_globals: full name -> value


def _check(what: bool, text: str) -> None:
    if not what:
        raise refuse(text)


def _ints(values: Any, name: str) -> tuple[int, ...]:
    _check(isinstance(values, (tuple, list)), f"{name} must be a tuple of ints, not {type(values).__name__}")
    _check(all(type(v) is int and 0 <= v < 2**63 for v in values), f"{name}={values!r:.200} must hold ints that are not negative")
    return tuple(values)


def _geometry(offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any) -> tuple[int, tuple, tuple]:
    size, stride = _ints(size, "size"), _ints(stride, "stride")
    _check(len(size) == len(stride), f"size {size} and stride {stride} must have the same length")
    _check(type(offset) is int and 0 <= offset < 2**63, f"storage_offset={offset!r} must be an int that is not negative")
    _check(type(requires_grad) is bool, f"requires_grad must be a bool, not {type(requires_grad).__name__}")
    _check(hooks is None or (isinstance(hooks, dict) and not hooks), "backward hooks must be empty")
    return offset, size, stride


def _metadata(metadata: Any) -> Any:
    _check(metadata is None or type(metadata) is dict, f"metadata must be a dict, not {type(metadata).__name__}")
    return metadata


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    """PyTorch's _rebuild_tensor."""
    return rebuild_tensor_v2(storage, offset, size, stride, False, None)


def rebuild_tensor_v2(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None) -> Tensor:
    """PyTorch's _rebuild_tensor_v2."""
    _check(isinstance(storage, _storage.TypedStorage), f"a tensor needs a typed storage, not {type(storage).__name__}")
    where = _geometry(offset, size, stride, requires_grad, hooks)
    return _copying.rebuild_tensor_v2(storage, *where, requires_grad, hooks, _metadata(metadata))


def rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dt: Any, metadata: Any = None
) -> Tensor:
    """PyTorch's _rebuild_tensor_v3."""
    _check(_storage.is_storage(storage), f"a tensor needs a storage, not {type(storage).__name__}")
    _check(type(dt) is dtype, f"dtype must be a dtype, not {type(dt).__name__}")
    where = _geometry(offset, size, stride, requires_grad, hooks)
    return _copying.rebuild_tensor_v3(storage, *where, requires_grad, hooks, dt, _metadata(metadata))


def rebuild_meta_tensor(dt: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """PyTorch's _rebuild_meta_tensor_no_storage."""
    _check(type(dt) is dtype, f"dtype must be a dtype, not {type(dt).__name__}")
    _, size, stride = _geometry(0, size, stride, requires_grad, None)
    return _copying.rebuild_meta_tensor(dt, size, stride, requires_grad)


def _parameter_class() -> type:
    from ._lazy import portion

    return portion("nn").Parameter


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    """PyTorch's _rebuild_parameter: needs the distribution that has Parameter."""
    _check(isinstance(data, Tensor), f"a Parameter needs a tensor, not {type(data).__name__}")
    _check(type(requires_grad) is bool, f"requires_grad must be a bool, not {type(requires_grad).__name__}")
    return _parameter_class()(data, requires_grad)


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Tensor:
    """PyTorch's _rebuild_parameter_with_state."""
    p = rebuild_parameter(data, requires_grad, hooks)
    set_state(p, state)
    return p


def set_state(t: Tensor, state: Any) -> None:
    """Sets attributes of a tensor: of names that Tensor has itself, none."""
    parts = state if type(state) is tuple else (state,)
    for part in parts:
        _check(part is None or isinstance(part, dict), f"the state of a tensor must be a dict, not {type(part).__name__}")
        for name in part or ():
            _check(type(name) is str, f"an attribute's name must be a string, not {name!r:.100}")
            _check(name in _copying.CACHED or not hasattr(Tensor, name), f"attribute {name!r} would hide Tensor's own")
    _copying.set_attributes(t, state)


def rebuild_from_type(rebuild: Any, cls: Any, args: Any, state: Any) -> Any:
    """PyTorch's _rebuild_from_type_v2."""
    _check(any(rebuild is f for f in _REBUILD), "a tensor can be made by PyTorch's _rebuild functions only")
    _check(type(args) is tuple, f"arguments must be a tuple, not {type(args).__name__}")
    _check(isinstance(cls, type) and issubclass(cls, Tensor), f"{cls!r:.100} is not a class of tensors")
    t = rebuild(*args)
    if type(t) is not cls:
        t = make_subclass(cls, t, t.requires_grad)
    set_state(t, state)
    return t


_REBUILD = (rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_meta_tensor, rebuild_parameter, rebuild_parameter_with_state)


def _encode(text: Any, encoding: Any) -> bytes:
    _check(type(text) is str and encoding == "latin1", f"only strings in latin1 can be encoded, not {type(text).__name__} in {encoding!r:.50}")
    return text.encode("latin1")


def _bytearray(*args: Any) -> bytearray:
    _check(not args or (len(args) == 1 and type(args[0]) in (bytes, bytearray)), "a bytearray is made of bytes only")
    return bytearray(*args)


def _no_bytes(*args: Any) -> bytes:
    _check(not args, "bytes() takes no arguments in a pickle: other bytes are written as a string")
    return b""


def _collection(cls: type) -> Callable:
    def make(*args: Any) -> Any:
        _check(all(type(a) in (list, tuple, dict, set, OrderedDict) for a in args), f"a {cls.__name__} is made of lists and dicts only")
        return cls(*args)

    return make


def _size(values: Any = ()) -> Size:
    return Size(_ints(values, "size"))


def _device(*args: Any) -> device:
    _check(all(type(a) in (str, int) for a in args), "a device is made of a string and an int only")
    return device(*args)


def find_layout(name: Any) -> Any:
    """PyTorch's _get_layout."""
    from . import _size as sizes

    found = getattr(sizes, name.removeprefix("torch."), None) if type(name) is str else None
    _check(isinstance(found, sizes.layout), f"no layout {name!r:.50}")
    return found


_FUNCTIONS: dict[str, tuple[Any, Callable | None]] = {
    "torch._utils._rebuild_tensor": (rebuild_tensor, rebuild_tensor),
    "torch._utils._rebuild_tensor_v2": (rebuild_tensor_v2, rebuild_tensor_v2),
    "torch._utils._rebuild_tensor_v3": (rebuild_tensor_v3, rebuild_tensor_v3),
    "torch._utils._rebuild_meta_tensor_no_storage": (rebuild_meta_tensor, rebuild_meta_tensor),
    "torch._utils._rebuild_parameter": (rebuild_parameter, rebuild_parameter),
    "torch._utils._rebuild_parameter_with_state": (rebuild_parameter_with_state, rebuild_parameter_with_state),
    "torch._tensor._rebuild_from_type_v2": (rebuild_from_type, rebuild_from_type),
    "torch.serialization._get_layout": (find_layout, find_layout),
    "torch.Tensor": (Tensor, None),
    "torch.Size": (Size, _size),
    "torch.device": (device, _device),
    "torch.storage.UntypedStorage": (_storage.UntypedStorage, None),
    "torch.storage.TypedStorage": (_storage.TypedStorage, None),
    "collections.OrderedDict": (OrderedDict, _collection(OrderedDict)),
    "collections.Counter": (Counter, _collection(Counter)),
    "_codecs.encode": (_encode, _encode),
    "builtins.bytearray": (bytearray, _bytearray),
    "builtins.bytes": (bytes, _no_bytes),
    "builtins.set": (set, _collection(set)),
    "builtins.complex": (complex, lambda re, im: complex(float(re), float(im))),
    **{f"torch.{name}": (cls, None) for name, cls in _storage.LEGACY.items()},
}


def find(module: str, name: str) -> Any:
    """What a name of a file means: a value, or a `Named`. UnpicklingError for one that is not allowed."""
    full = f"{'builtins' if module == '__builtin__' else module}.{name}"
    if full in _FUNCTIONS:
        value, call = _FUNCTIONS[full]
        return Named(full, value, call)
    if module == "torch" and (name in BY_NAME or name == "bool"):
        return BY_NAME[name]
    if module == "torch":
        from . import _size as sizes

        constant = getattr(sizes, name, None)
        if isinstance(constant, memory_format | sizes.layout):
            return constant
    if full == "torch.nn.parameter.Parameter":
        return Named(full, _parameter_class(), rebuild_parameter_of)
    if full in safe:
        value = safe[full]
        return Named(full, value, value if callable(value) else None)
    raise refuse(
        f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context manager to "
        "allowlist this global if you trust this class/function. Or load with weights_only=False, if you trust the file: it can run any code."
    )


def rebuild_parameter_of(data: Any, requires_grad: Any = True) -> Tensor:
    """A call of the class Parameter itself."""
    return rebuild_parameter(data, requires_grad, None)


def build(obj: Any, state: Any) -> None:
    """BUILD: the state of an object; only of tensors, OrderedDicts, and classes that the user has allowed."""
    if isinstance(obj, Tensor):
        set_state(obj, state)
    elif type(obj) is OrderedDict:
        _check(type(state) is dict, f"the state of an OrderedDict must be a dict, not {type(state).__name__}")
        for key in state:  # such as the _metadata of a module's state_dict
            _check(type(key) is str and not hasattr(OrderedDict, key), f"attribute {key!r:.100} of an OrderedDict")
        obj.__dict__.update(state)
    elif any(type(obj) is v for v in safe.values()):
        if hasattr(obj, "__setstate__"):
            obj.__setstate__(state)
            return
        slots: Any = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        for key, value in {**(state or {}), **(slots or {})}.items():
            object.__setattr__(obj, key, value)
    else:
        raise refuse(f"can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(obj)}")
