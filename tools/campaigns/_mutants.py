"""Checkpoints that were damaged, or made to do harm: what the campaign ``checkpoints`` and the
tests of ``load`` read.

Everything follows from the random generator that is given, so that each file can be made again.
"""

from __future__ import annotations

import collections
import io
import json
import pickle
import pickletools
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import jtorch as torch


def sample() -> Any:
    """What the files hold that are then damaged: tensors of each kind, views, containers and
    numbers."""
    whole = torch.arange(6.0).reshape(2, 3)
    return collections.OrderedDict(
        weight=whole,
        view=whole[1],
        index=torch.tensor([1, 2]),
        half=torch.tensor([1.5], dtype=torch.bfloat16),
        wide=torch.tensor([7], dtype=torch.uint16),
        parameter=torch.nn.Parameter(torch.ones(2)),
        rest=[
            1,
            2.5,
            "x",
            None,
            True,
            (1, {"k": 3}),
            torch.float32,
            torch.Size((2,)),
            torch.device("cpu"),
        ],
    )


def saved(obj: Any = None, **options: Any) -> bytes:
    """The file of an object, or of the sample."""
    file = io.BytesIO()
    torch.save(sample() if obj is None else obj, file, **options)
    return file.getvalue()


def with_pickle(archive: bytes, pickled: bytes) -> bytes:
    """An archive whose pickle is replaced, with a checksum that fits."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickled if name.endswith("data.pkl") else old.read(name))
    return made.getvalue()


def pickle_of(archive: bytes) -> bytes:
    """The pickle in an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return file.read("archive/data.pkl")


# ---- at random -----------------------------------------------------------------------------------

