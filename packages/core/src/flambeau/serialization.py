"""`save` and `load` of tensors and what contains them, in PyTorch's file format, both ways.

A file is a zip archive: ``data.pkl``, a pickle whose tensors refer to storages by number, and the storages' bytes. The
names in the pickle are PyTorch's, so that either library reads what the other wrote.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _allowed, _legacy_file
from ._archive import ALIGNMENT, Reader, Writer, replacing
from ._device import device
from ._dtype import uint8
from ._global_names import find_class, renaming
from ._storage import OF_DTYPE, TypedStorage, UntypedStorage, memory_of, storage_of, typed
from ._unpickler import Unpickler, refuse

DEFAULT_PROTOCOL = 2

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "register_package", "safe_globals", "save"]


# ---- save ------------------------------------------------------------------------------------------------------------


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Writes ``obj`` to ``f``: a path, or a file object with ``write``. A path's old file stays until the new one is complete.

    Tensors that share memory still do when loaded. RuntimeError where tensors of different dtypes share memory.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save(): _use_new_zipfile_serialization=False: the format of PyTorch before 1.6 can be loaded, but not written")
    pickled, storages = _pickle(obj, pickle_module, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        root = os.path.basename(path).partition(".")[0] or "archive"
        with replacing(path) as file:
            _write(file, root, pickled, storages)
    elif hasattr(f, "write"):
        _write(f, "archive", pickled, storages)
    else:
        raise AttributeError(f"expected 'f' to be a path or a file object with 'write', but got type: {type(f).__name__}")


def _pickle(obj: Any, module: Any, protocol: int) -> tuple[bytes, list[UntypedStorage]]:
    """The pickle, and the storages in the order of their numbers."""
    storages: list[UntypedStorage] = []
    numbers: dict[int, int] = {}
    dtypes: dict[int, Any] = {}

    def persistent_id(x: Any) -> Any:
        if not isinstance(x, (TypedStorage, UntypedStorage)):
            return None
        kind, item = _storage_kind(x)
        bare = x.untyped()
        if bare.device.num == 1:
            raise RuntimeError("save(): a storage on meta has no data")
        key = bare._cdata
        if key not in numbers:
            numbers[key] = len(storages)
            storages.append(bare)  # also keeps it alive: its address is its key
        if bare.nbytes() and dtypes.setdefault(key, kind) is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types. If these tensors or storages "
                "came from view(dtype), save clones of them."
            )
        return "storage", kind, str(numbers[key]), "cpu", bare.nbytes() // item

    buffer = io.BytesIO()
    renaming(module, persistent_id)(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue(), storages


def _storage_kind(x: TypedStorage | UntypedStorage) -> tuple[type, int]:
    if isinstance(x, TypedStorage):
        if x.dtype in OF_DTYPE:
            return OF_DTYPE[x.dtype], x.dtype.itemsize
    return UntypedStorage, 1


def _write(file: Any, root: str, pickled: bytes, storages: list[UntypedStorage]) -> None:
    archive = Writer(file, root)
    try:
        archive.write("data.pkl", pickled)
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", str(ALIGNMENT).encode())
        archive.write("byteorder", sys.byteorder.encode())
        for i, s in enumerate(storages):
            archive.write(f"data/{i}", memory_of(s))
        archive.write("version", b"3\n")
        archive.close()
    except BaseException:
        archive.abandon()
        raise


# ---- load ------------------------------------------------------------------------------------------------------------


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Reads what `save`, PyTorch's or this one, wrote to ``f``: a path, or a file object with ``read``, ``readline``, ``seek`` and ``tell``.

    Args:
        map_location: a device, or its name, for all storages; a dict from names of devices to others; or a function of
            (storage, name of its device) that returns a storage, or None for the default.
        weights_only: only tensors, numbers, strings, containers, and what `add_safe_globals` was given (the default). False
            runs the pickle: any code that is in the file.
        mmap: tensors use the memory of the file itself, privately: what is written to them is not written to it. Needs a path.

    UnpicklingError for what is not allowed, RuntimeError for a damaged file.
    """
    weights_only = (pickle_module is None) if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError("load(): pickle_module cannot be used with weights_only=True")
    place = _placement(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, place, pickle_module or pickle, weights_only, bool(mmap), pickle_load_args)
    if mmap:
        raise ValueError(f"f must be a file path in order to use the mmap argument, got {type(f).__name__}")
    for name in ("read", "readline", "seek", "tell"):
        if not hasattr(f, name):
            raise AttributeError(f"load(): f, a {type(f).__name__}, has no '{name}'; read it into io.BytesIO first")
    return _load(f, place, pickle_module or pickle, weights_only, False, pickle_load_args)


