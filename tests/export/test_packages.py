"""Exported programs in files of ``torch._inductor.aoti_compile_and_package``."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("shift", torch.arange(2.0))
        self.register_buffer("factor", torch.tensor(3.0), persistent=False)

    def forward(self, x: torch.Tensor, times: int, *, other: torch.Tensor) -> dict[str, Any]:
        y = self.layer(x) * times + self.shift * self.factor
        return {"y": y, "sums": [x.sum(), other.sum()]}


def exported() -> tuple[Net, Any]:
    net = Net()
    rows = torch.export.Dim("rows", min=2, max=8)
    shapes = ({0: rows}, None, {0: None})
    args, kwargs = (torch.randn(4, 3), 2), {"other": torch.ones(5)}
    return net, torch.export.export(
        net, args, kwargs, dynamic_shapes=dict(zip(("x", "times", "other"), shapes, strict=True))
    )


def test_package_gives_what_the_module_does(tmp_path: Path) -> None:
    net, program = exported()
    given = os.fspath(tmp_path / "net.pt2")
    assert torch._inductor.aoti_compile_and_package(program, package_path=given) == given
    loaded = torch._inductor.aoti_load_package(given)
    other = torch.ones(5)
    for rows in (4, 7, 1):  # one row is not what was exported: calls are not checked, as in PyTorch
        x = torch.randn(rows, 3, requires_grad=True)
        expected = net(x, 2, other=other)
        for found in (loaded(x, 2, other=other), loaded((x, other))):
            torch.testing.assert_close(found, expected)
            assert not found["y"].requires_grad
    assert copy.deepcopy(loaded) is loaded
    assert sorted(loaded.get_constant_fqns()) == ["factor", "layer.bias", "layer.weight", "shift"]
    with pytest.raises(RuntimeError, match="expected inputs vector size to be 2, but got 1"):
        loaded(torch.ones(4, 3))


def test_constants_of_packages() -> None:
    net, program = exported()
    buffer = io.BytesIO()
    configs = {
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.metadata": {"made": "here"},
        "max_autotune": True,
    }
    torch._inductor.aoti_compile_and_package(program, package_path=buffer, inductor_configs=configs)
    buffer.seek(0)
    loaded = torch._inductor.aoti_load_package(buffer)
    assert loaded.get_metadata()["made"] == "here"
    x, other = torch.randn(4, 3), torch.ones(5)
    with pytest.raises(RuntimeError, match="holds no constants"):
        loaded(x, 2, other=other)
    with pytest.raises(RuntimeError, match="missing from a full update: factor"):
        loaded.load_constants(net.state_dict(), check_full_update=True)
    with pytest.raises(RuntimeError, match="Constant not found: nothing"):
        loaded.load_constants({"nothing": x}, check_full_update=False)
    with pytest.raises(RuntimeError, match=r"size \(2,\), but"):
        loaded.load_constants({"shift": x}, check_full_update=False)
    mine = {**net.state_dict(), "factor": net.factor}
    loaded.load_constants(mine, check_full_update=True, user_managed=True)
    torch.testing.assert_close(loaded(x, 2, other=other), net(x, 2, other=other))
    with torch.no_grad():
        net.layer.weight.mul_(2)  # the package has the same memory
    torch.testing.assert_close(loaded(x, 2, other=other), net(x, 2, other=other))
    loaded.load_constants({"shift": net.shift}, check_full_update=False)
    net.shift.add_(1)  # of which it has a copy
    assert not torch.allclose(loaded(x, 2, other=other)["y"], net(x, 2, other=other)["y"])


def refusals(folder: Path) -> list[tuple[Callable[[Any], object], type[Exception], str]]:
    package, load = torch._inductor.aoti_compile_and_package, torch._inductor.aoti_load_package
    (folder / "other.pt2").write_bytes(b"no package")
    return [
        (lambda _: package(nn.Linear(2, 2)), ValueError, "Only ExportedProgram"),
        (lambda p: package(p, package_path="a.zip"), AssertionError, "ending in .pt2"),
        (lambda p: package(p, inductor_configs={"no": 1}), AttributeError, "config.no does not"),
        (
            lambda p: package(p, inductor_configs={"aot_inductor.package_cpp_only": True}),
            NotImplementedError,
            "package_cpp_only",
        ),
        (lambda _: load(folder / "none.pt2"), RuntimeError, "does not exist"),
        (lambda _: load(folder / "other.pt2"), NotImplementedError, "machine code"),
    ]  # fmt: skip


def test_refusals_of_packages(tmp_path: Path) -> None:
    _, program = exported()
    for call, kind, words in refusals(tmp_path):
        with pytest.raises(kind, match=words):
            call(program)


def test_fresh_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "before")
    with torch._inductor.utils.fresh_inductor_cache():
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        assert os.listdir(folder) == []
    assert not os.path.exists(folder) and os.environ["TORCHINDUCTOR_CACHE_DIR"] == "before"
