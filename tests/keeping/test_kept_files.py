"""What is kept between processes is read and written only where nobody else could have put it, and
a disk that fails is no error."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch._src.keeping import files as kept

_HEADER = b"test\n"
_WORK = (
    "import jtorch as torch, jax; print((torch.arange(6.0) * 3).tanh().tolist(), jax.jit(lambda x: "
    "x * 3 + 1)(1.0))"
)

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_judged", {})
    monkeypatch.setattr(kept, "_state", {"warned": False})


def _give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a file or folder another user's, or this process another user's."""
    if os.geteuid() == 0:
        os.chown(path, 54321, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(kept.os, "geteuid", lambda: 54321)


def _refused(folder: Path, match: str) -> None:
    with pytest.warns(UserWarning, match=match):
        assert not kept.trusted(folder)
    assert not kept.make_folder(folder)  # a second warning would be an error
    assert not kept.write(folder / "x", _HEADER, b"1")
    assert kept.read(folder / "x", _HEADER) is None


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert kept.write(folder / "x", _HEADER, b"data")
    assert kept.read(folder / "x", _HEADER) == b"data"
    assert kept.read(folder / "y", _HEADER) is None
    assert kept.read(folder / "x", b"other\n") is None
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder.parent, folder, folder / "x")] == [
        0o700,
        0o700,
        0o600,
    ]


def test_folders_that_others_can_write_are_refused(tmp_path: Path) -> None:
    for mode in (0o777, 0o702, 0o1777):
        folder = tmp_path / oct(mode) / "sub"
        assert kept.write(folder / "x", _HEADER, b"1")
        kept._judged.clear()
        kept._state["warned"] = False
        os.chmod(folder, mode)
        _refused(folder, f"{folder} can be written by other users")
    kept._state["warned"] = False
    os.chmod(folder.parent, 0o777)
    os.chmod(folder, 0o700)
    kept._judged.clear()
    _refused(folder, f"{folder.parent} can be written by other users")


def test_groups_may_write_if_nobody_else_is_in_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.chmod(tmp_path, 0o770)
    monkeypatch.setattr(kept, "_is_group_of_one", lambda gid: True)
    assert kept.trusted(tmp_path)
    kept._judged.clear()
    monkeypatch.setattr(kept, "_is_group_of_one", lambda gid: False)
    _refused(tmp_path, "can be written by other users")


def test_folders_of_others_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    _give_away(folder.parent, monkeypatch)
    _refused(folder, "belongs to another user")


def test_links_are_followed_to_where_they_lead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    safe, open_ = tmp_path / "safe", tmp_path / "open"
    (safe / "deep").mkdir(parents=True)
    (open_ / "deep").mkdir(parents=True)
    os.chmod(open_, 0o777)
    for name, target in (("good", safe), ("bad", open_), ("dots", Path("safe/../open"))):
        (tmp_path / name).symlink_to(target)
    assert kept.write(tmp_path / "good" / "deep" / "x", _HEADER, b"1")
    assert kept.read(tmp_path / "good" / "deep" / "x", _HEADER) == b"1"
    _refused(tmp_path / "bad" / "deep", "can be written by other users")
    kept._state["warned"] = False
    _refused(tmp_path / "dots" / "deep", "can be written by other users")
    kept._state["warned"] = False
    (tmp_path / "loop").symlink_to("loop")
    _refused(tmp_path / "loop" / "x", "too many links")
    kept._state["warned"] = False
    (tmp_path / "foreign").symlink_to(safe)
    _give_away(tmp_path / "foreign", monkeypatch)
    _refused(tmp_path / "foreign" / "deep", "belongs to another user")


def test_links_are_no_files(tmp_path: Path) -> None:
    assert kept.write(tmp_path / "x", _HEADER, b"1")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    assert kept.read(tmp_path / "link", _HEADER) is None
    os.mkfifo(tmp_path / "pipe")
    assert kept.read(tmp_path / "pipe", _HEADER) is None  # and does not wait for a writer
    (tmp_path / "folder").mkdir()
    assert kept.read(tmp_path / "folder", _HEADER) is None
    assert kept.write(tmp_path / "link", _HEADER, b"2")  # replaces the link, not what it leads to
    assert (kept.read(tmp_path / "x", _HEADER), kept.read(tmp_path / "link", _HEADER)) == (
        b"1",
        b"2",
    )


def test_files_that_others_own_or_can_write_are_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert kept.write(tmp_path / "x", _HEADER, b"1")
    os.chmod(tmp_path / "x", 0o666)
    assert kept.read(tmp_path / "x", _HEADER) is None
    os.chmod(tmp_path / "x", 0o600)
    assert kept.read(tmp_path / "x", _HEADER) == b"1"
    _give_away(tmp_path / "x", monkeypatch)
    assert kept.read(tmp_path / "x", _HEADER) is None


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-1], lambda b: b"", lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b + b"\0"],
)
def test_damaged_files_are_not_there(damage, tmp_path: Path) -> None:
    assert kept.write(tmp_path / "x", _HEADER, b"data")
    (tmp_path / "x").write_bytes(damage((tmp_path / "x").read_bytes()))
    assert kept.read(tmp_path / "x", _HEADER) is None
    assert kept.write(tmp_path / "x", _HEADER, b"data")
    assert kept.read(tmp_path / "x", _HEADER) == b"data"