OPCODES = bytes(torch.serialization._weights_only_unpickler.Unpickler.dispatch)
EDGES = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80")


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bytes changed, added, taken away and repeated."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(made))
        match rng.randrange(7):
            case 0:
                made[at] = rng.randrange(256)
            case 1:
                made[at] ^= 1 << rng.randrange(8)
            case 2 if len(made) > 9:
                del made[at : at + rng.randrange(1, 9)]
            case 3:
                made[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 4:
                start = rng.randrange(len(made))
                made[at:at] = made[start : start + rng.randrange(1, 40)]
            case 5:
                made[at : at + 4] = rng.choice(EDGES)
            case _:
                made[at] = rng.choice(OPCODES)
    if rng.random() < 0.1:
        del made[rng.randrange(len(made)) :]
    return bytes(made)


def other_opcodes(rng: random.Random, pickled: bytes) -> bytes:
    """Whole opcodes of a pickle taken away, repeated, moved, and their numbers changed."""
    starts = [at for _, _, at in pickletools.genops(pickled) if at is not None]
    ops = [pickled[a:b] for a, b in zip(starts, [*starts[1:], len(pickled)])]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, other = rng.randrange(len(ops)), rng.randrange(len(ops))
        match rng.randrange(5):
            case 0:
                del ops[at]
            case 1:
                ops.insert(at, ops[other])
            case 2:
                ops[at], ops[other] = ops[other], ops[at]
            case 3:
                ops[at] = b"J" + rng.choice(EDGES)
            case _:  # a number that is not small
                ops[at] = b"\x8a\x09" + rng.choice(
                    (b"\0" * 8 + b"\1", b"\0" * 7 + b"\x80\0", b"\xff" * 9)
                )
    return b"".join(ops)


def other_entries(rng: random.Random, archive: bytes) -> bytes:
    """Entries of an archive taken away, repeated, exchanged, deflated, renamed, or given sizes that
    are not theirs."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        entries = [(name, old.read(name), zipfile.ZIP_STORED) for name in old.namelist()]
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, other = rng.randrange(len(entries)), rng.randrange(len(entries))
        name, data, kind = entries[at]
        match rng.randrange(6):
            case 0:
                del entries[at]
            case 1:
                entries.insert(other, entries[at])
            case 2:
                entries[at] = (name, entries[other][1], kind)
            case 3:
                entries[at] = (name, bytes(rng.choice((0, 10, 1 << 20))), zipfile.ZIP_DEFLATED)
            case 4:
                entries[at] = (
                    rng.choice((name + "/", "/" + name, "../" + name, name[:-1], "", name * 50)),
                    data,
                    kind,
                )
            case _:
                entries[at] = (name, data, zipfile.ZIP_DEFLATED)
        if not entries:
            break
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as new:
        for name, data, kind in entries:
            new._didModify = True  # type: ignore[attr-defined]
            new.NameToInfo.pop(name, None)  # no warning of names that are there twice
            new.writestr(zipfile.ZipInfo(name), data, kind)
    found = bytearray(made.getvalue())
    if rng.random() < 0.3:
        at, places = -1, []
        while (at := found.find(b"PK\x01\x02", at + 1)) >= 0:
            places.append(at)
        for at in rng.sample(places, min(len(places), 2)):
            # sizes, lengths of name and extra field, where the entry lies
            field = rng.choice((20, 24, 28, 30, 42))
            found[at + field : at + field + 4] = rng.choice(
                (*EDGES, struct.pack("<I", rng.randrange(len(found))))
            )
    return bytes(found)


def safetensors_file(header: Any, data: bytes) -> bytes:
    """A file of safetensors with that header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def mutated_safetensors(rng: random.Random) -> bytes:
    """A file of safetensors with other bytes, or a header that says something else."""
    header: dict[str, Any] = {
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    }
    data = bytes(range(32))
    if rng.random() < 0.5:
        return mutated(rng, safetensors_file(header, data))
    tensor = header[rng.choice("ab")]
    numbers = (0, -1, 1, 7, 24, 1 << 31, 1 << 62, 1 << 64, 1.5, None)
    match rng.randrange(4):
        case 0:
            tensor["dtype"] = rng.choice(("F64", "I8", "BOOL", "F8_E4M3", "X", 3, None))
        case 1:
            tensor["shape"] = [rng.choice(numbers) for _ in range(rng.randrange(4))]
        case 2:
            tensor["data_offsets"] = [rng.choice(numbers) for _ in range(2)]
        case _:
            return (
                struct.pack("<Q", rng.choice((0, 1, 1 << 31, 1 << 62, (1 << 64) - 1)))
                + json.dumps(header).encode()
                + data
            )
    return safetensors_file(header, data)


#: How the files are made that are read in the three formats, by name.
KINDS: dict[str, Callable[[random.Random], bytes]] = {}


def kinds() -> dict[str, Callable[[random.Random], bytes]]:
    """Each kind of file drawn at random: name, and what makes one."""
    if not KINDS:
        archive, legacy = saved(), saved(_use_new_zipfile_serialization=False)
        pickled = pickle_of(archive)
        KINDS.update(
            {
                "archive": lambda rng: mutated(rng, archive),
                "pickle": lambda rng: with_pickle(archive, mutated(rng, pickled)),
                "opcodes": lambda rng: with_pickle(archive, other_opcodes(rng, pickled)),
                "entries": lambda rng: other_entries(rng, archive),
                "legacy": lambda rng: mutated(rng, legacy),
                "safetensors": mutated_safetensors,
            }
        )
    return KINDS


# ---- by hand -------------------------------------------------------------------------------------


def named(path: str) -> bytes:
    """The opcode that looks up a class or function."""
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def _string(text: str) -> bytes:
    return b"X" + struct.pack("<i", len(text.encode())) + text.encode()


def _long(number: int) -> bytes:
    data = number.to_bytes(16, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def _called(path: str, *args: bytes) -> bytes:
    return named(path) + b"(" + b"".join(args) + b"tR"


def _doubled(depth: int) -> bytes:
    """A tuple of two tuples of two tuples ..., each of which is one object: small in the file, and
    endless for who walks over it."""
    return b")" + b"".join(b"q%ch%c\x86" % (i, i) for i in range(depth))


def _deep(depth: int) -> bytes:
    return b")" + b"\x85" * depth


def _storage(kind: str = "FloatStorage", key: str = "0", numel: int = 6) -> bytes:
    return (
        b"("
        + _string("storage")
        + named(f"torch.{kind}")
        + _string(key)
        + _string("cpu")
        + b"K%ctQ" % numel
    )


def _tensor(
    size: bytes, stride: bytes, offset: bytes = b"K\0", storage: bytes | None = None
) -> bytes:
    ordered = named("collections.OrderedDict") + b")R"
    return _called(
        "torch._utils._rebuild_tensor_v2",
        storage or _storage(),
        offset,
        size,
        stride,
        b"\x89",
        ordered,
    )


def _ints(*numbers: int) -> bytes:
    return b"(" + b"".join(map(_long, numbers)) + b"t"


def bombs_of_pickles(deep: int = 300_000, long: int = 60_000) -> dict[str, bytes]:
    """Pickles made to do harm, by what they do.

    Args:
        deep: how deep tuples lie in each other.
        long: how long texts are.
    """
    found: dict[str, bytes] = {}
    rebuild, true = "torch._tensor._rebuild_from_type_v2", _string("true")
    endless = {"doubled": _doubled(120), "deep": _deep(deep)}
    for name, made in endless.items():
        found |= {
            f"{name} tuple": made,
            f"{name} key": b"}" + made + b"K\1s",
            f"{name} keys": b"}(" + made + b"K\1u",
            f"{name} item of a set": _called("builtins.set", b"](" + made + b"e"),
            f"{name} key of OrderedDict": _called(
                "collections.OrderedDict", b"](](" + made + b"K\1ee"
            ),
            f"{name} item of Counter": _called("collections.Counter", b"](" + made + b"e"),
            f"{name} storage": b"("
            + _string("storage")
            + named("torch.FloatStorage")
            + made
            + _string("cpu")
            + b"K\6tQ",
            f"{name} id": made + b"Q",
            f"{name} location": b"("
            + _string("storage")
            + named("torch.FloatStorage")
            + _string("0")
            + made
            + b"K\6tQ",
            f"{name} size": _tensor(made, _ints(1)),
            f"{name} sizes": _tensor(b"(" + made + b"t", _ints(1)),
            f"{name} Size": _called("torch.Size", made),
            f"{name} device": _called("torch.device", made),
            f"{name} state": named("collections.OrderedDict") + b")R](](" + made + b"K\1eeb",
            f"{name} state of a tensor": _tensor(_ints(2), _ints(1)) + made + b"b",
            f"{name} argument": _called("torch._utils._rebuild_parameter", made, b"\x88", made),
            f"{name} layout": _called("torch.serialization._get_layout", made),
            f"{name} complex": _called("builtins.complex", made),
            f"{name} function": made + b")R",
            f"{name} class": made + b")\x81",
            f"{name} name of a dict": named("collections.OrderedDict") + b")R}K\1" + made + b"sb)R",
            f"{name} class of a tensor": _called(
                rebuild, named("torch._utils._rebuild_tensor_v2"), made, b")", b"}"
            ),
            f"{name} function of a tensor": _called(
                rebuild, made, named("torch.Tensor"), b")", b"}"
            ),
            f"{name} in a dict, called": named("collections.OrderedDict")
            + b")RK\1"
            + made
            + b"s)R",
        }
    for path in ("os.system", "posix.system", "builtins.eval", "builtins.exec", "builtins.getattr",
                 "builtins.__import__", "subprocess.run",
                 "torch.load", "torch.hub.load", "sys.exit", "nt.system", "runpy.run_path",
                 "codecs.open", "builtins.open"):  # fmt: skip
        found[f"calls {path}"] = _called(path, true)
        module, _, name = path.rpartition(".")
        found[f"calls {path}, in protocol 4"] = (
            _string(module) + _string(name) + b"\x93(" + true + b"tR"
        )
        found[f"makes {path}"] = named(path) + b")\x81"
        found[f"instance of {path}"] = b"(" + true + f"i{module}\n{name}\n".encode()
        found[f"rebuilds with {path}"] = _called(
            rebuild, named(path), named("torch.Tensor"), b"(" + true + b"t", b"}"
        )
    text = "\xe9\u4e00" * long
    for encoding in (
        "punycode",
        "idna",
        "unicode_escape",
        "zlib",
        "bz2",
        "hex",
        "uu",
        "utf_32",
        "nothing",
        "rot13",
    ):
        found[f"encodes as {encoding}"] = _called(
            "_codecs.encode", _string(text), _string(encoding)
        )
        found[f"bytes in {encoding}"] = _called(
            "builtins.bytearray", _string(text), _string(encoding)
        )
    huge = 1 << 36
    positions = _tensor(_ints(1, 2), _ints(2, 1), storage=_storage("LongStorage", numel=3))
    found |= {
        "Tensor of a size": _called("torch.Tensor", _long(huge)),
        "Tensor of a size that fits": _called("torch.Tensor", _long(1 << 28)),
        "Tensor made of a size that fits": named("torch.Tensor") + b"(" + _long(1 << 28) + b"t\x81",
        "Tensor made of a size": named("torch.Tensor") + b"(" + _long(huge) + b"t\x81",
        "Parameter of a size": _called("torch.nn.parameter.Parameter",
                                       _called("torch.Tensor", _long(huge))),
        "bytearray of a size": _called("builtins.bytearray", _long(huge)),
        "expanded": _tensor(_ints(huge), _ints(0)),
        "expanded twice": _tensor(_ints(1 << 31, 1 << 31), _ints(0, 0)),
        "windows": _tensor(_ints(3, 1 << 30), _ints(1, 0)),
        "negative stride": _tensor(_ints(2), _ints(-1)),
        "negative offset": _tensor(_ints(2), _ints(1), _long(-1)),
        "negative size": _tensor(_ints(-2), _ints(1)),
        "beyond": _tensor(_ints(7), _ints(1)),
        "beyond by offset": _tensor(_ints(1), _ints(1), _long(1 << 62)),
        "wraps around": _tensor(_ints(1 << 62, 4), _ints(4, 1)),
        "many dimensions": _tensor(_ints(*([1] * 5000)), _ints(*([1] * 5000))),
        "storage as of another type": _tensor(_ints(2), _ints(1),
                                              storage=_storage("DoubleStorage", numel=3)),
        "overlapping storages": _tensor(_ints(2), _ints(1)) + _tensor(_ints(2), _ints(1),
            storage=_storage("LongStorage")) + b"\x86",
        "a missing storage": _tensor(_ints(2), _ints(1), storage=_storage(key="77")),
        "a storage elsewhere": _tensor(_ints(2), _ints(1), storage=_storage(key="../version")),
        "meta": _called("torch._utils._rebuild_meta_tensor_no_storage", named("torch.float32"),
                        _ints(huge, huge), _ints(huge, 1), b"\x89"),
        "sparse": _called("torch._utils._rebuild_sparse_tensor",
                          _called("torch.serialization._get_layout", _string("torch.sparse_coo")),
                          b"(" + positions + _tensor(_ints(2), _ints(1)) + _ints(huge) + b"\x89t"),
        "a list in itself": b"]q\0h\0a",
        "a dict in itself": b"}q\0K\1h\0s",
        "a list of itself as a size": b"]q\0h\0a0" + _tensor(b"h\0", b"h\0"),
        "strings that are not there": b"X\xff\xff\xff\x7fabc",
        "a number that is not there": b"\x8a\xffabc",
        "a memo that is not there": b"j\xff\xff\xff\x7f",
        "a memo far away": b")r\xff\xff\xff\x7f",
        "a device far away": _called("torch.device", _string("cuda:" + "9" * 5000)),
        "a long device": _called("torch.device", _string("x" * 1_000_000)),
        "a long number": _called("builtins.complex", _string("9" * 1_000_000)),
        "nothing": b"", "no end": b")" * 100_000, "only marks": b"(" * 300_000,
        "state on a type": named("torch.Tensor") + b"}" + _string("x") + b"K\1sb",
        "items of a type": named("torch.Tensor") + b"K\1K\2s",
        "appended to a type": named("torch.Tensor") + b"K\1a",
    }  # fmt: skip
    return {name: b"\x80\x02" + made + b"." for name, made in found.items()}


def bombs_of_archives(archive: bytes, size: int = 96 << 20) -> dict[str, bytes]:
    """Archives made to do harm, by what they do; ``size`` of those that promise much."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        entries = {name: file.read(name) for name in file.namelist()}

    def made(entries: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            for name, data in entries.items():
                file.writestr(zipfile.ZipInfo(name), data, kind)
        return out.getvalue()

    several = (
        b"\x80\x02("
        + b"".join(
            _tensor(_ints(1), _ints(1), storage=_storage(key=str(i), numel=1)) for i in range(250)
        )
        + b"t."
    )
    # One record, named by 250 entries of the directory.
    once = bytearray(
        made({**entries, "archive/data.pkl": several, "archive/data/0": bytes(1 << 20)})
    )
    end = once.rindex(b"PK\x05\x06")
    place = once.rindex(b"PK\x01\x02", 0, once.rindex(b"archive/data/0"))
    length = 46 + sum(struct.unpack("<HHH", once[place + 28 : place + 34]))
    entry = bytes(once[place : place + length])
    start, count, more = (
        struct.unpack("<I", once[end + 16 : end + 20])[0],
        struct.unpack("<H", once[end + 10 : end + 12])[0],
        b"",
    )
    for i in range(1, 250):
        name = f"archive/data/{i}".encode()
        more += (
            entry[:28]
            + struct.pack("<H", len(name))
            + entry[30:46]
            + name
            + entry[46 + len(b"archive/data/0") :]
        )
    tail = bytearray(once[end:])
    tail[8:12] = struct.pack("<HH", count + 249, count + 249)
    tail[12:16] = struct.pack("<I", end - start + len(more))
    overlapping = bytes(once[:end]) + more + bytes(tail)
    zeros = {f"archive/data/{i}": bytes(1 << 20) for i in range(250)}
    return {
        "a storage of zeros, deflated": made({**entries, "archive/data/0": bytes(size)},
                                             zipfile.ZIP_DEFLATED),
        "a pickle of zeros, deflated": made({**entries, "archive/data.pkl": bytes(size)},
                                            zipfile.ZIP_DEFLATED),
        "storages of zeros, deflated": made({**entries, "archive/data.pkl": several, **zeros},
                                            zipfile.ZIP_DEFLATED),
        "storages that are one": overlapping,
        "no entries": made({}),
        "a byte order that is none": made({**entries, "archive/byteorder": b"middle" * 1000}),
        "a byte order that is no text": made({**entries, "archive/byteorder": b"\xff\xfe"}),
        "big": made({**entries, "archive/byteorder": b"big"}),
        "a storage of half an element, big": made({**entries, "archive/byteorder": b"big",
                                                   "archive/data/0": bytes(7)}),
        "TorchScript": made({**entries, "archive/constants.pkl": b""}),
    }  # fmt: skip


def bombs() -> dict[str, bytes]:
    """Files made to do harm, by what they do."""
    archive = saved()
    found = bombs_of_archives(archive)
    legacy = saved(_use_new_zipfile_serialization=False)
    # The older format begins with three small pickles; the fourth is the object's.
    starts = io.BytesIO(legacy)
    for _ in range(3):
        pickle.load(starts)
    head = legacy[: starts.tell()]
    for name, pickled in bombs_of_pickles().items():
        found[name] = with_pickle(archive, pickled)
        found[f"{name}, legacy"] = head + pickled + legacy[-200:]
    for name, made in (("deep", _deep(300_000)), ("doubled", _doubled(120))):
        found[f"{name} keys of storages, legacy"] = (
            head + b"\x80\x02N." + b"\x80\x02](" + made + b"e."
        )
        for i in range(3):  # in place of what the file begins with
            starts.seek(0)
            parts = [pickle.dumps(pickle.load(starts), 2) for _ in range(3)]
            parts[i] = b"\x80\x02" + made + b"."
            found[f"{name} part {i} of the head, legacy"] = b"".join(parts) + legacy[len(head) :]
    found["twice the storage, legacy"] = legacy + legacy
    return found
