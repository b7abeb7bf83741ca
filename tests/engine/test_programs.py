"""Programs kept between processes: what they are called, and that a second process runs them
without tracing anything."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import programs
from jtorch._src.keeping import files as _kept_files
from jtorch._src.ops._declare import OPS, Op
from jtorch._src.ops._kernel import T, call_of

#: Prints numbers, and at the end how many programs were lowered in the process.
_HEAD = """
import jax, sys, warnings
lowered = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _,
    **more: lowered.append(more.get("fun_name")) if event.endswith("jaxpr_to_mlir_module_duration")
    else None)
import jtorch as torch
"""
_TAIL = """
print("lowered", len(lowered), file=sys.stderr)
"""


def _run(code: str, folder: Path, **env: str) -> tuple[str, int]:
    """What a new process prints, and how many programs it lowered."""
    given = {k: v for k, v in os.environ.items() if k != "JTORCH_CACHE"}
    given |= {"JTORCH_CACHE_DIR": str(folder), "JAX_PLATFORMS": "cpu", "JTORCH_TIERS": "xla", **env}
    program = [sys.executable, "-c", _HEAD + code + _TAIL]
    done = subprocess.run(
        program, env=given, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr.rpartition("lowered ")[2])


def _place_at(folder: Path) -> programs._Place:
    return programs._Place(
        _kept_files.Store(folder, programs._HEADER, 1 << 20), "compiler", "sources"
    )


_TRAINING = """
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(4, 8), torch.randn(4, 1)
for _ in range(4):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
step = torch.compile(lambda v: (v * 2).tanh().sum())
v = torch.ones(3, requires_grad=True)
step(v).backward()
print(v.grad.tolist(), torch.func.vmap(torch.func.grad(lambda a: a.sin().sum()))(torch.ones(2, \
3)).tolist())
a = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
print(torch.linalg.eigvalsh(a).tolist(), torch.linalg.solve(a, torch.ones(2)).tolist())
a[0, 1] += 4
print(a.tolist(), torch.cat([a, a]).sort(dim=1).values.tolist())
"""


def test_a_second_process_lowers_nothing(tmp_path: Path) -> None:
    first, lowered = _run(_TRAINING, tmp_path)
    second, again = _run(_TRAINING, tmp_path)
    assert lowered > 5
    assert (second, again) == (first, 0)


_CHECKED = """
x = torch.arange(4.0)
try:
    print(x[torch.tensor([9])].tolist())
except IndexError as error:
    print(error)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    print(torch.nn.functional.mse_loss(x, x[:1]).item())
print([str(w.message)[:30] for w in found])
print(torch.max(x, 0), (x.requires_grad_() ** 2).sum().item())
"""


def test_errors_of_values_warnings_and_named_results_come_from_kept_programs_too(
    tmp_path: Path,
) -> None:
    first, _ = _run(_CHECKED, tmp_path)
    second, _ = _run(_CHECKED, tmp_path)
    assert first == second
    assert "index 9 is out of bounds" in second
    assert "Using a target size" in second


_PLACED = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import numpy as np
plain = jax.numpy.arange(4.0)
mesh = Mesh(np.array(jax.devices()), "x")
for array in (plain, jax.device_put(plain, jax.devices()[0]),
              jax.device_put(plain, NamedSharding(mesh, PartitionSpec("x")))):
    x = torch.from_jax(array)
    for _ in range(3):
        print(((x * 2).tanh() + 1).tolist(), x.max().item())
def f(v):
    return v + torch.from_jax(plain).sin().jax().sum()
print(jax.jit(f)(plain), jax.grad(lambda v: f(v).sum())(plain))
"""


def test_kept_programs_take_arrays_however_placed(tmp_path: Path) -> None:
    first, _ = _run(_PLACED, tmp_path)
    second, _ = _run(_PLACED, tmp_path)
    assert first == second


_COMPARED = """
found, other = torch.compile(lambda v: (v * 2).tanh())(torch.arange(6.0)).jax(), \
jax.numpy.ones(6, "float32")
print(jax.typeof(found) == jax.typeof(other), jax.typeof(found).update(shape=(2,)) == \
jax.typeof(other).update(shape=(2,)))
"""


def test_results_of_kept_programs_are_of_the_types_of_others(tmp_path: Path) -> None:
    for _ in range(2):
        assert _run(_COMPARED, tmp_path)[0] == "True True\n"


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    code = "print((torch.arange(6.0) * 3).tanh().tolist())"
    first, lowered = _run(code, tmp_path)
    files = sorted((tmp_path / "programs").iterdir())
    assert lowered
    assert len(files) > 1
    for i, file in enumerate(files):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if i % 2 else data[:-1] + bytes([data[-1] ^ 1]))
    assert _run(code, tmp_path) == (first, lowered)
    assert _run(code, tmp_path) == (first, 0)


def test_machine_code_outlives_a_change_of_the_sources(tmp_path: Path) -> None:
    code = """
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **more: compiled.append(event) if \
event.endswith("backend_compile_duration") else None)
print((torch.arange(6.0) * 3).tanh().tolist())
print("compiled" if compiled else "loaded")
"""
    first, lowered = _run(code, tmp_path)
    for facts in (tmp_path / "programs").glob("facts-*"):
        facts.unlink()
    second, again = _run(code, tmp_path)
    assert first.endswith("compiled\n")
    assert (second, again) == (first.replace("compiled", "loaded"), lowered)


