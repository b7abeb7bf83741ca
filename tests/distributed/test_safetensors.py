"""Checkpoints in the safetensors format, by one process; those of several are in
``programs/checkpoints.py``."""

from __future__ import annotations

import json
import os
import struct
import warnings
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
import jtorch.distributed.checkpoint as dcp
from jtorch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files

HEADER = struct.Struct("<Q")


@pytest.fixture(autouse=True)
def _alone():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


def state() -> dict[str, Any]:
    kinds = [
        torch.bool,
        torch.uint8,
        torch.int16,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.float8_e4m3fn,
    ]
    found = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in kinds}
    return found | {
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "part": torch.arange(12.0).reshape(3, 4)[:, 1:3],
    }


def header(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    (length,) = HEADER.unpack(data[:8])
    found = json.loads(data[8 : 8 + length])
    # as the format wants it: every element at a multiple of its size
    for name, entry in found.items():
        if name != "__metadata__" and entry["data_offsets"][1]:
            size = {"BOOL": 1, "U8": 1, "F8_E4M3": 1, "I16": 2, "F16": 2, "BF16": 2, "F32": 4}.get(
                entry["dtype"], 8
            )
            assert (8 + length + entry["data_offsets"][0]) % size == 0
    return found


def written(
    path: Path,
    tensors: dict[str, tuple[str, list[int], bytes]],
    facts: dict[str, str] | None = None,
) -> None:
    entries: dict[str, Any] = {} if facts is None else {"__metadata__": facts}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(entries).encode()
    path.write_bytes(
        HEADER.pack(len(text)) + text + b"".join(data for _, _, data in tensors.values())
    )


def test_round_trip(tmp_path: Path) -> None:
    dcp.save(state(), storage_writer=dcp.HuggingFaceStorageWriter(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [
        "model-00001-of-00001.safetensors",
        "model.safetensors.index.json",
    ]
    found = header(tmp_path / "model-00001-of-00001.safetensors")
    assert (
        found["torch.bfloat16"]["dtype"] == "BF16"
        and found["part"]["shape"] == [3, 2]
        and found["__metadata__"]["format"] == "pt"
    )
    listed = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert set(listed["weight_map"]) == set(state()) and listed["metadata"]["total_size"] == sum(
        t.nbytes for t in state().values()
    )
    read = {name: torch.zeros_like(t) for name, t in state().items()}
    dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
    for name, t in state().items():
        assert (
            read[name].dtype is t.dtype
            and read[name].shape == t.shape
            and read[name].tolist() == t.tolist()
        ), name


def test_several_files_and_the_checkpoint_before(tmp_path: Path) -> None:
    mapping = {name: 1 + i % 3 for i, name in enumerate(state())}
    dcp.save(
        state(), storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, mapping, thread_count=2)
    )
    (tmp_path / "other.txt").write_text("stays")
    assert len(list(tmp_path.glob("model-*-of-00003.safetensors"))) == 3
    read = {"part": torch.zeros(3, 2), "scalar": torch.tensor(0.0)}
    dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(tmp_path, thread_count=3))
    assert read["part"].tolist() == [[1, 2], [5, 6], [9, 10]] and read["scalar"].item() == 2.5
    dcp.save({"scalar": torch.tensor(7.0)}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [
        "model-00001-of-00001.safetensors",
        "model.safetensors.index.json",
        "other.txt",
    ]
    assert list(dcp.HuggingFaceStorageReader(tmp_path).read_metadata().state_dict_metadata) == [
        "scalar"
    ]


def test_files_of_others(tmp_path: Path) -> None:
    whole = struct.pack("<6f", *range(6))
    written(
        tmp_path / "a.safetensors",
        {"w": ("F32", [2, 3], whole), "n": ("I32", [], struct.pack("<i", 5))},
    )
    read = {"w": torch.zeros(2, 3), "n": torch.tensor(0)}
    dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
    assert (
        read["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
        and read["n"].item() == 5
        and read["n"].dtype is torch.int64
    )
    damaged: tuple[tuple[bytes, str], ...] = (
        (b"", "header is not whole"), (HEADER.pack(4) + b"{..}", "cannot be read"),
        (HEADER.pack(1 << 40) + b"{}", "header is not whole"),
        ((tmp_path / "a.safetensors").read_bytes().replace(b"[2, 3]", b"[9, 3]"), "bytes where"),
        ((tmp_path / "a.safetensors").read_bytes().replace(b"F32", b"F4X"), "dtype F4X"),
    )  # fmt: skip
    for data, words in damaged:
        (tmp_path / "a.safetensors").write_bytes(data)
        with pytest.raises(ValueError, match=words):
            dcp.HuggingFaceStorageReader(tmp_path).read_metadata()


def test_what_is_refused(tmp_path: Path) -> None:
    for values, mapping, words in (
        ({"n": 3}, None, "n is no tensor"),
        ({"w": torch.ones(2)}, {"other": 1}, "lacks w"),
        ({"w": torch.ones(2, dtype=torch.complex128)}, None, "complex128"),
    ):
        with pytest.raises(dcp.CheckpointException, match=words):
            dcp.save(values, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, mapping))
    assert not os.listdir(tmp_path)


def test_consolidation(tmp_path: Path) -> None:
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    parts.mkdir()
    for number, columns in enumerate(((0, 1), (2,))):
        data = struct.pack(
            f"<{2 * len(columns)}h", *(row * 3 + column for row in range(2) for column in columns)
        )
        sharding = {"DCP_SHARDING_INFO": json.dumps({"w": {"saved_offsets": [0, columns[0]]}})}
        written(
            parts / f"shard-{number}.safetensors", {"w": ("I16", [2, len(columns)], data)}, sharding
        )
    written(parts / "shard-9.safetensors", {"s": ("F64", [], struct.pack("<d", 1.5))})
    consolidate_safetensors_files(str(parts), str(whole), {"w": 1, "s": 2}, num_threads=2)
    assert header(whole / "model-00001-of-00002.safetensors")["w"]["shape"] == [2, 3]
    read = {"w": torch.zeros(2, 3, dtype=torch.int16), "s": torch.tensor(0.0)}
    dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(whole))
    assert read["w"].tolist() == [[0, 1, 2], [3, 4, 5]] and read["s"].item() == 1.5
    with pytest.raises(ValueError, match="absent"):
        consolidate_safetensors_files(str(parts), str(whole), {"absent": 1})
    (parts / "shard-1.safetensors").unlink()
    written(
        parts / "shard-2.safetensors",
        {"w": ("I16", [1, 1], b"\0\0")},
        {"DCP_SHARDING_INFO": '{"w": {"saved_offsets": [3, 2]}}'},
    )
    with pytest.raises(ValueError, match="do not make up"):
        consolidate_safetensors_files(str(parts), str(whole), {"w": 1})


def test_quantised_weights(tmp_path: Path) -> None:
    weight, scales = (
        torch.arange(15.0).reshape(3, 5).to(torch.float8_e4m3fn),
        torch.tensor([[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]),
    )
    data = bytes(weight.view(torch.uint8).reshape(-1).tolist())
    written(
        tmp_path / "a.safetensors",
        {"x.weight": ("F8_E4M3", [3, 5], data), "y": ("F32", [1], struct.pack("<f", 3))},
    )
    written(
        tmp_path / "b.safetensors",
        {"x.weight_scale_inv": ("F32", [2, 3], struct.pack("<6f", *scales.reshape(-1).tolist()))},
    )
    read = {"x.weight": torch.zeros(3, 5), "y": torch.zeros(1)}
    dcp.load(read, storage_reader=dcp.QuantizedHuggingFaceStorageReader(tmp_path, block_size=2))
    factors = scales.repeat_interleave(2, 0)[:3].repeat_interleave(2, 1)[:, :5]
    assert torch.equal(read["x.weight"], weight.float() * factors) and read["y"].item() == 3
    written(
        tmp_path / "c.safetensors",
        {"e_blocks": ("U8", [1, 1], b"\0"), "e_scales": ("U8", [1], b"\0")},
    )
    with pytest.raises(dcp.CheckpointException, match="MXFP4"):
        dcp.load(read, storage_reader=dcp.QuantizedHuggingFaceStorageReader(tmp_path))
