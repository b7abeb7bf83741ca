"""Files of the safetensors format: a header in JSON, which says of each tensor its dtype, shape and
bytes, then the bytes."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

import jtorch as torch

from .._arrays import bytes_of, made, taken

SUFFIX = ".safetensors"
#: Under which key of a file's own facts it says where its tensors lie in those that several files
#: make up.
SHARDING = "DCP_SHARDING_INFO"
_LENGTH = struct.Struct("<Q")
#: A longer header is none: that of the format's own library ends there as well.
_LONGEST = 100_000_000
_NAMES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16,
    "U16": torch.uint16, "I32": torch.int32, "U32": torch.uint32, "I64": torch.int64,
    "U64": torch.uint64, "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32,
    "F64": torch.float64, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
    "C64": torch.complex64,
}  # fmt: skip
_WRITTEN = {dtype: name for name, dtype in _NAMES.items()}


@dataclass(frozen=True)
class Entry:
    """A tensor of a file: its dtype and shape, the place of its bytes in the file, and its offset
    in a larger tensor."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    end: int
    offset: tuple[int, ...]


def read_header(stream: BinaryIO, name: str) -> dict[str, Entry]:
    """What a file says about its tensors.

    Raises:
        ValueError: if it is no such file, or names a dtype that is not known.
    """
    (length,) = _LENGTH.unpack(stream.read(8).ljust(8, b"\xff"))
    text = stream.read(length) if length <= _LONGEST else b""
    if len(text) != length:
        raise ValueError(
            f"{name} is no file of the safetensors format, or is damaged: its header is not whole"
        )
    try:
        header = json.loads(text)
        facts = header.pop("__metadata__", None) or {}
        offsets = json.loads(facts.get(SHARDING) or "{}")
        found = {}
        for key, entry in header.items():
            if entry["dtype"] not in _NAMES:
                raise ValueError(
                    f"{name}: tensors of the dtype {entry['dtype']} ({key}) are not read by jtorch"
                )
            dtype, shape, (start, end) = (
                _NAMES[entry["dtype"]],
                tuple(entry["shape"]),
                entry["data_offsets"],
            )
            if end - start != math.prod(shape) * dtype.itemsize:
                raise ValueError(
                    f"{name}: {key} has {end - start} bytes where its dtype and shape want another "
                    "number"
                )
            offset = tuple(offsets[key]["saved_offsets"]) if key in offsets else (0,) * len(shape)
            found[key] = Entry(dtype, shape, start + 8 + length, end + 8 + length, offset)
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError) as e:
        raise ValueError(
            f"{name} is no file of the safetensors format, or is damaged: its header cannot be "
            f"read ({e})"
        ) from None
    return found


def read_bytes(stream: BinaryIO, entry: Entry, name: str) -> np.ndarray:
    """A tensor's bytes.

    Raises:
        RuntimeError: if the file ends before them.
    """
    stream.seek(entry.start)
    data = stream.read(entry.end - entry.start)
    if len(data) != entry.end - entry.start:
        raise RuntimeError(f"The checkpoint is damaged: {name} ends before byte {entry.end}")
    return np.frombuffer(data, np.uint8)


def read_tensor(stream: BinaryIO, entry: Entry, name: str) -> torch.Tensor:
    """A tensor."""
    return made(
        read_bytes(stream, entry, name)
        .view(torch.empty(0, dtype=entry.dtype)._aval.dtype)
        .reshape(entry.shape)
        .copy()
    )


def in_order(kinds: Mapping[str, tuple[torch.dtype, Sequence[int]]]) -> list[str]:
    """Names in the order in which tensors are written: the largest elements first, so that each
    begins where its dtype may."""
    return sorted(kinds, key=lambda key: (-kinds[key][0].itemsize, key))


def write_header(
    stream: BinaryIO,
    kinds: Mapping[str, tuple[torch.dtype, Sequence[int]]],
    offsets: Mapping[str, Sequence[int]] | None,
) -> None:
    """Writes what stands before the bytes of tensors, which follow by ``in_order``.

    Raises:
        TypeError: for a dtype that the format has not.
    """
    facts = {"format": "pt"}
    if offsets is not None:
        facts["DCP_VERSION"] = "1.0"
        facts[SHARDING] = json.dumps(
            {key: {"saved_offsets": list(offset)} for key, offset in offsets.items()}
        )
    header: dict[str, object] = {"__metadata__": facts}
    at = 0
    for key in in_order(kinds):
        dtype, shape = kinds[key]
        if dtype not in _WRITTEN:
            raise TypeError(f"the safetensors format has no tensors of the dtype {dtype} ({key})")
        end = at + math.prod(shape) * dtype.itemsize
        header[key] = {"dtype": _WRITTEN[dtype], "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(_LENGTH.pack(len(text)) + text)


def write_file(
    stream: BinaryIO, tensors: dict[str, torch.Tensor], offsets: Mapping[str, Sequence[int]]
) -> None:
    """Writes tensors, and where they lie in larger ones."""
    kinds = {key: (t.dtype, tuple(t.shape)) for key, t in tensors.items()}
    write_header(stream, kinds, offsets)
    stream.writelines(bytes_of(taken(tensors[key].detach().cpu())).data for key in in_order(kinds))
