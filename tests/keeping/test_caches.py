"""The folders of what is kept between processes: where they are, what they may hold, when there are
none; ``python -m jtorch cache``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jtorch
from jtorch._src.keeping import command as _cache_command
from jtorch._src.keeping import files as kept
from jtorch._src.keeping import folders as _cache_folders

_NAMES = ("JTORCH_CACHE", "JTORCH_CACHE_DIR", "JTORCH_CACHE_LIMIT", "XDG_CACHE_HOME")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_judged", {})
    for name in _NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch):
    """Sets ``JTORCH_CACHE_LIMIT``."""

    def set_(text: str) -> None:
        monkeypatch.setenv("JTORCH_CACHE_LIMIT", text)
        _cache_folders.limit.cache_clear()

    yield set_
    monkeypatch.undo()
    _cache_folders.limit.cache_clear()


# ---- where ---------------------------------------------------------------------------------------


def test_where_they_lie(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _cache_folders.root() == tmp_path / ".cache" / "jtorch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which counts for nothing
    assert _cache_folders.root() == tmp_path / ".cache" / "jtorch"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert _cache_folders.root() == tmp_path / "x" / "jtorch"
    monkeypatch.setenv("JTORCH_CACHE_DIR", str(tmp_path / "own"))
    assert _cache_folders.root() == tmp_path / "own"
    monkeypatch.setenv("JTORCH_CACHE", "0")
    assert _cache_folders.root() is None


def test_without_a_home_there_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for home in (str(tmp_path / "missing"), ""):
        monkeypatch.setenv("HOME", home)
        assert _cache_folders.root() is None
        assert _cache_folders.store("code", b"") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert _cache_folders.root() == tmp_path / "x" / "jtorch"


def test_in_a_folder_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    monkeypatch.setenv("JTORCH_CACHE_DIR", "relative")
    assert _cache_folders.root() is None


# ---- how much ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("", 2 << 30),
        ("4096", 4096),
        ("500M", 500 << 20),
        ("1.5 gib", 3 << 29),
        ("64KB", 64 << 10),
        ("0", 0),
    ],
)
def test_limits(limited, text: str, bytes_: int) -> None:
    limited(text)
    assert _cache_folders.limit() == bytes_
    assert sum(_cache_folders.most(part) for part in _cache_folders.PARTS) <= bytes_
    assert (_cache_folders.root() is None) == (bytes_ == 0)


@pytest.mark.parametrize("text", ["much", "-1", "1X", "1e9"])
def test_a_limit_that_is_none_is_named(limited, text: str) -> None:
    limited(text)
    with pytest.warns(UserWarning, match=r"JTORCH_CACHE_LIMIT \('.*'\) is not a number of bytes"):
        assert _cache_folders.limit() == _cache_folders.LIMIT


def test_every_folder_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limited) -> None:
    monkeypatch.setenv("JTORCH_CACHE_DIR", str(tmp_path))
    limited("1M")
    for part in _cache_folders.PARTS:
        for i in range(60):
            store = _cache_folders.store(part, kept.MARK)
            assert store is not None
            store.write(str(i), bytes(20_000))
        size = sum(n for _, n, _ in kept.listed(tmp_path / part))
        assert 20_000 <= size <= _cache_folders.most(part) * 17 // 16 + 24_576, part


# ---- disks that fail -----------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_a_disk_without_room_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = kept.Store(tmp_path, kept.MARK, 1 << 20)
    assert store.write("x", b"before")

    def full(**where: object) -> tuple[int, str]:
        name = tmp_path / f"{kept.TEMPORARY}1"
        name.write_bytes(b"")
        return os.open("/dev/full", os.O_WRONLY), str(name)

    monkeypatch.setattr(kept.tempfile, "mkstemp", full)
    assert not store.write("x", b"after")
    assert not store.write("y", bytes(100_000))
    assert store.read("x") == b"before"
    assert {p.name for p in tmp_path.iterdir()} == {"x", kept.JOURNAL}


def test_a_disk_that_fills_up_between_two_writes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last file has been written, what has to be counted of it has not."""
    store = kept.Store(tmp_path, kept.MARK, 1 << 20)

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.os, "write", full)
    for i in range(300):
        store.write(str(i), bytes(5000))
    assert sum(n for _, n, _ in kept.listed(tmp_path)) <= 1 << 20
    assert store.read("299") is not None


# ---- the command ---------------------------------------------------------------------------------