def test_nothing_is_kept_where_nothing_may_be(tmp_path: Path) -> None:
    code = "print((torch.arange(6.0) * 3).tanh().tolist())"
    assert _run(code, tmp_path, JTORCH_CACHE="0")[1]
    _, lowered = _run(code, tmp_path, JAX_DEBUG_NANS="1")
    assert lowered
    assert not (tmp_path / "programs").exists() or not list((tmp_path / "programs").iterdir())


def test_errors_that_are_called_as_those_of_pytorch_are_found_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    load = programs.importlib.import_module
    monkeypatch.setattr(
        programs.importlib, "import_module", lambda name: asked.append(name) or load(name)
    )
    kind = torch.linalg.LinAlgError
    place = programs.name_of_type(kind)
    assert place == ("torch._C", "_LinAlgError") and programs.type_named(place) is kind
    assert asked and all(name.partition(".")[0] == "jtorch" for name in asked)


def test_values_of_different_types_have_different_names() -> None:
    values = [1, 1.0, True, "1", (1,), [1], (1.0,), ("1",), b"1", 1j, -0.0, 0.0, float("nan"),
              slice(1), slice(1, None, 1), ..., (),
              torch.float32, torch.float64, np.dtype("f4"), torch.channels_last, torch.Size([1]),
              ((1,),), (None,), ("None",)]  # fmt: skip
    names = [programs.identity(v) for v in values]
    assert None not in names
    assert len(set(names)) == len(values)
    assert programs.identity(1, 2) != programs.identity("1\x002")


@pytest.mark.parametrize("value", [object(), len, np.ones(2), lambda: 0, (1, object()), None])
def test_what_differs_from_process_to_process_has_no_name(value: object) -> None:
    assert programs.identity(value) is None


def test_ops_of_others_have_no_name() -> None:
    own = OPS["sin"]
    assert call_of(own, (T,)).identity
    other = Op(name="sin", body=own.body, params=own.params, module="elsewhere")
    assert call_of(other, (T,)).identity is None
    library = torch.library.Library("kept_programs", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    assert torch.ops.kept_programs.twice(torch.ones(2)).tolist() == [2.0, 2.0]


def test_every_kernel_is_in_a_file_that_decides() -> None:
    assert {"/".join(op.module.split(".")[1:-1]) for op in OPS.values()} <= set(programs._DECIDING)


def test_a_changed_file_decides(tmp_path: Path) -> None:
    for folder in programs._DECIDING:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "a.py").write_text("1")
    before = programs._sources(str(tmp_path))
    assert programs._sources(str(tmp_path)) == before
    (tmp_path / "_src" / "ops" / "a.py").write_text("10")
    changed = programs._sources(str(tmp_path))
    (tmp_path / "_src" / "ops" / "b.py").write_text("")
    assert len({before, changed, programs._sources(str(tmp_path))}) == 3


def test_settings_that_change_programs_change_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "_place", lambda: _place_at(tmp_path))
    keys = [programs.key_of("x")]
    torch.set_float32_matmul_precision("medium")
    try:
        keys.append(programs.key_of("x"))
    finally:
        torch.set_float32_matmul_precision("highest")
    torch.set_default_dtype(torch.float64)
    try:
        keys.append(programs.key_of("x"))
    finally:
        torch.set_default_dtype(torch.float32)
    assert None not in keys
    assert len(set(keys)) == 3
    assert programs.key_of("x") == keys[0]
    assert programs.key_of("x", None) is None


def test_programs_that_call_back_are_not_kept() -> None:
    place = _place_at(Path("unused"))
    assert (
        programs._file(place, "stablehlo.custom_call @xla_ffi_python_cpu_callback(%0)")
        == programs._NOT_KEPT
    )
    assert programs._file(place, "stablehlo.custom_call @lapack_spotrf_ffi(%0)").startswith(
        programs._LAPACK
    )
    assert programs._file(place, "stablehlo.add") not in (
        programs._NOT_KEPT,
        programs._file(place, "stablehlo.multiply"),
    )


def test_the_table_keeps_what_another_process_wrote(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(programs, "_place", lambda: _place_at(tmp_path))
    one, other = programs._Table(), programs._Table()
    one.put("a", (1, ("x", 2)))
    other.put("b", (True, None))
    one.save()
    other.save()
    third = programs._Table()
    assert (third.get("a"), third.get("b"), third.get("c")) == ((1, ("x", 2)), (True, None), None)
    monkeypatch.setattr(programs, "MAX_ENTRIES", 2)
    third.put("c", 3)
    third.save()
    found = programs._Table().read()
    assert len(found) == 2
    assert "c" in found


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (os.environ["PLANTED"],)


def test_a_file_of_a_program_names_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "print((torch.arange(6.0) * 3).tanh().tolist())"
    first, lowered = _run(code, tmp_path)
    monkeypatch.setenv("PLANTED", str(tmp_path / "planted"))
    for file in (tmp_path / "programs").iterdir():
        if not file.name.startswith("facts-"):
            _kept_files.write(file, programs._HEADER, pickle.dumps(_Harmful()))
    second, again = _run(code, tmp_path)
    assert second == first
    assert again == lowered  # all were refused, and made anew
    assert not (tmp_path / "planted").exists()
    assert _run(code, tmp_path) == (first, 0)
