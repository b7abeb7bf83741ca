"""Files that were damaged or made to do harm: ``load`` refuses them with a clear error, runs
nothing, and comes to an end."""

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

import numpy as np
import pytest

import jtorch as torch
from tools.campaigns._mutants import (
    bombs_of_archives,
    bombs_of_pickles,
    kinds,
    named,
    saved,
    with_pickle,
)
from tools.campaigns.checkpoints import CLEAR, FORBIDDEN

_watched = False
_events: list[str] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    # code that the engine makes of kernels
    own = event in ("compile", "exec") and "<jtorch kernel>" in str(args)
    if _watched and event.startswith(FORBIDDEN) and not own:
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


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """Imports and compiles what loading needs, before anything is watched."""
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        torch.load(io.BytesIO(saved(**options)))["view"].sum().item()
    torch.load(io.BytesIO(saved(torch.eye(2).to_sparse())))
    # What mutations make of it is the same with other arguments, for which public functions are
    # made when they are first called.
    torch.empty_strided((2,), (1,), device="meta").expand(3, 2).requires_grad_()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(with_pickle(saved(), b"\x80\x02cnone\nnone\n.")))


@pytest.mark.parametrize("kind", ["archive", "pickle", "opcodes", "entries", "legacy"])
def test_mutated_files(kind: str) -> None:
    """10,200 mutations in all: a sample of the campaign ``checkpoints``."""
    rng = random.Random(kind)
    make = kinds()[kind]
    outcomes: collections.Counter[str] = collections.Counter()
    longest = 0.0
    # PyTorch's for a byte order that is none
    also = (NotImplementedError, ValueError) if kind == "entries" else (NotImplementedError,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(600 if kind in ("entries", "opcodes") else 3000):
            data = make(rng)
            started = time.perf_counter()
            with _guarded(20):
                try:
                    torch.load(io.BytesIO(data))
                    outcomes["loaded"] += 1
                except (*CLEAR, *also) as error:
                    outcomes["refused" if str(error) else "without a word"] += 1
            longest = max(longest, time.perf_counter() - started)
    assert outcomes["refused"] > 200 and not outcomes["without a word"], outcomes
    assert longest < 10


#: What does no harm: nothing hashes or calls it.
_HARMLESS = {
    "doubled tuple",
    "deep tuple",
    "a list in itself",
    "a dict in itself",
    "meta",
    "storage as of another type",
    "a memo far away",
    "overlapping storages",
    "sparse",
    "a long number",
    "no end",
    "many dimensions",
}


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_pickles_made_to_do_harm(form: str) -> None:
    archive, legacy = saved(), saved(_use_new_zipfile_serialization=False)
    start = io.BytesIO(legacy)
    for _ in range(3):
        pickle.load(start)
    loaded, wordless = set(), set()
    for name, pickled in bombs_of_pickles(deep=1000, long=300).items():
        data = (
            with_pickle(archive, pickled)
            if form == "zip"
            else legacy[: start.tell()] + pickled + legacy[-200:]
        )
        with _guarded(20), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                torch.load(io.BytesIO(data))
                loaded.add(name)
            except (*CLEAR, NotImplementedError) as error:
                wordless |= set() if str(error) else {name}
    assert loaded <= _HARMLESS
    assert not wordless


@pytest.mark.filterwarnings("ignore:.torch.load. received a zip file that looks like")
def test_archives_made_to_do_harm(tmp_path: Any) -> None:
    for name, data in bombs_of_archives(saved(), size=40 << 20).items():
        refused = pytest.raises((*CLEAR, NotImplementedError, ValueError), match=_WORDS.get(name))
        path = tmp_path / "file.pt"
        path.write_bytes(data)
        for given in ({}, {"mmap": True}):
            with _guarded(20), refused if name != "big" else contextlib.nullcontext():
                torch.load(path, **given)


_WORDS = {
    "a storage of zeros, deflated": "more than 5 times the bytes of the file|cannot be mapped",
    "a pickle of zeros, deflated": "more than 5 times the bytes of the file",
    "storages of zeros, deflated": "more than 5 times the bytes of the file|cannot be mapped",
    "storages that are one": "more than 5 times the bytes of the file|file read failed",
    "a byte order that is none": "Unknown endianness type: middle",
    "a byte order that is no text": "Unknown endianness type",
    "a storage of half an element, big": "ends within an element",
}


def test_deflated_files_are_read() -> None:
    archive = saved({"a": torch.zeros(100_000), "b": torch.arange(9)})
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    made.seek(0)
    found = torch.load(made)
    assert found["a"].shape == (100_000,) and found["b"].tolist() == list(range(9))


def test_tensors_whose_elements_lie_on_each_other() -> None:
    wide = torch.arange(6.0).reshape(2, 3, 1).expand(2, 3, 500)
    found = torch.load(
        io.BytesIO(
            saved([wide, torch.arange(1000.0).unfold(0, 10, 1), torch.zeros(1).expand(1 << 20)])
        )
    )
    assert (
        found[0].tolist() == wide.tolist()
        and found[1][7].tolist() == list(range(7, 17))
        and found[2].shape == (1 << 20,)
    )
    for size, stride in (
        ((1 << 40,), (0,)),
        ((1 << 31, 1 << 31), (0, 0)),
        ((30_000, 30_000), (1, 1)),
        ((3, 1 << 30), (1, 0)),
    ):
        storage = torch.serialization.LoadedStorage(
            np.zeros(240_000, np.uint8), torch.float32, "cpu"
        )
        with (
            _guarded(20),
            pytest.raises(NotImplementedError, match="elements on a storage of 60000"),
        ):
            torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, None)