def test_files_under_the_names_of_others_are_not_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert kept.write(tmp_path / name, _HEADER, name.encode())
    (tmp_path / "a").rename(tmp_path / "b")
    assert kept.read(tmp_path / "b", _HEADER) is None
    assert kept.write(tmp_path / "b", _HEADER, b"again")
    assert kept.read(tmp_path / "b", _HEADER) == b"again"


def test_interrupted_writes_leave_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kept.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.write(tmp_path / "x", _HEADER, b"1")
    assert not list(tmp_path.iterdir())


def _keep(folder: Path, name: str, used: float, size: int = 10) -> None:
    (folder / name).write_bytes(kept.MARK + bytes(size - len(kept.MARK)))
    os.utime(folder / name, (used, used))


def test_room_is_made(tmp_path: Path) -> None:
    for i in range(12):
        _keep(tmp_path, str(i), i, size=kept.BLOCK - 1)
    _keep(tmp_path, f"{kept.TEMPORARY}left", 1)
    (tmp_path / f"{kept.TEMPORARY}now").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    kept.make_room(tmp_path, 10 * kept.BLOCK)
    assert {f.name for f in tmp_path.iterdir()} == {
        *map(str, range(5, 12)),
        f"{kept.TEMPORARY}now",
        "folder",
    }


def test_files_of_others_stay(tmp_path: Path) -> None:
    """A folder that the user named may hold what was there before, and links to elsewhere."""
    own = {"notes": b"text", ".hidden": b"", "large": bytes(100_000)}
    for name, data in own.items():
        (tmp_path / name).write_bytes(data)
        os.utime(tmp_path / name, (1, 1))
    _keep(tmp_path, "old", 2)
    _keep(tmp_path, "target", 3)
    (tmp_path / "link").symlink_to("target")
    kept.make_room(tmp_path, 0)
    assert {f.name for f in tmp_path.iterdir()} == {*own, "link"}
    _keep(tmp_path, "target", 3)
    assert kept.clear(tmp_path) == (1, kept.BLOCK)
    assert {f.name for f in tmp_path.iterdir()} == {*own, "link"}


def test_a_store_stays_below_its_limit(tmp_path: Path) -> None:
    store = kept.Store(tmp_path, kept.MARK, 64 * kept.BLOCK)
    for i in range(200):
        assert store.write(str(i), bytes(kept.BLOCK))
        assert (
            sum(size for _, size, _ in kept.listed(tmp_path))
            <= store.most + store.most // 16 + 2 * kept.BLOCK
        )
    assert store.read("199") is not None
    assert store.read("0") is None
    assert not store.write("all", bytes(store.most))
    assert store.read("198") is not None


def test_many_stores_share_a_limit(tmp_path: Path) -> None:
    """What each process writes counts, even where it is too little for any of them to make room."""
    for i in range(200):
        assert kept.Store(tmp_path, kept.MARK, 64 * kept.BLOCK).write(str(i), b"")
    assert sum(size for _, size, _ in kept.listed(tmp_path)) <= 68 * kept.BLOCK


def test_what_is_read_is_kept_longer(tmp_path: Path) -> None:
    store = kept.Store(tmp_path, kept.MARK, 1 << 30)
    for i in range(4):
        store.write(str(i), b"")
        os.utime(tmp_path / str(i), (i + 1, i + 1))
    assert store.read("0") == b""
    kept.make_room(tmp_path, 3 * kept.BLOCK)
    assert {f.name for f in tmp_path.iterdir()} == {"0", "3", kept.JOURNAL}


def test_a_folder_that_can_only_be_read_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = kept.Store(tmp_path, kept.MARK, 1 << 30)
    assert store.write("x", b"data")
    os.utime(tmp_path / "x", (1, 1))

    def refused(*args: object, **kwargs: object) -> None:
        raise OSError(30, "Read-only file system")

    for name in ("utime", "unlink", "replace", "ftruncate"):
        monkeypatch.setattr(kept.os, name, refused)
    monkeypatch.setattr(kept.tempfile, "mkstemp", refused)
    assert store.read("x") == b"data"
    assert not store.write("y", b"more")
    kept.make_room(tmp_path, 0)
    assert kept.clear(tmp_path) == (0, 0)
    assert store.read("x") == b"data"


