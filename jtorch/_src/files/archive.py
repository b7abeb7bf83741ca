"""PyTorch's archives: zip files of uncompressed records, written so that storages can be mapped
into memory."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Any

import numpy as np

ALIGNMENT = 64
#: What fits into the field of padding.
MOST_ALIGNED = 1 << 15
#: How many bytes the records that are read may have, for each byte of the file and beside them.
#: Those of an honest file have no more than it has, or a few times as many where somebody deflated
#: it; but entries may name one record again and again, or zeros without end.
_TIMES, _BESIDE = 5, 32 << 20
_CORRUPT = (
    "PytorchStreamReader failed {}. This is an internal miniz error. If you are seeing this error, "
    "there is a high likelihood that your checkpoint file is corrupted. This can happen if the "
    "checkpoint was not saved properly, was transferred incorrectly, or the file was modified "
    "after saving."
)


class Writer:
    """PyTorch's archive: uncompressed records under one folder, each storage aligned so that it can
    be mapped into memory."""

    def __init__(self, file: Any, name: str, alignment: int = ALIGNMENT, version: int = 3) -> None:
        self._alignment, self._version = alignment, version
        # ZipFile must be able to tell where it is; what cannot seek gets the whole at the end.
        self._target = file
        seekable = getattr(file, "seekable", None)
        self._buffer = (
            file if seekable is not None and seekable() and hasattr(file, "tell") else io.BytesIO()
        )
        self._start = self._buffer.tell()
        self._zip = zipfile.ZipFile(self._buffer, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._name = name
        self._hash = 0

    def record(self, name: str, data: Any) -> None:
        """Writes one record (bytes, or an array)."""
        info = zipfile.ZipInfo(f"{self._name}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_STORED
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        # Offset of the data without the padding: the header, the name, and the zip64 field that
        # large records get.
        large = len(view) * 1.05 > zipfile.ZIP64_LIMIT
        offset = (
            self._buffer.tell()
            - self._start
            + 30
            + len(info.filename.encode())
            + (20 if large else 0)
        )
        padding = -(offset + 4) % self._alignment
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        info.file_size = len(view)
        with self._zip.open(info, "w", force_zip64=large) as stream:
            for i in range(0, len(view), 1 << 24):
                stream.write(view[i : i + (1 << 24)])
        self._hash = (self._hash * 1000003 + info.CRC + len(view)) % 10**20

    def close(self) -> None:
        """Writes the last records and the directory."""
        self.record("version", f"{self._version}\n".encode())
        names = zlib.crc32(self._name.encode())
        self.record(".data/serialization_id", f"{names:020d}{self._hash:020d}".encode())
        self._zip.close()
        if self._buffer is not self._target:
            self._target.write(self._buffer.getvalue())


def read_bytes(file: Any, count: int) -> bytes | bytearray:
    """Up to ``count`` bytes of a file-like object, read into place if it can."""
    if not hasattr(file, "readinto"):
        return file.read(count)
    data = bytearray(count)
    view, start = memoryview(data), 0
    while start < count and (got := file.readinto(view[start:])):
        start += got
    view.release()
    del data[start:]
    return data


class _Source:
    """A file-like object that knows ``read``, ``seek`` and ``tell`` alone, as the reader of
    archives wants it."""

    def __init__(self, file: Any) -> None:
        self._file, self.seek, self.tell = file, file.seek, file.tell

    def seekable(self) -> bool:
        return True

    def read(self, count: int = -1) -> bytes:
        return (
            self._file.read()
            if count is None or count < 0
            else bytes(read_bytes(self._file, count))
        )


class Archive:
    """A reader of PyTorch's archive."""

    def __init__(self, file: Any) -> None:
        self.file = file
        try:
            self._zip = zipfile.ZipFile(file if hasattr(file, "seekable") else _Source(file))
            names = self._zip.namelist()
            self._size = file.seek(0, 2)
            self._left = _TIMES * self._size + _BESIDE
        except Exception as e:  # what zipfile raises depends on where the damage is
            raise RuntimeError(
                _CORRUPT.format("reading zip archive: failed finding central directory")
            ) from e
        self._folder = names[0].split("/")[0] if names else ""
        self._names = set(names)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, type: object, value: object, tb: object) -> None:
        self._zip.close()

    def names(self) -> list[str]:
        """The records, in the order of the file."""
        return [n.partition("/")[2] for n in self._zip.namelist()]

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self._folder}/{name}" in self._names

    def record(self, name: str) -> bytes:
        """A record's bytes."""
        return self.array(name).tobytes()

    def array(self, name: str) -> np.ndarray:
        """A record as bytes in an array of its own; checksums are compared."""
        try:
            info = self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(_CORRUPT.format(f"locating file {name}: file not found")) from None
        # the directory was tampered with
        if info.compress_type == zipfile.ZIP_STORED and info.file_size > self._size:
            raise RuntimeError(_CORRUPT.format(f"reading file {name}: file read failed"))
        self._spend(name, info.file_size)
        data = np.empty(info.file_size, np.uint8)
        try:
            with self._zip.open(info) as stream:
                view, start = memoryview(data), 0  # type: ignore[arg-type]
                while start < len(view):
                    got = stream.readinto(view[start : start + (1 << 24)])
                    if not got:
                        raise zipfile.BadZipFile("the record is shorter than its header says")
                    start += got
                stream.read(1)  # compares the checksum
        except Exception as e:  # of many kinds, as above
            raise RuntimeError(_CORRUPT.format(f"reading file {name}: file read failed")) from e
        return data

    def _spend(self, name: str, size: int) -> None:
        """Counts what has been read.

        Raises:
            RuntimeError: if it is much more than the file holds.
        """
        self._left -= size
        if self._left < 0:
            words = (
                f"reading file {name}: the records have more than {_TIMES} times the bytes of the "
                f"file (and {_BESIDE >> 20} MiB)"
            )
            raise RuntimeError(_CORRUPT.format(words))

    def offset(self, name: str) -> tuple[int, int]:
        """Where the bytes of a record begin in the file, and how many they are."""
        try:
            info = self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(_CORRUPT.format(f"locating file {name}: file not found")) from None
        at = self.file.tell()
        self.file.seek(info.header_offset + 26)
        lengths = self.file.read(4)
        self.file.seek(at)
        start = (
            info.header_offset + 30 + sum(struct.unpack("<HH", lengths))
            if len(lengths) == 4
            else self._size
        )
        if info.compress_type != zipfile.ZIP_STORED or start + info.file_size > self._size:
            raise RuntimeError(
                _CORRUPT.format(f"reading file {name}: it cannot be mapped into memory")
            )
        self._spend(name, info.file_size)
        return start, info.file_size
