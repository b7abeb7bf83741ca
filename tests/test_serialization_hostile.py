"""Files that were damaged or made to do harm: ``load`` refuses them with a clear error, runs nothing, and comes to an end."""

from __future__ import annotations

import collections
import contextlib
import io
import pickle
import random
import signal
import struct
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

import jtorch as torch

#: What a caller has to expect of a damaged file.
CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError)

_watched = False
_events: list[str] = []
_FORBIDDEN = (
    "exec", "compile", "import", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.", "ctypes.dl", "shutil.",
)  # fmt: skip


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _watched and event.startswith(_FORBIDDEN):
        _events.append(f"{event} {str(args)[:200]}")


sys.addaudithook(_watch)


class _Hang(BaseException):
    pass


@contextlib.contextmanager
def _guarded(seconds: int) -> Iterator[None]:
    """A block in which nothing may be imported or run, and that must end."""

    def ring(*_: Any) -> None:
        raise _Hang

    global _watched
    _events.clear()
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    _watched = True
    try:
        yield
    finally:
        _watched = False
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert not _events


def _sample() -> Any:
    whole = torch.arange(6.0).reshape(2, 3)
    return collections.OrderedDict(
        weight=whole,
        view=whole[1],
        index=torch.tensor([1, 2]),
        half=torch.tensor([1.5], dtype=torch.bfloat16),
        wide=torch.tensor([7], dtype=torch.uint16),
        parameter=torch.nn.Parameter(torch.ones(2)),
        rest=[1, 2.5, "x", None, True, (1, {"k": 3}), torch.float32, torch.Size((2,)), torch.device("cpu")],
    )