def _load(file: Any, place: Callable, module: Any, weights_only: bool, mmap: bool, options: dict) -> Any:
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    if not magic:
        raise EOFError("Ran out of input: the file is empty")
    if magic != b"PK\3\4":
        if mmap:
            raise RuntimeError("mmap can only be used with files saved in the zip format of PyTorch 1.6 and later")
        return _legacy_file.load(file, place, module, weights_only, options)
    archive = Reader(file)
    if "data.pkl" not in archive:
        raise RuntimeError("the zip archive has no data.pkl: no file of torch.save")
    if "constants.pkl" in archive:
        raise RuntimeError("the file is a TorchScript archive: load it with jit.load()")
    order = archive.read("byteorder").decode(errors="replace") if "byteorder" in archive else sys.byteorder
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order!r:.50}")
    fetch = _Fetch(archive, file, place, order != sys.byteorder, mmap)
    pickled = archive.read("data.pkl")
    if weights_only:
        encoding = options.pop("encoding", "utf-8")
        return Unpickler(io.BytesIO(pickled), _allowed.find, fetch, _allowed.build, len(pickled), encoding).load()
    return unrestricted(module, fetch, options)(io.BytesIO(pickled), **options).load()


def unrestricted(module: Any, persistent: Callable, options: dict) -> type:
    """The unpickler that finds PyTorch's names here and allows all others."""
    options.setdefault("encoding", "utf-8")
    members = {"find_class": lambda self, *names: find_class(super(cls, self).find_class, *names), "persistent_load": staticmethod(persistent)}
    cls = type("Unpickler", (module.Unpickler,), members)
    return cls


def storage_kind(pid: tuple, length: int) -> tuple[Any, str, str, int]:
    """(dtype or None, key, location, bytes) of a persistent id, checked."""
    if len(pid) != length or pid[0] != "storage":
        raise refuse(f"a persistent id must be ('storage', ...) with {length} parts, got {pid!r:.200}")
    kind, key, location, numel = pid[1:5]
    if not (isinstance(kind, type) and issubclass(kind, (TypedStorage, UntypedStorage))):
        raise refuse(f"{kind!r:.100} is not a class of storages")
    if type(key) is not str or type(location) is not str or type(numel) is not int or numel < 0:
        raise refuse(f"key={key!r:.50}, location={location!r:.50}, numel={numel!r:.50} of a storage: a string, a string and a size are expected")
    dt = getattr(kind, "_dtype", None)
    return dt, key, location, numel * (dt or uint8).itemsize


