"""Files that PyTorch wrote before 1.6: pickles one after another, then each storage's length and bytes."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

from . import _allowed
from ._dtype import uint8
from ._storage import memory_of, storage_of, typed
from ._unpickler import Unpickler, refuse

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def load(file: Any, place: Callable, module: Any, weights_only: bool, options: dict) -> Any:
    """Reads such a file from where ``file`` stands. UnpicklingError for anything else."""
    from .serialization import storage_kind, unrestricted

    start = file.tell()
    length = file.seek(0, io.SEEK_END) - start
    file.seek(start)
    storages: dict[str, tuple[Any, Any, int]] = {}
    total = 0

    def persistent(pid: tuple) -> Any:
        nonlocal total
        if pid and pid[0] == "module":  # the source text of a class, which is not needed
            return pid[1]
        dt, key, location, nbytes = storage_kind(pid, 6)
        if pid[5] is not None:
            raise refuse("a view of a storage, as files of PyTorch before 0.4 have")
        if key not in storages:
            total += nbytes
            if total > length:
                raise RuntimeError(f"storages of {total} bytes in a file of {length}; the file is damaged")
            storages[key] = dt, place(lambda where: _unset(nbytes, where), location), nbytes
        if storages[key][0] is not dt:
            raise RuntimeError(f"storage {key} is named with two dtypes")
        return storages[key][1] if dt is None else typed(storages[key][1], dt)

    def plain() -> Any:
        return Unpickler(file, _nothing, _nothing, _nothing, length).load()

    if plain() != _MAGIC:
        raise refuse("the file begins with neither the zip format's magic number nor that of older files")
    if (version := plain()) != _PROTOCOL:
        raise refuse(f"protocol version {version!r:.50} of an older file, where {_PROTOCOL} is known")
    system = plain()
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise RuntimeError("an older file from a big-endian machine cannot be loaded")
    if weights_only:
        encoding = options.pop("encoding", "utf-8")
        result = Unpickler(file, _allowed.find, persistent, _allowed.build, length, encoding).load()
    else:
        result = unrestricted(module, persistent, options)(file, **options).load()
    keys = plain()
    if not isinstance(keys, list):
        raise refuse("the list of storages is missing")
    for key in keys:
        if key not in storages:
            raise RuntimeError(f"storage {key!r:.50} is in the file, but nothing refers to it; the file is damaged")
        dt, storage, nbytes = storages[key]
        header = file.read(8)
        if len(header) != 8 or struct.unpack("<q", header)[0] * (dt or uint8).itemsize != nbytes:
            raise RuntimeError(f"the length of storage {key} is not what it should be; the file is damaged")
        _read(file, storage, nbytes, key)
    return result


def _nothing(*args: Any) -> Any:
    raise refuse("the header of an older file has only numbers and names")


def _unset(nbytes: int, where: Any) -> Any:
    from ._creation import empty

    return storage_of(empty(nbytes, dtype=uint8, device=where))


def _read(file: Any, storage: Any, nbytes: int, key: str) -> None:
    """Fills a storage; the bytes of one on meta are skipped."""
    if storage.device.num != 0:
        file.seek(nbytes, io.SEEK_CUR)
        return
    memory = memory_of(storage)
    done = 0
    while done < nbytes:
        piece = file.read(min(nbytes - done, 1 << 26))
        if not piece:
            raise RuntimeError(f"the file ends after {done} of {nbytes} bytes of storage {key}")
        memory[done : done + len(piece)] = piece
        done += len(piece)
