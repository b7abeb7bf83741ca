"""Generated functions and the cache of their code: what they are before and after the first call,
and that damage is only a miss."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import jtorch
import jtorch._src.keeping.code as original


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Makes copies of the module as new processes would have them, with a cache folder of their
    own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JTORCH_CACHE_DIR", raising=False)
    monkeypatch.delenv("JTORCH_CACHE", raising=False)

    def make() -> ModuleType:
        spec = importlib.util.spec_from_file_location("code_cache_copy", original.__file__)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def _run(module: ModuleType, text: str) -> int:
    names: dict[str, int] = {}
    exec(module.compiled(text, "<made>"), names)
    return names["x"]


def test_code_is_kept_for_the_next_process(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fresh()
    assert _run(first, "x = 6 * 7") == 42
    first.save()
    second = fresh()
    monkeypatch.setattr("builtins.compile", lambda *args, **kwargs: pytest.fail("compiled again"))
    assert _run(second, "x = 6 * 7") == 42


def test_other_text_is_other_code(fresh) -> None:
    first = fresh()
    _run(first, "x = 1")
    first.save()
    assert _run(fresh(), "x = 2") == 2


DAMAGES = {
    "cut": lambda b: b[: len(b) // 2],
    "empty": lambda b: b"",
    "a bit": lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    "zeros": lambda b: b"\0" * len(b),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_a_miss(fresh, damage, tmp_path: Path) -> None:
    first = fresh()
    _run(first, "x = 3")
    first.save()
    path = tmp_path / "jtorch" / "code" / first._place()
    path.write_bytes(damage(path.read_bytes()))
    second = fresh()
    assert _run(second, "x = 3") == 3
    second.save()
    assert _run(fresh(), "x = 3") == 3


def test_without_a_cache_nothing_is_written(
    fresh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JTORCH_CACHE", "0")
    module = fresh()
    assert _run(module, "x = 4") == 4
    module.save()
    assert not list(tmp_path.iterdir())


# ---- functions whose code is made at their first call --------------------------------------------


def _made(text: str, names: dict[str, object] | None = None) -> Callable[..., object]:
    return original.function(text, "f", names or {}, "<made for a test>")


def test_a_function_is_the_same_before_and_after_its_first_call() -> None:
    f = _made("def f(a, b=two, *, c=3):\n    return a, b, c\n", {"two": 2})
    f.mark = "kept"  # type: ignore[attr-defined]
    assert f.__name__ == "f"
    assert f(1) == (1, 2, 3)
    assert f(1, c=4) == (1, 2, 4)
    assert f.__code__.co_filename == "<made for a test>"
    assert f.mark == "kept"  # type: ignore[attr-defined]
    assert f.__defaults__ == (2,)
    assert "".join(inspect.getsourcelines(f.__code__)[0]).startswith("def f(a, b=two")
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'a'"):
        f()


def test_what_a_first_call_raises() -> None:
    f = _made("def f(a):\n    return a / 0\n")
    with pytest.raises(ZeroDivisionError) as caught:
        f(1)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return a / 0"
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'a'"):
        _made("def f(a): ...\n")()


def test_threads_that_call_first_at_once() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for k in range(30):
            f = _made(f"def f(a, b=2, *, c={k}):\n    return a, b, c\n")
            found: list[object] = []
            threads = [
                threading.Thread(target=lambda f=f, found=found: found.append(f(1)))
                for _ in range(8)
            ]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert found == [(1, 2, k)] * 8
    finally:
        sys.setswitchinterval(before)


_WARNINGS = """
import warnings
import jtorch as torch
x = torch.ones(2, 2, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        torch.nn.functional.softmax(x)
    torch.set_warn_always(True)
    for _ in range(2):
        float(torch.ones((), requires_grad=True))
print([(w.filename, w.lineno) for w in caught])
"""


def test_a_first_call_warns_of_the_same_line(tmp_path: Path) -> None:
    """And importing compiles next to nothing, whatever is kept."""
    (tmp_path / "program.py").write_text(_WARNINGS)
    env = {**os.environ, "JTORCH_CACHE": "0", "JAX_PLATFORMS": "cpu"}
    env["PYTHONPATH"] = os.pathsep.join(
        [str(Path(jtorch.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = subprocess.run(
        [sys.executable, "program.py"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = [(Path(file).name, line) for file, line in ast.literal_eval(done.stdout)]
    assert lines == [("program.py", n) for n in (8, 8, 11, 11)]
    code = "import jtorch; from jtorch._src.keeping import code; print(len(code._used))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert int(done.stdout) <= 5


def test_the_file_keeps_what_other_processes_used(fresh) -> None:
    for text in ("x = 1", "x = 2"):
        module = fresh()
        _run(module, text)
        module.save()
    last = fresh()
    last._load()
    assert len(last._known) == 2