class _Fetch:
    """Reads storages as the pickle refers to them, each once."""

    def __init__(self, archive: Reader, file: Any, place: Callable, swap: bool, mmap: bool) -> None:
        self._archive, self._file, self._place, self._swap = archive, file, place, swap
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._map = _mapped(file) if mmap else None

    def __call__(self, pid: tuple) -> Any:
        dt, key, location, nbytes = storage_kind(pid, 5)
        if key not in self._loaded:
            size = self._archive.size(f"data/{key}")
            if size < nbytes:
                raise RuntimeError(f"storage {key} has {size} bytes where {nbytes} are needed; the file is damaged")
            self._loaded[key] = dt, self._place(lambda where: self._read(key, size, where, dt), location)
        if self._loaded[key][0] is not dt:
            raise RuntimeError(f"storage {key} is named with two dtypes")
        storage = self._loaded[key][1]
        return storage if dt is None else typed(storage, dt)

    def _read(self, key: str, size: int, where: device, dt: Any) -> UntypedStorage:
        from ._creation import empty

        if where.num == 1 or not size:
            return storage_of(empty(size, dtype=uint8, device=where))
        start = self._archive.place(f"data/{key}")
        if self._map is not None and start is not None and start % 16 == 0 and not self._swap:
            return storage_of(_lend_map(self._map, start, size))
        storage = storage_of(empty(size, dtype=uint8, device="cpu"))
        self._archive.read_into(f"data/{key}", memory_of(storage))
        if self._swap and dt is not None:
            _swap_bytes(storage, dt)
        return storage


def _mapped(file: Any) -> Any:
    import mmap

    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _lend_map(memory: Any, start: int, size: int) -> Any:
    from ._creation import frombuffer

    return frombuffer(memory, dtype=uint8, count=size, offset=start)


def _swap_bytes(storage: UntypedStorage, dt: Any) -> None:
    """From the other byte order; a complex number is two reals."""
    unit = dt.itemsize // 2 if dt.is_complex else dt.itemsize
    memory = memory_of(storage)
    for i in range(unit // 2):
        memory[i::unit], memory[unit - 1 - i :: unit] = bytes(memory[unit - 1 - i :: unit]), bytes(memory[i::unit])


# ---- where storages go -----------------------------------------------------------------------------------------------

_packages: list[tuple[int, Callable, Callable]] = []


def register_package(priority: int, tagger: Callable, deserializer: Callable) -> None:
    """Lets another distribution place storages: ``deserializer(storage, location)`` returns a storage, or None if it does not know the location."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda p: p[0])


def _default_place(read: Callable, location: str) -> UntypedStorage:
    if location in ("cpu", "meta"):
        return read(device(location))
    for _, _, deserializer in _packages:
        found = deserializer(read(device("cpu")), location)
        if found is not None:
            return found
    if location.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only "
            "machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    raise RuntimeError(f"don't know how to restore data location of a storage (tagged with {location!r:.50}); pass map_location='cpu'")


def _placement(map_location: Any) -> Callable:
    """(read, location) -> a storage; read(device) reads it there."""
    if map_location is None:
        return _default_place
    if isinstance(map_location, dict):
        names = {str(k): str(v) for k, v in map_location.items()}
        return lambda read, location: _default_place(read, names.get(location, location))
    if isinstance(map_location, (str, device)):
        return lambda read, location: _default_place(read, str(device(map_location)))
    if not callable(map_location):
        raise TypeError(f"map_location must be a device, a string, a dict or a function, not {type(map_location).__name__}")

    def called(read: Callable, location: str) -> UntypedStorage:
        storage = read(device("cpu"))
        found = map_location(storage, location)
        if found is None:
            return _default_place(lambda where: storage if where.num == 0 else storage.to(device=where), location)
        return found.untyped()

    return called


# ---- what may be loaded ---------------------------------------------------------------------------------------------------


def _full_name(item: Any) -> tuple[str, Any]:
    """The name that a file gives to a class or function, and the thing itself."""
    if isinstance(item, tuple):
        value, name = item
        if not isinstance(name, str):
            raise TypeError(f"add_safe_globals(): expected (object, name), got a name of type {type(name).__name__}")
        return name, value
    return f"{item.__module__}.{item.__qualname__}", item


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows files that are loaded with ``weights_only=True`` to name and call these classes and functions, or (object, full name) pairs."""
    _allowed.safe.update(map(_full_name, safe_globals))


def clear_safe_globals() -> None:
    """Takes back all that `add_safe_globals` allowed."""
    _allowed.safe.clear()


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` was given."""
    return list(_allowed.safe.values())


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """`add_safe_globals`, within a with block."""
    before = dict(_allowed.safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.safe.clear()
        _allowed.safe.update(before)
