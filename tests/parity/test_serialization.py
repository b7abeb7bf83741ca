"""Files go both ways between jtorch and PyTorch, and both refuse the same ones in the same
words."""

from __future__ import annotations

import collections
import io
import pickle
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def content(lib: Any) -> dict[str, Any]:
    """One of everything that state dicts are made of; ``v``, ``t`` and ``w`` share memory with
    ``a``."""
    a = lib.tensor(np.arange(6, dtype=np.float32).reshape(2, 3).tolist())
    state = collections.OrderedDict(x=a + 1)
    state._metadata = collections.OrderedDict(x={"version": 2})
    return {
        "a": a,
        "v": a[1:],
        "t": a.t(),
        "w": a.view(6)[1::2],
        "parameter": lib.nn.Parameter(a * 2),
        "frozen": lib.nn.Parameter(a * 3, requires_grad=False),
        "leaf": lib.ones(2, requires_grad=True),
        "scalar": lib.tensor(3.5),
        "empty": lib.zeros(0, 3),
        "last": lib.zeros(1, 2, 2, 2).to(memory_format=lib.channels_last),
        "dtypes": [
            lib.tensor([1, 0, 3]).to(getattr(lib, d))
            for d in (
                "bool",
                "uint8",
                "int8",
                "int16",
                "int32",
                "int64",
                "float16",
                "bfloat16",
                "float64",
                "complex64",
                "complex128",
            )
        ],
        "newer": [
            lib.tensor([1, 2]).to(getattr(lib, d))
            for d in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
        ],
        "meta": lib.empty(2, 3, device="meta"),
        "dtype": lib.float16,
        # no array can have them here
        "named": [lib.int4, lib.uint1, lib.bits8, lib.quint8, lib.complex32, lib.float4_e2m1fn_x2],
        "device": lib.device("cpu"),
        "layout": lib.strided,
        "size": lib.Size([1, 2]),
        "plain": [
            1,
            2.5,
            -(2**70),
            "text ä",
            None,
            True,
            (1, (2,)),
            {3: "x"},
            {4, 5},
            1j,
            b"bytes",
            bytearray(b"b"),
        ],
        "counter": collections.Counter("abca"),
        "state": state,
    }


def assert_same(ours: Any, theirs: Any, place: str = "") -> None:
    """An object of jtorch's and one of PyTorch's, compared in depth."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, jtorch.Tensor), place
        assert type(ours).__name__ == type(theirs).__name__, place
        for what in ("dtype", "shape", "requires_grad", "is_leaf"):
            assert str(getattr(ours, what)) == str(getattr(theirs, what)), (place, what)
        assert ours.stride() == theirs.stride(), place
        assert ours.storage_offset() == theirs.storage_offset(), place
        if theirs.device.type != "meta":
            wide = "complex128" if theirs.dtype.is_complex else "float64"
            assert (
                ours.detach().to(getattr(jtorch, wide)).tolist()
                == theirs.detach().to(getattr(torch, wide)).tolist()
            ), place
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs), place
        assert list(ours) == list(theirs), place
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{place}[{key!r}]")
        assert getattr(ours, "_metadata", None) == getattr(theirs, "_metadata", None)
    elif isinstance(theirs, list | tuple) and type(theirs).__module__ == "builtins":
        assert type(ours) is type(theirs), place
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{place}[{i}]")
    elif type(theirs).__module__.split(".")[0] in ("torch", "builtins") and type(
        theirs
    ).__name__ in ("dtype", "device", "layout", "Size"):
        assert str(ours) == str(theirs), place
    else:
        assert ours == theirs, place


def saved(lib: Any, obj: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    lib.save(obj, buffer, **options)
    return buffer.getvalue()


def without(obj: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in obj.items() if k not in keys}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_both_ways(zipped: bool, weights_only: bool) -> None:
    # PyTorch itself cannot read the newer dtypes back from its older format.
    drop = () if zipped else ("newer",)
    ours, theirs = without(content(jtorch), *drop), without(content(torch), *drop)
    options = {"_use_new_zipfile_serialization": zipped}
    assert_same(
        ours, torch.load(io.BytesIO(saved(jtorch, ours, **options)), weights_only=weights_only)
    )
    assert_same(
        jtorch.load(io.BytesIO(saved(torch, theirs, **options)), weights_only=weights_only), theirs
    )
    assert_same(
        jtorch.load(io.BytesIO(saved(jtorch, ours, **options)), weights_only=weights_only), theirs
    )


@pytest.mark.parametrize("source", [jtorch, torch], ids=["jtorch", "torch"])
@pytest.mark.parametrize("target", [jtorch, torch], ids=["jtorch", "torch"])
def test_memory_is_shared_after_loading(source: Any, target: Any) -> None:
    found = target.load(io.BytesIO(saved(source, without(content(source), "dtypes", "newer"))))
    found["a"][1, 0] = 99.0
    assert [found["v"][0, 0].item(), found["t"][0, 1].item(), found["w"][1].item()] == [
        99.0,
        99.0,
        99.0,
    ]
    found["w"][0] = -1.0
    assert found["a"][0, 1].item() == -1.0
    assert found["parameter"][1, 0].item() == 6.0


@pytest.mark.parametrize("source", [jtorch, torch], ids=["jtorch", "torch"])
@pytest.mark.parametrize("target", [jtorch, torch], ids=["jtorch", "torch"])
def test_mapped_into_memory(source: Any, target: Any, tmp_path: Path) -> None:
    path = tmp_path / "some.weights.pt"
    source.save(
        [
            source.arange(1000.0),
            source.arange(3),
            source.zeros(0),
            source.arange(70.0).view(7, 10).t(),
        ],
        path,
    )
    found = target.load(path, mmap=True)
    assert [t.sum().item() for t in found] == [499500.0, 3, 0.0, 2415.0]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == "some.weights/data.pkl"


def test_modules_and_optimisers() -> None:
    def trained(lib: Any) -> tuple[Any, Any]:
        model = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
        opt = lib.optim.Adam(model.parameters(), lr=0.1)
        model(lib.tensor([[1.0, 2.0], [3.0, -1.0]])).sum().backward()
        opt.step()
        return model, opt

    for source, target in ((jtorch, torch), (torch, jtorch)):
        model, opt = trained(source)
        other, other_opt = trained(target)
        state = target.load(
            io.BytesIO(saved(source, {"model": model.state_dict(), "opt": opt.state_dict()}))
        )
        other.load_state_dict(state["model"])
        other_opt.load_state_dict(state["opt"])
        for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
            assert a.tolist() == b.tolist()
        assert (
            opt.state_dict()["state"][0]["exp_avg"].tolist()
            == other_opt.state_dict()["state"][0]["exp_avg"].tolist()
        )


class Unsafe:
    """Something weights do not hold."""


Unsafe.__module__ = "somewhere"


def refusal(lib: Any, data: bytes, **options: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        lib.load(io.BytesIO(data), **options)
    return caught.type.__name__, str(caught.value)


def pickled(body: bytes) -> bytes:
    """A file whose pickle is hand-made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02" + body + b".")
        archive.writestr("x/version", "3\n")
        archive.writestr("x/byteorder", "little")
    return buffer.getvalue()


