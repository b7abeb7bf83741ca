"""The cache of generated code: what it gives back, and that damage to it is only a miss."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import jtorch._code_cache as original


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Makes copies of the module as new processes would have them, with a cache folder of their own."""
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


def test_without_a_cache_nothing_is_written(fresh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JTORCH_CACHE", "0")
    module = fresh()
    assert _run(module, "x = 4") == 4
    module.save()
    assert not list(tmp_path.iterdir())
