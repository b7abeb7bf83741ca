"""``torch.utils.serialization.config``: what ``torch.save`` and ``torch.load`` do where a call does
not say it."""

from __future__ import annotations

import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch as torch

config = torch.utils.serialization.config


def _starts(path: Path) -> dict[str, int]:
    """Where the data of each record begins."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        infos = file.infolist()
    found = {}
    for i in infos:
        name, extra = (
            int.from_bytes(data[i.header_offset + k : i.header_offset + k + 2], "little")
            for k in (26, 28)
        )
        found[i.filename.split("/", 1)[1]] = i.header_offset + 30 + name + extra
    return found


@pytest.mark.parametrize("alignment", [64, 100, 4096])
def test_alignment(tmp_path: Path, alignment: int) -> None:
    path = tmp_path / "a.pt"
    with config.patch("save.storage_alignment", alignment):
        torch.save({"a": torch.ones(3), "b": torch.arange(7)}, path)
    assert config.save.storage_alignment == 64
    assert all(start % alignment == 0 for start in _starts(path).values())
    with zipfile.ZipFile(path) as file:
        assert file.read("a/.storage_alignment") == str(alignment).encode()
    for mapped in (False, True):
        assert torch.load(path, mmap=mapped)["b"].tolist() == list(range(7))


@pytest.mark.parametrize("alignment", [0, -3, 1 << 20, "64"])
def test_impossible_alignments_leave_the_file(tmp_path: Path, alignment: Any) -> None:
    path = tmp_path / "a.pt"
    torch.save(torch.ones(3), path)
    before = path.read_bytes()
    with (
        config.patch("save.storage_alignment", alignment),
        pytest.raises(ValueError, match="storage_alignment must be"),
    ):
        torch.save(torch.zeros(3), path)
    assert path.read_bytes() == before


def test_mapping_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pt"
    torch.save(torch.arange(5.0), path)
    mapped: list[Any] = []
    real = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *args: mapped.append(args) or real(*args))
    assert torch.load(path).tolist() == [0, 1, 2, 3, 4]
    assert not mapped
    with config.patch({"load.mmap": True}):
        assert torch.load(path).tolist() == [0, 1, 2, 3, 4]
        assert len(mapped) == 1
        assert torch.load(path, mmap=False).tolist() == [0, 1, 2, 3, 4]
        with path.open("rb") as file, pytest.raises(ValueError, match="f must be a file path"):
            torch.load(file)
    assert len(mapped) == 1


def test_shared_mappings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(torch.ones(2), path)
    with config.patch("load.mmap_flags", mmap.MAP_SHARED):
        assert torch.load(path).tolist() == [1, 1]
        with pytest.raises(NotImplementedError, match="never write into a file"):
            torch.load(path, mmap=True)


def test_other_names_are_refused() -> None:
    for wrong in (
        lambda: config.load.map,
        lambda: setattr(config.save, "alignment", 1),
        lambda: config.patch("load.map", True).__enter__(),
    ):
        with pytest.raises(
            AttributeError,
            match=r"torch.utils.serialization.config.(load.map|save.alignment) does not exist",
        ):
            wrong()
    with (
        pytest.raises(AttributeError, match=r"save\.x"),
        config.patch({"load.mmap": True, "save.x": 1}),
    ):
        pass
    assert config.load.mmap is False


def test_setters_of_serialization_are_these_settings() -> None:
    serialization = torch.serialization
    big = serialization.LoadEndianness.BIG
    with config.patch("load.endianness", big):
        assert serialization.get_default_load_endianness() is big
    serialization.set_crc32_options(False)
    assert config.save.compute_crc32 is False
    serialization.set_crc32_options(True)
    assert config.load.mmap_flags == serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


def test_folders_for_a_while() -> None:
    with torch.serialization.mkdtemp() as path:
        (Path(path) / "x").write_text("x")
    assert not Path(path).exists()
