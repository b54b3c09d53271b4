"""The zip archives that tensors are saved in: entries are stored as they are, each aligned, under one folder.

Written with `zipfile`. Read by offset, so that an entry lands in a tensor's memory without a copy, and can be mapped;
every offset and size is checked against the file first.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

ALIGNMENT = 64
_LOCAL_HEADER = 30  # bytes of an entry's header before its name
_ZIP64 = 20  # bytes that zipfile adds to it for a large entry
_DEFLATE_MOST = 1032  # bytes that a byte can stand for: a larger claim is no archive
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same file for the same data


class Writer:
    """Writes entries ``<root>/<name>``."""

    def __init__(self, file: Any, root: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._root = root

    def write(self, name: str, data: Any) -> None:
        """Adds an entry whose bytes start at a multiple of ALIGNMENT."""
        view = memoryview(data).cast("B")
        info = zipfile.ZipInfo(f"{self._root}/{name}", _EPOCH)
        info.file_size = view.nbytes
        header = _LOCAL_HEADER + len(info.filename.encode()) + (_ZIP64 if view.nbytes * 1.05 > zipfile.ZIP64_LIMIT else 0)
        # An extra field, 4 bytes and its content, fills the gap. "FB" is what PyTorch calls it.
        fill = -(self._zip.start_dir + header + 4) % ALIGNMENT
        info.extra = struct.pack("<2sH", b"FB", fill) + b"Z" * fill
        with self._zip.open(info, "w") as entry:
            entry.write(view)

    def abandon(self) -> None:
        """After a failure: nothing more is written, also when the object goes."""
        self._zip.fp = None

    def close(self) -> None:
        """Writes the directory."""
        self._zip.close()


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` once it is complete; if writing fails, what was there stays."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device has nothing to be replaced
        with open(target, "wb") as f:
            yield f
        return
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        f = open(temporary, "xb")  # noqa: SIM115
    except PermissionError:  # the file may be writable where its folder is not
        with open(target, "wb") as f:
            yield f
        return
    except FileNotFoundError:
        raise RuntimeError(f"Parent directory {os.path.dirname(target)} does not exist.") from None
    try:
        with f:
            yield f
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


class Reader:
    """Reads the entries of an archive, without regard to the name of their folder."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = file.tell()
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OverflowError) as error:
            raise RuntimeError(f"failed reading zip archive: {error}. The file may be incomplete or damaged.") from error
        self._length = file.seek(0, io.SEEK_END)
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            self._entries.setdefault(info.filename.partition("/")[2], info)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        return list(self._entries)

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._entries[name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def size(self, name: str) -> int:
        """The bytes of an entry: never more than the file has, but for a compressed one."""
        info = self._info(name)
        if info.compress_type == zipfile.ZIP_STORED:
            self._place(info)
        elif info.file_size > _DEFLATE_MOST * info.compress_size + 64:
            raise RuntimeError(f"{info.filename}: {info.compress_size} bytes cannot hold {info.file_size}; the file is damaged")
        return info.file_size

    def _place(self, info: zipfile.ZipInfo) -> int:
        """Where a stored entry's bytes start, after checking that they are there."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) != _LOCAL_HEADER or header[:4] != b"PK\3\4":
            raise RuntimeError(f"{info.filename}: no entry at offset {info.header_offset} of the archive; the file is damaged")
        name, extra = struct.unpack("<HH", header[26:30])
        start = info.header_offset + _LOCAL_HEADER + name + extra
        if info.file_size != info.compress_size or info.file_size < 0 or start + info.file_size > self._length:
            raise RuntimeError(f"{info.filename}: {info.file_size} bytes at offset {start} of an archive of {self._length} bytes; "
                               "the file is damaged")  # fmt: skip
        return start

    def place(self, name: str) -> int | None:
        """The offset of an entry's bytes in the file; None for a compressed one."""
        info = self._info(name)
        return self._place(info) if info.compress_type == zipfile.ZIP_STORED else None

    def read(self, name: str) -> bytes:
        """An entry's bytes."""
        out = bytearray(self.size(name))
        self.read_into(name, memoryview(out))
        return bytes(out)

    def read_into(self, name: str, out: memoryview) -> None:
        """Fills ``out`` with the first bytes of an entry. RuntimeError where it has fewer."""
        info = self._info(name)
        if out.nbytes > info.file_size:
            raise RuntimeError(f"{info.filename}: {info.file_size} bytes where {out.nbytes} are needed; the file is damaged")
        if not out.nbytes:
            return
        if info.compress_type != zipfile.ZIP_STORED:
            try:
                with self._zip.open(info) as entry:
                    _fill(entry, out, info.filename)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                raise RuntimeError(f"{info.filename}: cannot be read ({error})") from error
            return
        # No checksums: PyTorch can be told not to write them, and does not read them.
        self._file.seek(self._place(info))
        _fill(self._file, out, info.filename)


def _fill(file: Any, out: memoryview, name: str) -> None:
    """Reads exactly as much as there is room for."""
    done = 0
    into = getattr(file, "readinto", None)
    while done < out.nbytes:
        if into is not None:
            n = into(out[done : done + (1 << 28)])
        else:
            piece = file.read(min(out.nbytes - done, 1 << 28))
            n = len(piece)
            out[done : done + n] = piece
        if not n:
            raise RuntimeError(f"{name}: the file ends after {done} of {out.nbytes} bytes")
        done += n
