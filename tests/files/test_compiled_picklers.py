"""Picklers that derive from the one written in C, as cloudpickle's do, write PyTorch's names, and
their files are read."""

from __future__ import annotations

import io
import pickle
import pickletools
import types
import zipfile
from typing import Any

import pytest

import jtorch as torch


class Outer:
    class Inner:
        def __init__(self) -> None:
            self.value = torch.arange(3)


class Pickler(pickle.Pickler):
    pass


COMPILED = types.SimpleNamespace(Pickler=Pickler, dump=pickle.dump)


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("module", [COMPILED, pickle])
def test_files_of_compiled_picklers(module: Any, protocol: int, zipped: bool) -> None:
    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    kept = [
        torch.device("cpu"),
        torch.float64,
        torch.float64,
        torch.Size([2]),
        torch.nn.functional.relu,
        torch.nn.Linear,
    ]
    given = {
        "layer": torch.nn.Linear(2, 3),
        "weights": [weight, weight],
        "kept": kept,
        "inner": Outer.Inner(),
    }
    file = io.BytesIO()
    torch.save(
        given,
        file,
        pickle_module=module,
        pickle_protocol=protocol,
        _use_new_zipfile_serialization=zipped,
    )
    file.seek(0)
    found = torch.load(file, weights_only=False)
    assert (
        found["kept"] == kept
        and found["weights"][0] is found["weights"][1]
        and torch.equal(found["weights"][0], weight)
    )
    assert torch.equal(found["layer"].weight, given["layer"].weight) and found[
        "inner"
    ].value.tolist() == [0, 1, 2]
    if zipped:
        archive = zipfile.ZipFile(file)
        text = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
        names = [value for op, value, _ in pickletools.genops(text) if isinstance(value, str)]
        assert not [name for name in names if "jtorch" in name or name.startswith("global")]
        assert [name for name in names if name.startswith("torch.nn.modules.linear")]