ATTACKS = {
    "builtins": b"cbuiltins\neval\n(X\x03\x00\x00\x001+1tR",
    "os": b"cos\nsystem\n(X\x02\x00\x00\x00lstR",
    "old builtins": b"c__builtin__\nexec\n)R",
    "class": b"csomewhere\nUnsafe\n)\x81",
    "numpy": b"cnumpy.core.multiarray\nscalar\n)R",
    "reduce": b"ccollections\nOrderedDict\n)R)R",
    "build": b"]}b",
    "append": b"}K\x01a",
    "setitem": b"]K\x01K\x02s",
    "opcode": b"I1\n",
    "persistent": b"X\x06\x00\x00\x00moduleQ",
    "persistent tuple": b"(X\x06\x00\x00\x00moduleX\x01\x00\x00\x00atQ",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_weights_only_refuses(name: str) -> None:
    data = pickled(ATTACKS[name])
    ours, theirs = refusal(jtorch, data), refusal(torch, data)
    assert theirs[0] == "UnpicklingError"

    def plain(text: str) -> str:  # addresses of objects
        return re.sub(r"0x[0-9a-f]+", "", text)

    assert (ours[0], plain(ours[1])) == (theirs[0], plain(theirs[1]))


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "data",
    [b"", b"garbage garbage", b"PK\x03\x04 but no more than that"],
    ids=["empty", "garbage", "zip"],
)
def test_what_is_no_checkpoint(data: bytes, weights_only: bool) -> None:
    ours, theirs = (refusal(lib, data, weights_only=weights_only) for lib in (jtorch, torch))
    assert ours[0] == theirs[0]
    if data.startswith(b"garbage"):
        assert ours[1] == theirs[1]


def test_damaged_files() -> None:
    data = saved(jtorch, jtorch.arange(1000.0))
    assert refusal(jtorch, data[:-200])[0] == "RuntimeError"
    middle = len(data) // 2  # within the numbers
    flipped = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    assert refusal(jtorch, flipped)[0] == "RuntimeError"


