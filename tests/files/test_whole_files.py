"""Files are replaced when they are complete, on file systems of each kind; what kills and errors
leave."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from jtorch._src.keeping import whole_files as whole

ROOT = Path(__file__).parents[2]


def _no_link(*args: object, **kwargs: object) -> None:
    raise OSError("this file system cannot")


@pytest.fixture(params=["nameless", "named", "nameless and cannot be named"])
def _file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "named":
        monkeypatch.setattr(whole, "_nameless", lambda folder: None)
    elif whole._nameless("/tmp") is None:
        pytest.skip("there are no files without names here")
    elif request.param != "nameless":
        monkeypatch.setattr(whole.os, "link", _no_link)


@pytest.mark.usefixtures("_file_system")
def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    for old, new, mode in (
        (None, b"one", 0o666),
        (b"one", b"two" * 100_000, 0o666),
        (b"two" * 100_000, b"", 0o604),
    ):
        if mode == 0o604:
            path.chmod(mode)
        before = os.umask(0o022)
        try:
            with whole.replacing(str(path)) as file:
                file.write(new)
                assert (path.read_bytes() if path.exists() else None) == old
        finally:
            os.umask(before)
        assert path.read_bytes() == new
        assert stat.S_IMODE(path.stat().st_mode) == (0o604 if mode == 0o604 else 0o644)
        assert os.listdir(tmp_path) == ["file.pt"]


@pytest.mark.skipif(whole._nameless("/tmp") is None, reason="there are no files without names here")
def test_a_file_without_a_name_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole.shutil, "copyfileobj", lambda *args: pytest.fail("it was copied"))
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        with whole.replacing(os.path.join(folder, "file.pt")) as file:
            assert os.listdir(folder) == []
            made = os.fstat(file.fileno()).st_ino
        assert os.stat(os.path.join(folder, "file.pt")).st_ino == made


@pytest.mark.usefixtures("_file_system")
@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("where", ["writing", "renaming"])
def test_what_fails_leaves_nothing(
    where: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.pt"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise error

    if where == "renaming":
        monkeypatch.setattr(whole.os, "replace", fail)
    with pytest.raises(type(error)), whole.replacing(str(path)) as file:
        file.write(b"new")
        if where == "writing":
            fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.pt"]


@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="needs SIGKILL")
def test_killed_writers_leave_the_old_or_the_new_file() -> None:
    """A small sample of the campaign."""
    program = [sys.executable, "-m", "tools.campaigns.saving", "--count", "9", "--seed", "5"]
    done = subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "9 tried, 0 failed" in done.stdout
