"""Archives record by record: ``torch.PyTorchFileReader`` and ``PyTorchFileWriter``, and how
``torch.serialization`` opens them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core import from_host
from ..facts import devices, dtypes
from .archive import Archive, Writer

if TYPE_CHECKING:
    from ...core import Tensor


class PyTorchFileReader:
    """The records of an archive at a path, or in a file that can be read and sought.

    Raises:
        RuntimeError: if it is no archive.

    Example:
        >>> import jtorch as torch, io
        >>> file = io.BytesIO()
        >>> torch.save([1], file)
        >>> torch.PyTorchFileReader(file).has_record("data.pkl")
        True
    """

    def __init__(self, name_or_buffer: object) -> None:
        # closed with it
        self._own = (
            open(name_or_buffer, "rb") if isinstance(name_or_buffer, (str, os.PathLike)) else None  # noqa: SIM115
        )
        try:
            self._archive = Archive(name_or_buffer if self._own is None else self._own)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file, if it was opened here."""
        if self._own is not None:
            self._own.close()

    __del__ = close

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._archive.names()

    def has_record(self, name: str) -> bool:
        """Whether there is such a record."""
        return self._archive.has(name)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record.

        Raises:
            RuntimeError: if there is none of that name, or it is damaged.
        """
        return self._archive.record(name)

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        return self._archive.offset(name)[0]

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._archive.offset(name)[1]

    def get_storage_from_record(self, name: str, numel: int, dtype: object) -> Tensor:
        """A tensor of size 0 whose storage has the bytes of a record, ``numel`` elements of
        ``dtype``; bytes for a class of storages.

        Raises:
            RuntimeError: if there is no such record, or it has another size.
        """
        kind = dtype if isinstance(dtype, dtypes.dtype) else dtypes.uint8
        data = self._archive.array(name)
        if data.nbytes != numel * kind.itemsize:
            raise RuntimeError(
                f"record size ({data.nbytes} bytes) does not match expected size "
                f"({numel * kind.itemsize} bytes = {numel} elements * {kind.itemsize} "
                f"bytes/element) for dtype {kind.scalar_name}"
            )
        return from_host(data.view(kind.np), devices.device("cpu"))[:0].detach()

    def serialization_id(self) -> str:
        """What tells this archive from others; nothing where it does not say."""
        name = ".data/serialization_id"
        return self._archive.record(name).decode() if self._archive.has(name) else ""


class PyTorchFileWriter:
    """A new archive at a path, or in a file. It is complete after ``write_end_of_file``."""

    def __init__(self, name_or_buffer: Any) -> None:
        path = os.fspath(name_or_buffer) if isinstance(name_or_buffer, (str, os.PathLike)) else None
        self._name = "archive" if path is None else os.path.splitext(os.path.basename(path))[0]
        self._own = None if path is None else open(path, "wb")  # noqa: SIM115 (closed at the end)
        self._writer: Writer | None = Writer(
            name_or_buffer if self._own is None else self._own, self._name
        )
        self._records: list[str] = []

    def archive_name(self) -> str:
        """The name of the folder in which all records are."""
        return self._name

    def get_all_written_records(self) -> list[str]:
        """The names of the records so far."""
        return list(self._records)

    def write_record(self, name: str, data: bytes | str, size: int) -> None:
        """Writes a record of ``size`` bytes: those of a text, of a buffer, or of a storage.

        Raises:
            RuntimeError: after the end of the file.
            ValueError: if there are fewer bytes.
        """
        if self._writer is None:
            raise RuntimeError(
                "PytorchStreamWriter failed writing a record: the archive is complete"
            )
        if isinstance(data, str):
            data = data.encode()
        elif hasattr(data, "untyped"):
            data = bytes(data.untyped().tolist())
        if len(data) < size:
            raise ValueError(
                f"write_record(): expected {size} bytes for {name!r}, but there are {len(data)}"
            )
        self._writer.record(name, memoryview(data)[:size])
        self._records.append(name)

    def write_end_of_file(self) -> None:
        """Writes what is needed to read the archive, and closes the file if it was opened here."""
        if self._writer is None:
            return
        if "byteorder" not in self._records:
            self.write_record("byteorder", sys.byteorder, len(sys.byteorder))
        self._writer.close()
        self._writer = None
        if self._own is not None:
            self._own.close()


@contextlib.contextmanager
def open_reader(name_or_buffer: object) -> Iterator[PyTorchFileReader]:
    """A block in which an archive is read."""
    reader = PyTorchFileReader(name_or_buffer)
    try:
        yield reader
    finally:
        reader.close()


@contextlib.contextmanager
def open_writer(name_or_buffer: object) -> Iterator[PyTorchFileWriter]:
    """A block in which an archive is written; it is complete at its end."""
    writer = PyTorchFileWriter(name_or_buffer)
    yield writer
    writer.write_end_of_file()
    if hasattr(name_or_buffer, "flush"):
        name_or_buffer.flush()


__all__ = ["PyTorchFileReader", "PyTorchFileWriter", "open_reader", "open_writer"]