def test_pickle_of_a_tensor_class_is_named_as_in_torch() -> None:
    for lib in (jtorch, torch):
        with zipfile.ZipFile(io.BytesIO(saved(lib, lib.nn.Linear(1, 1)))) as archive:
            names = {
                line for line in archive.read("archive/data.pkl").split(b"\n") if b"torch" in line
            }
        assert any(b"torch.nn.modules.linear" in n for n in names)
        assert not any(b"jtorch" in n for n in names)


def test_conflicting_dtypes_of_one_storage() -> None:
    for lib in (jtorch, torch):
        a = lib.zeros(4)
        with pytest.raises(
            RuntimeError,
            match="Cannot save multiple tensors or storages that view the same data as different "
            "types",
        ):
            saved(lib, [a, a.view(lib.int32)])


def test_plain_pickle_goes_through_save_too() -> None:
    data = saved(jtorch, {"x": jtorch.ones(2)}, pickle_protocol=4)
    with (
        pytest.warns(UserWarning, match="Detected pickle protocol 4"),
        pytest.raises(pickle.UnpicklingError),
    ):
        jtorch.load(io.BytesIO(data))
    assert jtorch.load(io.BytesIO(data), weights_only=False)["x"].tolist() == [1.0, 1.0]
    assert torch.load(io.BytesIO(data), weights_only=False)["x"].tolist() == [1.0, 1.0]


def crossed(source: Any, target: Any, obj: Any) -> Any:
    return target.load(io.BytesIO(saved(source, obj)), weights_only=False)


WAYS = pytest.mark.parametrize(
    ("source", "target"),
    [(jtorch, torch), (torch, jtorch), (jtorch, jtorch)],
    ids=["out", "in", "own"],
)


@WAYS
def test_functions_are_named_by_place(source: Any, target: Any) -> None:
    """Programs keep functions as attributes of their modules; those that are compiled in PyTorch
    have odd places in its files."""
    for path in (
        "tanh",
        "add",
        "einsum",
        "nn.functional.relu",
        "nn.functional.gelu",
        "nn.functional.linear",
        "nn.functional.softplus",
    ):
        theirs, ours = source, target
        for part in path.split("."):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        assert crossed(source, target, theirs) is ours, path


@WAYS
@pytest.mark.parametrize(
    "make",
    [lambda lib: lib.zeros(2), lambda lib: lib.nn.Parameter(lib.zeros(2))],
    ids=["tensor", "parameter"],
)
def test_attributes_of_tensors(source: Any, target: Any, make: Any) -> None:
    """All that a program has set, also under names that begin with an underscore."""
    tensor = make(source)
    tensor._no_weight_decay, tensor.tag, tensor.other = True, "x", source.ones(1)
    found = crossed(source, target, tensor)
    assert type(found) is type(make(target))
    assert (found._no_weight_decay, found.tag, found.other.tolist()) == (True, "x", [1.0])
    assert target is jtorch or sorted(found.__dict__) == ["_no_weight_decay", "other", "tag"]


@WAYS
def test_storages_and_their_tensors(source: Any, target: Any) -> None:
    tensor = source.arange(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # typed storages are deprecated
        found, storage, untyped = crossed(
            source, target, [tensor, tensor.storage(), source.arange(2).untyped_storage()]
        )
        assert [list(storage), storage.dtype, untyped.nbytes()] == [
            [0.0, 1.0, 2.0],
            target.float32,
            16,
        ]
        assert storage.data_ptr() == found.untyped_storage().data_ptr()
        found[1] = 5
        assert storage.tolist() == [0.0, 5.0, 2.0]


def test_lazily_conjugated_tensors_load() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert jtorch.load(io.BytesIO(saved(torch, z.conj()))).tolist() == [1 - 2j, 3 + 1j]
    assert jtorch.load(io.BytesIO(saved(torch, z.conj().imag))).tolist() == [-2.0, 1.0]


@WAYS
def test_generators_and_results(source: Any, target: Any) -> None:
    generator = source.Generator().manual_seed(3)
    source.rand(5, generator=generator)
    result = source.return_types.max((source.ones(1), source.zeros(1)))
    found, again = crossed(source, target, [generator, result])
    assert target.rand(3, generator=found).tolist() == source.rand(3, generator=generator).tolist()
    assert found.initial_seed() == 3
    assert (type(again), again.values.tolist()) == (target.return_types.max, [1.0])


@pytest.mark.parametrize("zipped", [True, False])
def test_memory_without_elements_has_each_dtype(zipped: bool) -> None:
    """Tensors without elements that look at the same memory keep their dtypes; PyTorch reads them
    so."""
    a = jtorch.tensor([], dtype=jtorch.float32)
    file = io.BytesIO()
    jtorch.save([a, a.view(jtorch.int32)], file, _use_new_zipfile_serialization=zipped)
    for package in (torch, jtorch):
        file.seek(0)
        assert [str(x.dtype) for x in package.load(file)] == ["torch.float32", "torch.int32"]
