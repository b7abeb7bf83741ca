"""``save`` and ``load``: what comes back, what is refused, and what happens to files."""

from __future__ import annotations

import copy
import io
import os
import pickle
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import serialization
from jtorch._src.facts import dtypes


def round_trip(obj: Any, **options: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


@pytest.mark.parametrize("dtype", list(dtypes.BY_NAME.values()), ids=str)
def test_every_dtype(dtype: Any) -> None:
    x = torch.tensor([0, 1, 1, 0]).to(dtype).view(2, 2)
    y = round_trip(x)
    assert y.dtype is dtype
    assert y.shape == (2, 2)
    assert y.to(torch.complex128).tolist() == x.to(torch.complex128).tolist()


def test_views_share_memory_again() -> None:
    x = torch.arange(6.0)
    a, b, c = round_trip([x, x[2:4], x.view(2, 3).t()])
    b.fill_(-1)
    assert a.tolist() == [0.0, 1.0, -1.0, -1.0, 4.0, 5.0]
    assert c.tolist() == [[0.0, -1.0], [1.0, 4.0], [-1.0, 5.0]]
    assert c.stride() == (1, 3)


def test_a_view_alone_brings_its_storage() -> None:
    x = torch.arange(1000.0)
    small = round_trip(x[10:12])
    assert small.tolist() == [10.0, 11.0]
    assert small.storage_offset() == 10


def test_tied_parameters_stay_tied() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

    state = round_trip(Tied().state_dict())
    state["a.weight"].fill_(5)
    assert state["b.weight"].tolist() == [[5.0, 5.0], [5.0, 5.0]]
    one, other = round_trip([p := torch.nn.Parameter(torch.ones(1)), p])
    assert one is other


def test_loaded_tensors_are_ordinary() -> None:
    weight = round_trip(torch.nn.Parameter(torch.ones(2)))
    opt = torch.optim.SGD([weight], lr=1.0)
    (weight * 2).sum().backward()
    opt.step()
    assert weight.tolist() == [-1.0, -1.0]
    x = round_trip(torch.ones(3))[:2]
    x += 1
    assert x.tolist() == [2.0, 2.0]


def test_attributes_and_subclasses() -> None:
    x = torch.ones(2)
    x.note = "kept"
    assert round_trip(x).note == "kept"

    p = torch.nn.Parameter(torch.ones(2))
    p.note = 3
    assert round_trip(p).note == 3


class Harmless:
    """Not a weight."""


def test_refusals() -> None:
    with pytest.raises(
        pickle.UnpicklingError,
        match=r"Unsupported global: GLOBAL .*Harmless was not an allowed global by default",
    ):
        round_trip(Harmless())
    before = list(serialization.get_safe_globals())
    with serialization.safe_globals([Harmless]):
        assert isinstance(round_trip(Harmless()), Harmless)
    assert serialization.get_safe_globals() == before
    assert Harmless not in before
    assert isinstance(round_trip(Harmless(), weights_only=False), Harmless)

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("echo never",)

    for options in ({}, {"weights_only": True}):
        with pytest.raises(
            pickle.UnpicklingError,
            match=r"GLOBAL (posix|nt)\.system whose module (posix|nt) is blocked",
        ):
            round_trip(Evil(), **options)
    with (
        serialization.safe_globals([os.system]),
        pytest.raises(pickle.UnpicklingError, match="is blocked"),
    ):
        round_trip(Evil())
    with pytest.raises(
        RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"
    ):
        round_trip(1, weights_only=True, pickle_module=pickle)


def test_names_that_would_be_refused() -> None:
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(1), "b": Harmless()}, buffer)
    buffer.seek(0)
    (name,) = serialization.get_unsafe_globals_in_checkpoint(buffer)
    assert name.endswith(".Harmless")


def test_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        round_trip(Harmless(), weights_only=False)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        round_trip(Harmless())


@pytest.mark.parametrize(
    "place",
    [
        None,
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        lambda storage, _: storage,
        lambda _, __: None,
    ],
)
def test_places(place: Any) -> None:
    assert round_trip(torch.ones(2), map_location=place).tolist() == [1.0, 1.0]


def test_meta_and_missing_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert round_trip(torch.ones(2, 3), map_location="meta").device.type == "meta"
    monkeypatch.setattr(serialization, "location_tag", lambda piece: "cuda:0")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"but torch.cuda.is_available\(\) is False"):
            round_trip(torch.ones(1))
    assert round_trip(torch.ones(1), map_location={"cuda:0": "cpu"}).item() == 1.0
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        round_trip(torch.ones(1), map_location="nowhere")


