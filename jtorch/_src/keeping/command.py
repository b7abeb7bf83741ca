"""``python -m jtorch cache``: shows what is kept between processes, and removes it with
``--clear``. Floor 5."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from jtorch._src.keeping import files as _kept_files
from jtorch._src.keeping import folders as _cache_folders

_USAGE = "usage: python -m jtorch cache [--clear]"


def _size(n: int) -> str:
    """A number of bytes with a readable unit."""
    size, unit = float(n), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{n} B" if unit == "B" else f"{size:.1f} {unit}"


def _reason() -> str:
    """Why nothing is kept."""
    if os.environ.get("JTORCH_CACHE", "1") == "0":
        return "JTORCH_CACHE is 0"
    if _cache_folders.limit() == 0:
        return "JTORCH_CACHE_LIMIT is 0"
    return "there is no home folder, and JTORCH_CACHE_DIR is not set"


def _shown(root: Path) -> list[str]:
    found = [str(root)]
    for part, (what, _) in _cache_folders.PARTS.items():
        files = _kept_files.listed(root / part)
        size = sum(n for _, n, _ in files)
        line = (
            f"  {part:9} {what:40} {len(files):6} files {_size(size):>10} of at most "
            f"{_size(_cache_folders.most(part)):>10}"
        )
        if files:
            line += time.strftime(", oldest use %Y-%m-%d %H:%M", time.localtime(min(files)[0]))
        found.append(line)
    return found


def run(arguments: list[str]) -> int:
    """Does what the command line says after ``cache``; the exit status."""
    if arguments in (["-h"], ["--help"]):
        print(f"{_USAGE}\n{__doc__}")
        return 0
    if arguments not in ([], ["--clear"]):
        print(f"{_USAGE}\nA program of that name runs as ./cache", file=sys.stderr)
        return 2
    root = _cache_folders.root()
    if root is None:
        print(f"Nothing is kept: {_reason()}.")
        return 0
    if not arguments:
        print("\n".join(_shown(root)))
        return 0
    removed = [_kept_files.clear(root / part) for part in _cache_folders.PARTS]
    print(
        f"Removed {sum(n for n, _ in removed)} files, {_size(sum(n for _, n in removed))}, from "
        f"{root}."
    )
    left = [
        path
        for part in _cache_folders.PARTS
        for _, _, path in _kept_files.listed(root / part)
        if _kept_files.ours(path)
    ]
    if left:
        print(f"{len(left)} files cannot be removed, such as {left[0]}", file=sys.stderr)
    return int(bool(left))