def _saved(**options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(_sample(), file, **options)
    return file.getvalue()


def _with_pickle(archive: bytes, pickled: bytes) -> bytes:
    """An archive whose pickle is replaced, with a checksum that fits."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, pickled if name.endswith("data.pkl") else old.read(name))
    return made.getvalue()


def _pickle_of(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return file.read("archive/data.pkl")


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """Imports and compiles what loading needs, before anything is watched."""
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        torch.load(io.BytesIO(_saved(**options)))["view"].sum().item()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(_with_pickle(_saved(), b"\x80\x02cnone\nnone\n.")))


_OPCODES = bytes(torch.serialization._weights_only_unpickler.Unpickler.dispatch)
_EDGES = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\0\0\0\x80")


def _mutated(rng: random.Random, data: bytes) -> bytes:
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
                made[at : at + 4] = rng.choice(_EDGES)
            case _:
                made[at] = rng.choice(_OPCODES)
    if rng.random() < 0.1:
        del made[rng.randrange(len(made)) :]
    return bytes(made)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("kind", ["archive", "pickle", "legacy"])
def test_mutated_files(kind: str, part: int) -> None:
    """20,700 mutations in all: of whole archives, of their pickles under a good checksum, and of the older format."""
    rng = random.Random(f"{kind}{part}")
    archive = _saved()
    legacy, pickled = _saved(_use_new_zipfile_serialization=False), _pickle_of(archive)
    outcomes: collections.Counter[str] = collections.Counter()
    longest = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2300):
            data = {
                "archive": lambda: _mutated(rng, archive),
                "pickle": lambda: _with_pickle(archive, _mutated(rng, pickled)),
                "legacy": lambda: _mutated(rng, legacy),
            }[kind]()
            started = time.perf_counter()
            with _guarded(20):
                try:
                    torch.load(io.BytesIO(data))
                    outcomes["loaded"] += 1
                except (*CLEAR, NotImplementedError) as error:
                    outcomes["refused" if str(error) else "without a word"] += 1
            longest = max(longest, time.perf_counter() - started)
    assert outcomes["refused"] > 1000 and not outcomes["without a word"], outcomes
    assert longest < 10


# ---- by hand ---------------------------------------------------------------------------------------------------------------------


def _refused(pickled: bytes, match: str) -> None:
    file = io.BytesIO(_with_pickle(_saved(), pickled))
    with _guarded(20), pytest.raises(CLEAR, match=match):
        torch.load(file)


def _name(path: str) -> bytes:
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


_FUNCTIONS = ["os.system", "builtins.eval", "builtins.getattr", "torch.load", "torch.hub.load", "posix.system", "sys.exit"]


@pytest.mark.parametrize("path", _FUNCTIONS)
def test_functions_of_other_modules(path: str) -> None:
    _refused(b"\x80\x02" + _name(path) + b"X\x04\x00\x00\x00true\x85R.", "GLOBAL")


def test_layouts_are_no_way_to_other_names() -> None:
    for name in (b"load", b"_os", b"serialization"):
        pickled = b"\x80\x02" + _name("torch.serialization._get_layout") + b"X" + struct.pack("<i", len(name)) + name + b"\x85R."
        _refused(pickled, "Unsupported operand|damaged")


def test_subclasses_are_rebuilt_by_known_functions_only() -> None:
    rebuild, tensor = _name("torch._tensor._rebuild_from_type_v2"), _name("torch.Tensor")
    for function in ("torch.Tensor", "builtins.set", "_codecs.encode"):
        _refused(b"\x80\x02" + rebuild + b"(" + _name(function) + tensor + b"K\x05\x85}tR.", "unrecognized function")


def test_state_cannot_reach_what_a_tensor_is_made_of() -> None:
    made = torch.ones(1)
    for name in ("_v", "__class__", "_read"):
        with pytest.raises(RuntimeError, match="Invalid serialized state"):
            torch._utils._set_obj_state(made, {name: 1})
    assert torch._utils._set_obj_state(made, {"note": 1, "_mark": 2})._mark == 2


def test_sizes_that_are_none() -> None:
    _refused(b"\x80\x02" + _name("builtins.bytearray") + b"J\xff\xff\xff\x7f\x85R.", "bytearray")


@pytest.mark.parametrize(
    ("size", "stride"),
    [((-1,), (1,)), ((2,), (-1,)), ((1 << 62, 4), (0, 0)), ((2, 2), (1,)), ((1.5,), (1,)), ((1 << 40,), (1,)), ((2,), (1 << 61,))],
)
def test_impossible_geometry(size: Any, stride: Any) -> None:
    storage = torch.serialization.LoadedStorage(memoryview(bytearray(16)), torch.float32, "cpu")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="setStorage"):
        torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, None)


def test_records_that_promise_more_than_the_file_holds(tmp_path: Any) -> None:
    archive = bytearray(_saved())
    directory = archive.rindex(b"PK\x01\x02", 0, archive.index(b"archive/data/0", archive.index(b"PK\x01\x02")))
    archive[directory + 20 : directory + 28] = struct.pack("<II", 0xFFFFFF00, 0xFFFFFF00)
    with _guarded(20), pytest.raises(RuntimeError, match="corrupted"):
        torch.load(io.BytesIO(archive))
    path = tmp_path / "file.pt"
    path.write_bytes(archive)
    with pytest.raises(RuntimeError, match="corrupted"):
        torch.load(path, mmap=True)


def test_errors_of_trusted_classes_are_their_own() -> None:
    def broken(storage: Any, location: str) -> Any:
        raise LookupError(location)

    with pytest.raises(LookupError, match="cpu"):
        torch.load(io.BytesIO(_saved()), map_location=broken)
    file = io.BytesIO()
    torch.save(_Fragile(), file)
    file.seek(0)
    with torch.serialization.safe_globals([_Fragile]), pytest.raises(TypeError, match="too fragile"):
        torch.load(file)


class _Fragile:
    def __setstate__(self, state: Any) -> None:
        raise TypeError("too fragile")

    def __getstate__(self) -> Any:
        return {"a": 1}