def test_files_are_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save([torch.ones(3)], path)
    before = path.read_bytes()
    path.chmod(0o640)
    with pytest.raises(TypeError):
        torch.save([torch.zeros(3), threading.Lock()], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["weights.pt"]
    torch.save([torch.zeros(3)], str(path))
    assert torch.load(path)[0].tolist() == [0.0, 0.0, 0.0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    link = tmp_path / "latest.pt"
    link.symlink_to(path)
    torch.save([torch.ones(1)], link)
    assert link.is_symlink()
    assert torch.load(path)[0].tolist() == [1.0]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Parent directory .*missing does not exist\."):
        torch.save(1, tmp_path / "missing" / "x.pt")
    with pytest.raises(
        AttributeError, match="expected 'f' to be string, path, or a file-like object"
    ):
        torch.save(1, 3)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(
        AttributeError, match="You can only torch\\.load from a file that is seekable"
    ):
        torch.load(3)


def test_damage_is_noticed() -> None:
    buffer = io.BytesIO()
    torch.save(torch.arange(1000.0), buffer)
    data = buffer.getvalue()
    for broken in (data[:1000], data[:-100], data[:2000] + b"\0\1\2\3" + data[2004:]):
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
            torch.load(io.BytesIO(broken))


def test_streams_that_cannot_seek_are_written() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, part: Any) -> int:
            self.data += bytes(part)
            return len(part)

    pipe = Pipe()
    torch.save(torch.ones(2), pipe)
    assert torch.load(io.BytesIO(pipe.data)).tolist() == [1.0, 1.0]


def test_several_objects_in_one_older_file() -> None:
    buffer = io.BytesIO()
    for i in range(2):
        torch.save(torch.tensor([i]), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [torch.load(buffer).item(), torch.load(buffer).item()] == [0, 1]


def test_mapped_files(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(100), "b": torch.zeros(0)}, path)
    assert torch.load(path, mmap=True)["a"].sum().item() == 4950
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


class Held(torch.Tensor):
    """A wrapper whose data is an attribute."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {}))


def test_a_wrapper_is_its_attributes() -> None:
    file = io.BytesIO()
    torch.save({"w": Held(torch.tensor([1.0, 2.0]))}, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)["w"]
    assert (
        type(again) is Held
        and again.shape == (2,)
        and again.inner.tolist() == [1.0, 2.0]
        and (again + 1).tolist() == [2.0, 3.0]
    )


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("into", [True, False])
def test_objects_with_few_of_a_files_methods_are_read(zipped, into) -> None:
    class Source:
        def __init__(self, data):
            self.file, self.used = io.BytesIO(data), set()
            self.seek, self.tell, self.readline = self.file.seek, self.file.tell, self.file.readline
            if into:
                self.readinto = self._into

        def read(self, *count):
            self.used.add("read")
            return self.file.read(*count)

        def _into(self, view):
            self.used.add("readinto")
            return self.file.readinto(view)

    kept = io.BytesIO()
    x = torch.arange(6.0)
    torch.save({"x": x, "part": x[2:4]}, kept, _use_new_zipfile_serialization=zipped)
    source = Source(kept.getvalue())
    found = torch.load(source)
    found["x"][2] = 9
    assert found["x"].tolist() == [0, 1, 9, 3, 4, 5] and found["part"].tolist() == [9, 3]
    assert ("readinto" in source.used) is into
    storage = torch.load(io.BytesIO(_saved(x.storage())), weights_only=False)
    assert storage._cdata == storage._cdata and storage._cdata == storage.data_ptr()


def _saved(value) -> bytes:
    kept = io.BytesIO()
    torch.save(value, kept)
    return kept.getvalue()


def test_save_and_load_stand_in_the_namespace_from_the_start() -> None:
    script = (
        "import sys, jtorch; names = vars(jtorch); first = 'jtorch.serialization' in sys.modules\n"
        "print(callable(names['save']), callable(names['load']), first)\n"
        "print(jtorch.serialization.load is names['load'], names['load'].__module__)"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100
    ).stdout
    assert out.split() == ["True", "True", "False", "True", "jtorch.serialization"]


class Slotted(torch.Tensor):
    __slots__ = ["inner"]

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_subclass(cls, inner.to("meta"))
        made.inner = inner
        return made


class Speaking(torch.Tensor):
    def __getstate__(self) -> Any:
        return "said", self.__dict__

    def __setstate__(self, state: Any) -> None:
        self.word, attributes = state
        self.__dict__.update(attributes)


class Wrapping(torch.Tensor):
    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _through_file(x: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("way", [_through_file, lambda x: pickle.loads(pickle.dumps(x)), copy.copy])
def test_the_state_of_subclasses_is_what_they_say_and_their_slots(way: Any) -> None:
    x = Slotted(torch.ones(2))
    x.note = "here"
    y = way(x)
    assert (type(y), y.device.type, y.inner.tolist(), y.note) == (
        Slotted,
        "meta",
        [1.0, 1.0],
        "here",
    )
    s = torch.ones(2).as_subclass(Speaking)
    s.note = "there"
    t = way(s)
    assert (type(t), t.word, t.note) == (Speaking, "said", "there")
    w = way(Wrapping(torch.ones(2)))
    assert (type(w), w.shape, w.inner.tolist()) == (Wrapping, (2,), [1.0, 1.0])


def test_tensors_without_data_are_copied_by_clone() -> None:
    with pytest.raises(
        RuntimeError, match=r"only works for subclass types that implement clone\(\)"
    ):
        copy.deepcopy(Slotted(torch.ones(2)))

    class Cloning(Slotted):
        def clone(self) -> Any:
            return Cloning(self.inner.clone())

    x = Cloning(torch.ones(2))
    y = copy.deepcopy(x)
    assert type(y) is Cloning and y.inner is not x.inner and y.inner.tolist() == [1.0, 1.0]
