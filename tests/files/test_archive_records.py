"""Archives record by record, and files of 2017 whose storages are parts of others."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import serialization


@pytest.mark.parametrize("where", ["path", "buffer"])
def test_records_come_back(tmp_path: Path, where: str) -> None:
    file: Any = tmp_path / "some.bin" if where == "path" else io.BytesIO()
    with serialization._open_zipfile_writer(file) as archive:
        archive.write_record("a", b"123", 3)
        archive.write_record("c/d", "four", 4)
        assert archive.get_all_written_records() == ["a", "c/d"]
        assert archive.archive_name() == ("some" if where == "path" else "archive")
    with serialization._open_zipfile_reader(file) as archive:
        assert archive.get_all_records() == [
            "a",
            "c/d",
            "byteorder",
            "version",
            ".data/serialization_id",
        ]
        assert archive.get_record("a") == b"123" and archive.get_record("c/d") == b"four"
        assert archive.has_record("version") and not archive.has_record("b")
        assert archive.get_record_size("c/d") == 4 and archive.get_record_offset("a") % 64 == 0
        assert len(archive.serialization_id()) == 40
        with pytest.raises(RuntimeError, match="locating file b: file not found"):
            archive.get_record("b")


def test_saved_objects_are_archives_of_records(tmp_path: Path) -> None:
    torch.save({"w": torch.arange(3.0)}, tmp_path / "w.pt")
    reader = torch.PyTorchFileReader(str(tmp_path / "w.pt"))
    assert np.array_equal(np.frombuffer(reader.get_record("data/0"), np.float32), [0, 1, 2])
    reader.close()


def test_what_is_no_archive_is_refused() -> None:
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        torch._C.PyTorchFileReader(io.BytesIO(b"no"))


def test_writers_take_no_fewer_bytes_and_nothing_after_the_end(tmp_path: Path) -> None:
    writer = torch.PyTorchFileWriter(str(tmp_path / "x"))
    with pytest.raises(ValueError, match="expected 5 bytes for 'a', but there are 2"):
        writer.write_record("a", b"12", 5)
    writer.write_end_of_file()
    with pytest.raises(RuntimeError, match="complete"):
        writer.write_record("a", b"12", 2)


class _Part:
    """Stands for the part of a storage in what is pickled below."""

    def __init__(self, key: str, first: int, count: int) -> None:
        self.key, self.first, self.count = key, first, count


def _file(obj: Any, numel: int = 4) -> io.BytesIO:
    """A file of 2017: ``obj`` with parts of one storage of the numbers 0, 1, 2, ..."""
    file = io.BytesIO()
    for part in (
        serialization.MAGIC_NUMBER,
        serialization.PROTOCOL_VERSION,
        {"little_endian": True},
    ):
        pickle.dump(part, file, protocol=2)

    class Pickler(pickle._Pickler):  # type: ignore[name-defined]
        def persistent_id(self, x: Any) -> Any:
            if isinstance(x, _Part):
                return (
                    "storage",
                    torch.FloatStorage,
                    "whole",
                    "cpu",
                    numel,
                    (x.key, x.first, x.count),
                )
            return None

        def save_global(self, x: Any, name: Any = None) -> None:
            self.write(b"ctorch\nFloatStorage\n")
            self.memoize(x)

    Pickler(file, protocol=2).dump(obj)
    pickle.dump(["whole"], file, protocol=2)
    file.write(struct.pack("<q", numel) + np.arange(numel, dtype=np.float32).tobytes())
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_parts_of_storages_share_its_memory(weights_only: bool) -> None:
    a, b, again = torch.load(
        _file([_Part("x", 0, 2), _Part("y", 1, 3), _Part("x", 0, 2)]), weights_only=weights_only
    )
    assert a.tolist() == [0, 1] and b.tolist() == [1, 2, 3] and again is a
    b[0] = 7.0
    assert a.tolist() == [0, 7]


def test_parts_beyond_the_storage_are_refused() -> None:
    with pytest.raises(RuntimeError, match="has no elements 3 to 5"):
        torch.load(_file([_Part("x", 3, 2)]))
    with pytest.raises(pickle.UnpicklingError, match="must be a key and two numbers"):
        torch.load(_file([_Part("x", -1, 2)]))