def _lines(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> list[str]:
    assert _cache_command.run(list(arguments)) == status
    return capsys.readouterr().out.splitlines()


def test_it_shows_and_clears(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys, limited
) -> None:
    monkeypatch.setenv("JTORCH_CACHE_DIR", str(tmp_path))
    limited("16M")
    for part, names in (("code", ["a"]), ("jax", ["b", "c"])):
        store = _cache_folders.store(part, kept.MARK)
        assert store is not None
        for name in names:
            store.write(name, bytes(5000))
    os.utime(tmp_path / "jax" / "c", (86400 * 365, 86400 * 365))
    (tmp_path / "jax" / "mine").write_text("text")
    first, *rest = _lines(capsys)
    assert first == str(tmp_path)
    assert [line.split()[0] for line in rest] == ["code", "programs", "jax"]
    assert "1 files" in rest[0] and "8.0 KiB of at most" in rest[0] and "1.0 MiB" in rest[0]
    assert "0 files" in rest[1] and "oldest" not in rest[1]
    assert "3 files" in rest[2] and "oldest use 1971-01-01" in rest[2]
    assert _lines(capsys, "--clear") == [f"Removed 3 files, 24.0 KiB, from {tmp_path}."]
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["mine"]
    assert _lines(capsys, "--clear") == [f"Removed 0 files, 0 B, from {tmp_path}."]


def test_it_says_why_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys, limited
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    assert _lines(capsys) == [
        "Nothing is kept: there is no home folder, and JTORCH_CACHE_DIR is not set."
    ]
    limited("0")
    assert _lines(capsys, "--clear") == ["Nothing is kept: JTORCH_CACHE_LIMIT is 0."]
    monkeypatch.setenv("JTORCH_CACHE", "0")
    assert _lines(capsys) == ["Nothing is kept: JTORCH_CACHE is 0."]


def test_it_refuses_other_arguments(capsys) -> None:
    assert _cache_command.run(["--clean"]) == 2
    assert "usage: python -m jtorch cache [--clear]" in capsys.readouterr().err


def test_files_that_cannot_be_removed_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
) -> None:
    monkeypatch.setenv("JTORCH_CACHE_DIR", str(tmp_path))
    store = _cache_folders.store("jax", kept.MARK)
    assert store is not None and store.write("x", b"")

    def refused(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(kept.os, "unlink", refused)
    assert _cache_command.run(["--clear"]) == 1
    assert f"1 files cannot be removed, such as {tmp_path / 'jax' / 'x'}" in capsys.readouterr().err


# ---- whole processes -----------------------------------------------------------------------------


def _python(*arguments: str, cwd: Path, **given: str) -> subprocess.CompletedProcess[str]:
    base = {k: v for k, v in os.environ.items() if k not in _NAMES}
    path = os.pathsep.join(
        [str(Path(jtorch.__file__).parent.parent), *filter(None, [base.get("PYTHONPATH")])]
    )
    env = {**base, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **given}
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_after_clearing_a_program_runs_as_before(tmp_path: Path) -> None:
    program = [
        "-c",
        (
            "import jtorch as torch, jax; print((torch.arange(6.0) * 3).tanh().tolist(), "
            "jax.jit(lambda x: x * 3 + 1)(1.0))"
        ),
    ]
    own = {"JTORCH_CACHE_DIR": str(tmp_path / "own")}
    first = _python(*program, cwd=tmp_path, **own)
    assert (first.returncode, first.stderr) == (0, "")
    shown = _python("-m", "jtorch", "cache", cwd=tmp_path, **own).stdout
    assert all(f" {part} " in shown for part in _cache_folders.PARTS)
    assert " 0 files" not in shown
    cleared = _python("-m", "jtorch", "cache", "--clear", cwd=tmp_path, **own)
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert _python(*program, cwd=tmp_path, **own).stdout == first.stdout


def test_programs_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("print('a program')")
    (tmp_path / "cache.py").write_text("print('another')")
    assert _python("-m", "jtorch", "./cache", cwd=tmp_path).stdout == "a program\n"
    assert _python("-m", "jtorch", "cache.py", cwd=tmp_path).stdout == "another\n"


@pytest.mark.parametrize("home", ["missing", ""])
def test_a_home_that_is_missing_is_not_made(home: str, tmp_path: Path) -> None:
    code = "import jtorch as torch; print((torch.arange(6.0) * 3).tolist())"
    done = _python("-c", code, cwd=tmp_path, HOME=home and str(tmp_path / home))
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())