def test_tuples_as_keys_and_shared_lists_are_read() -> None:
    shared = list(range(1000))
    keys = {(i, (i,)) for i in range(1000)}
    obj = {
        (1, ("a", 2.5)): [shared] * 1000,
        torch.Size([2]): keys,
        "bytes": b"\xff\0",
        "array": bytearray(b"\xff"),
    }
    assert torch.load(io.BytesIO(saved(obj))) == obj


# ---- by hand -------------------------------------------------------------------------------------


def _refused(pickled: bytes, match: str) -> None:
    file = io.BytesIO(with_pickle(saved(), pickled))
    with _guarded(20), pytest.raises(CLEAR, match=match):
        torch.load(file)


_FUNCTIONS = [
    "os.system",
    "builtins.eval",
    "builtins.getattr",
    "torch.load",
    "torch.hub.load",
    "posix.system",
    "sys.exit",
]


@pytest.mark.parametrize("path", _FUNCTIONS)
def test_functions_of_other_modules(path: str) -> None:
    _refused(b"\x80\x02" + named(path) + b"X\x04\x00\x00\x00true\x85R.", "GLOBAL")


def test_layouts_are_no_way_to_other_names() -> None:
    for name in (b"load", b"_os", b"serialization"):
        pickled = (
            b"\x80\x02"
            + named("torch.serialization._get_layout")
            + b"X"
            + struct.pack("<i", len(name))
            + name
            + b"\x85R."
        )
        _refused(pickled, "Unsupported operand|damaged")


def test_subclasses_are_rebuilt_by_known_functions_only() -> None:
    rebuild, tensor = named("torch._tensor._rebuild_from_type_v2"), named("torch.Tensor")
    for function in ("torch.Tensor", "builtins.set", "_codecs.encode"):
        _refused(
            b"\x80\x02" + rebuild + b"(" + named(function) + tensor + b"K\x05\x85}tR.",
            "unrecognized function",
        )


def test_state_cannot_reach_what_a_tensor_is_made_of() -> None:
    made = torch.ones(1)
    for name in ("_v", "__class__", "_read"):
        with pytest.raises(RuntimeError, match="Invalid serialized state"):
            torch._utils._set_obj_state(made, {name: 1})
    assert torch._utils._set_obj_state(made, {"note": 1, "_mark": 2})._mark == 2


def test_sizes_that_are_none() -> None:
    _refused(b"\x80\x02" + named("builtins.bytearray") + b"J\xff\xff\xff\x7f\x85R.", "bytearray")


@pytest.mark.parametrize(
    ("size", "stride"),
    [
        ((-1,), (1,)),
        ((2,), (-1,)),
        ((1 << 62, 4), (0, 0)),
        ((2, 2), (1,)),
        ((1.5,), (1,)),
        ((1 << 40,), (1,)),
        ((2,), (1 << 61,)),
    ],
)
def test_impossible_geometry(size: Any, stride: Any) -> None:
    storage = torch.serialization.LoadedStorage(memoryview(bytearray(16)), torch.float32, "cpu")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="setStorage"):
        torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, None)


def test_records_that_promise_more_than_the_file_holds(tmp_path: Any) -> None:
    archive = bytearray(saved())
    directory = archive.rindex(
        b"PK\x01\x02", 0, archive.index(b"archive/data/0", archive.index(b"PK\x01\x02"))
    )
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
        torch.load(io.BytesIO(saved()), map_location=broken)
    file = io.BytesIO()
    torch.save(_Fragile(), file)
    file.seek(0)
    with (
        torch.serialization.safe_globals([_Fragile]),
        pytest.raises(TypeError, match="too fragile"),
    ):
        torch.load(file)


class _Fragile:
    def __setstate__(self, state: Any) -> None:
        raise TypeError("too fragile")

    def __getstate__(self) -> Any:
        return {"a": 1}