_WRITER = """
import sys
from pathlib import Path
from jtorch._src.keeping import files as kept
seed, store = int(sys.argv[1]), kept.Store(Path(sys.argv[2]), kept.MARK, 40 * kept.BLOCK)
hits = 0
for i in range(600):
    name = str((seed * 7 + i * i) % 60)
    found = store.read(name)
    if found is not None:
        hits += 1
        assert found[:2] == name.zfill(2).encode() and len(set(found[2:])) == 1, found[:20]
    assert store.write(name, name.zfill(2).encode() + bytes([seed]) * (1000 + 37 * (i % 50) * seed))
print(hits)
"""


def test_processes_that_write_one_folder_at_once(tmp_path: Path) -> None:
    """Whole files only, within the limit, while others replace them and make room."""
    program = [sys.executable, "-c", _WRITER]
    running = [
        subprocess.Popen([*program, str(k), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for k in range(1, 5)
    ]
    hits = [int(p.communicate(timeout=120)[0]) for p in running]
    assert [p.returncode for p in running] == [0] * 4
    assert sum(hits) > 100
    left = kept.listed(tmp_path)
    # the limit, a sixteenth, and what all but one of them wrote last
    assert sum(size for _, size, _ in left) <= 48 * kept.BLOCK
    assert not [path for _, _, path in left if os.path.basename(path).startswith(kept.TEMPORARY)]


# ---- whole processes -----------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


def _environment(tmp_path: Path, **given: str) -> dict[str, str]:
    base = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JTORCH_CACHE", "JAX_COMPILATION", "XDG_"))
    }
    return {**base, "JAX_PLATFORMS": "cpu", "HOME": str(tmp_path / "home"), **given}


def _run(tmp_path: Path, code: str = _WORK, **given: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=_environment(tmp_path, **given),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_a_shared_folder_is_left_alone_with_one_warning(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    out, err = _run(tmp_path, XDG_CACHE_HOME=str(shared))
    assert "0.9950" in out
    assert err.count("Warning:") == 1, err
    assert f"{shared} can be written by other users" in err
    assert not _files(shared)


def test_workers_do_not_warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch.utils.data._utils import pool

    monkeypatch.delenv("JTORCH_CACHE", raising=False)
    found = []
    for warned in (False, True):
        kept._state["warned"] = warned
        found.append(pool._environment().get("JTORCH_CACHE"))
    assert found == [None, "0"]


@pytest.mark.parametrize("place", ["/proc/none", "file"])
def test_places_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    out, err = _run(tmp_path, XDG_CACHE_HOME=os.path.join(tmp_path, place))
    assert "0.9950" in out
    assert (
        ("is not a folder" in err and err.count("Warning:") == 1) if place == "file" else err == ""
    )
    assert (tmp_path / "file").read_text() == ""


def test_a_home_that_is_missing_makes_no_folder_here(tmp_path: Path) -> None:
    from jtorch._src.keeping import folders as _cache_folders

    # as where the user has no entry
    code = "import os; os.path.expanduser = lambda path: path; " + _WORK
    program = [sys.executable, "-c", code]
    subprocess.run(
        program,
        env=_environment(tmp_path),
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert not list(tmp_path.iterdir())  # nor is a home made that does not exist
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", "relative")
        patch.delenv("JTORCH_CACHE_DIR", raising=False)
        patch.delenv("JTORCH_CACHE", raising=False)
        assert str(_cache_folders.root()).startswith(os.path.expanduser("~"))


def test_a_full_disk_leaves_nothing_half_written(home: Path, tmp_path: Path) -> None:
    full = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, "
        "resource.RLIM_INFINITY)); "
    )
    out, err = _run(tmp_path, full + _WORK)
    assert err == ""
    assert not [
        p for p in _files(tmp_path) if p.stat().st_size >= 3000 or p.name.startswith(kept.TEMPORARY)
    ]
    assert _run(tmp_path) == (out, "")
    assert _files(tmp_path)


def test_damage_in_the_folder_of_jax_is_no_warning(home: Path, tmp_path: Path) -> None:
    out, _ = _run(tmp_path)
    files = _files(home / ".cache" / "jtorch" / "jax")
    assert files
    for i, file in enumerate(files):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if i % 2 else b"")
    before = {f: f.stat().st_size for f in files}
    assert _run(tmp_path) == (out, "")
    assert all(f.stat().st_size > n for f, n in before.items())


def test_a_folder_named_later_is_jaxs_own(home: Path, tmp_path: Path) -> None:
    code = (
        "import jtorch, jax; jax.config.update('jax_compilation_cache_dir', 'own'); "
        "print(jax.jit(lambda x: x * 3 + 1)(1.0))"
    )
    program = [sys.executable, "-c", code]
    subprocess.run(
        program,
        env=_environment(tmp_path),
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert any(p.name.endswith("-cache") for p in (tmp_path / "own").iterdir())


def test_processes_that_write_at_once(home: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-c", _WORK]
    running = [
        subprocess.Popen(
            program,
            env=_environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    found = [p.communicate(timeout=120) for p in running]
    assert len(set(found)) == 1
    assert not found[0][1]
    assert not [p for p in _files(tmp_path) if p.name.startswith(kept.TEMPORARY)]
