"""Storages: the memory under tensors, as objects. Tensors that share memory share a storage.

`UntypedStorage` is bytes; `TypedStorage` and ``FloatStorage``-like classes, which PyTorch keeps for old code and files,
add a dtype to one.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from ._binding import index, raise_error, real_handle
from ._device import META, device, device_number
from ._dtype import BY_NAME, DTYPES, dtype, uint8
from ._native import ffi, lib
from ._tensor_base import Tensor, new_tensor

# One object for a storage as long as it is in use: `pickle` and `copy` tell shared memory by identity.
_known: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def tensor_on(storage: UntypedStorage, dt: dtype, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """A tensor of that geometry (in elements) on a storage, without base or history. RuntimeError where it reaches beyond."""
    n = len(sizes)
    view = new_tensor(lib.fbp_reinterpret(real_handle(storage._bytes), dt.num, sizes, strides, n, offset))
    return new_tensor(lib.fbp_data_alias(real_handle(view)))


def _bytes_of(h: Any) -> Tensor:
    """The whole storage of a handle as a uint8 tensor."""
    view = new_tensor(lib.fbp_reinterpret(h, uint8.num, (lib.fbp_storage_bytes(h),), (1,), 1, 0))
    return new_tensor(lib.fbp_data_alias(real_handle(view)))


def storage_of(t: Tensor) -> UntypedStorage:
    """The storage of a tensor."""
    h = real_handle(t)
    key = lib.fbp_storage_id(h)
    found = _known.get(key)
    if found is None:
        found = object.__new__(UntypedStorage)
        found._bytes = _bytes_of(h)
        _known[key] = found
    return found


class UntypedStorage:
    """Bytes that tensors lie in. ``UntypedStorage(n)`` has n bytes that are not set; ``UntypedStorage([1, 2])`` those values."""

    __slots__ = ("_bytes", "__weakref__")
    _bytes: Tensor  # all of it, as uint8

    def __new__(cls, *args: Any, device: Any = None) -> UntypedStorage:
        from ._creation import empty, tensor

        if len(args) > 1:
            raise TypeError(f"UntypedStorage() takes a size or a sequence of bytes, got {len(args)} arguments")
        if args and isinstance(args[0], (list, tuple, bytes, bytearray)):
            made = tensor(list(args[0]), dtype=uint8, device=device)
        else:
            size = index(args[0]) if args else 0
            if size < 0:
                raise RuntimeError(f"UntypedStorage(): size={size} must not be negative")
            made = empty(size, dtype=uint8, device=device)
        return storage_of(made)

    # ---- what it is ----

    def nbytes(self) -> int:
        """The number of bytes."""
        return lib.fbp_storage_bytes(real_handle(self._bytes))

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte; 0 where there is none."""
        return int(ffi.cast("intptr_t", lib.fbp_storage_data(real_handle(self._bytes))))

    @property
    def _cdata(self) -> int:
        return lib.fbp_storage_id(real_handle(self._bytes))

    @property
    def device(self) -> device:
        return self._bytes.device

    @property
    def is_cuda(self) -> bool:
        return False

    def element_size(self) -> int:
        return 1

    def resizable(self) -> bool:
        """Whether the memory is Flambeau's own, and may grow."""
        return bool(lib.fbp_storage_resizable(real_handle(self._bytes)))

    def is_shared(self) -> bool:
        return False

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def share_memory_(self) -> UntypedStorage:
        return self

    def get_device(self) -> int:
        return -1

    # ---- values ----

    def _current(self) -> Tensor:
        """The bytes as a tensor, also after the storage has changed its size."""
        if len(self._bytes) != self.nbytes():
            self._bytes = _bytes_of(real_handle(self._bytes))
        return self._bytes

    def __getitem__(self, key: int | slice) -> Any:
        t = self._current()[key]
        return storage_of(t.clone()) if isinstance(key, slice) else int(t.item())

    def __setitem__(self, key: int | slice, value: Any) -> None:
        self._current()[key] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        return self._current().tolist()

    def fill_(self, value: int) -> UntypedStorage:
        self._current().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Copies another storage's bytes; RuntimeError where the sizes differ."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._current().copy_(untyped(source)._current())
        return self

    def clone(self) -> UntypedStorage:
        """A copy with memory of its own."""
        return storage_of(self._current().clone())

    def cpu(self) -> UntypedStorage:
        return self if self.device.num == 0 else storage_of(self._current().to("cpu"))

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        return self if device_number(device) == self.device.num else storage_of(self._current().to(device))

    def resize_(self, size: int) -> UntypedStorage:
        """Changes the number of bytes. New ones are not set; memory is given back only with the storage itself."""
        if lib.fbp_storage_resize(real_handle(self._bytes), index(size)):
            raise_error()
        self._current()
        return self

    def untyped(self) -> UntypedStorage:
        return self

    def _as_tensor(self, dt: dtype) -> Tensor:
        return tensor_on(self, dt, (self.nbytes() // dt.itemsize,), (1,), 0)

    # ---- copying ----

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict) -> UntypedStorage:
        if id(self) not in memo:
            memo[id(self)] = self.clone()
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        import pickle

        if self.device is META:
            return _rebuild_storage, (self.nbytes(), "meta")
        if protocol >= 5:  # the pickler may then pass the memory on without a copy
            return _rebuild_storage, (pickle.PickleBuffer(self._current().numpy()), "cpu")
        return _rebuild_storage, (bytes(memory_of(self)), "cpu")

    def __repr__(self) -> str:
        n = self.nbytes()
        values = "\n".join(f" {v}" for v in (self.tolist() if n <= 1000 else self._current()[:1000].tolist())) if self.device.num == 0 else " ..."
        return f"{values}\n[torch.storage.UntypedStorage(device={self.device}) of size {n}]"


def memory_of(storage: UntypedStorage) -> memoryview:
    """A storage's memory, which can be written; valid as long as the storage is alive and keeps its size."""
    n = storage.nbytes()
    return memoryview(ffi.buffer(lib.fbp_storage_data(real_handle(storage._bytes)), n)) if n else memoryview(bytearray())


def _rebuild_storage(data: Any, where: str) -> UntypedStorage:
    """What a pickled storage becomes."""
    from ._creation import empty

    if where == "meta":
        return storage_of(empty(data, dtype=uint8, device="meta"))
    data = memoryview(data)
    storage = storage_of(empty(data.nbytes, dtype=uint8, device="cpu"))
    memory_of(storage)[:] = data
    return storage


class TypedStorage:
    """A storage whose elements are of one dtype: PyTorch's older interface, which files refer to."""

    __slots__ = ("_untyped_storage", "dtype", "__weakref__")
    _dtype: dtype | None = None

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: dtype | None = None, device: Any = None) -> None:
        from ._creation import tensor
        from ._dtype import get_default_dtype

        self.dtype = dtype or self._dtype or get_default_dtype()
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
        elif args and isinstance(args[0], (list, tuple)):
            self._untyped_storage = storage_of(tensor(list(args[0]), dtype=self.dtype, device=device))
        else:
            self._untyped_storage = UntypedStorage((index(args[0]) if args else 0) * self.dtype.itemsize, device=device)

    def untyped(self) -> UntypedStorage:
        """The bytes, without the dtype."""
        return self._untyped_storage

    def _flat(self) -> Tensor:
        return self._untyped_storage._as_tensor(self.dtype)

    def _as_tensor(self, dt: dtype) -> Tensor:
        if dt is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {dt} or an UntypedStorage, but got type {self.dtype} for argument 1 'storage'")
        return self._flat()

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    @property
    def device(self) -> device:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return False

    def element_size(self) -> int:
        return self.dtype.itemsize

    def is_shared(self) -> bool:
        return False

    def share_memory_(self) -> TypedStorage:
        return self

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> TypedStorage:
        self._untyped_storage.resize_(index(size) * self.dtype.itemsize)
        return self

    def __getitem__(self, key: Any) -> Any:
        t = self._flat()[key]
        return typed(storage_of(t.clone()), self.dtype) if isinstance(key, slice) else t.item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._flat()[key] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list:
        return self._flat().tolist()

    def fill_(self, value: Any) -> TypedStorage:
        self._flat().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copies another storage's elements, converting them; RuntimeError where the sizes differ."""
        other = source._flat() if isinstance(source, TypedStorage) else source._as_tensor(self.dtype)
        if len(other) != len(self):
            raise RuntimeError(f"size does not match, self has {len(self)} elements but source has {len(other)}")
        self._flat().copy_(other)
        return self

    def clone(self) -> TypedStorage:
        return typed(self._untyped_storage.clone(), self.dtype)

    def cpu(self) -> TypedStorage:
        return typed(self._untyped_storage.cpu(), self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._cdata == other._cdata and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash((self._cdata, self.dtype.num))

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict) -> TypedStorage:
        return typed(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return typed, (self._untyped_storage, self.dtype)

    def __repr__(self) -> str:
        values = "\n".join(f" {v}" for v in self.tolist()) if self.device.num == 0 else " ..."
        return f"{values}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


_LEGACY = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexDouble": "complex128", "ComplexFloat": "complex64",
}  # fmt: skip
_package = __name__.rpartition(".")[0]
# FloatStorage and so on: a TypedStorage of that dtype.
LEGACY: dict[str, type[TypedStorage]] = {
    f"{name}Storage": type(f"{name}Storage", (TypedStorage,), {"_dtype": BY_NAME[d], "__slots__": (), "__module__": _package})
    for name, d in _LEGACY.items()
}
OF_DTYPE: dict[dtype, type[TypedStorage]] = {c._dtype: c for c in LEGACY.values()}  # type: ignore[misc]


def typed(storage: UntypedStorage, dt: dtype) -> TypedStorage:
    """A storage with a dtype."""
    return TypedStorage(wrap_storage=storage, dtype=dt)


def untyped(storage: Any) -> UntypedStorage:
    """The bytes of a storage of either kind; TypeError for anything else."""
    if not isinstance(storage, (UntypedStorage, TypedStorage)):
        raise TypeError(f"expected a storage, got {type(storage).__name__}")
    return storage.untyped()


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor lies in, which its views share."""
    return storage_of(self)


def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor lies in, with its dtype: PyTorch's older interface."""
    return typed(storage_of(self), DTYPES[lib.fbp_dtype(real_handle(self))])


Tensor.untyped_storage = untyped_storage
Tensor.storage = Tensor._typed_storage = storage
