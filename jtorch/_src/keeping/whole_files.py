"""Files that are replaced when they are complete: a process killed while it writes one leaves the
old one. Floor 0."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any


def _mode_for(path: str) -> int:
    """The rights of the file at a path, or those that a new one has."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextlib.contextmanager
def _removed_if_it_fails(temporary: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _nameless(folder: str) -> int | None:
    """A file in a folder that has no name yet, so that nothing is left of it if the process is
    killed; None where there are none."""
    kind = getattr(os, "O_TMPFILE", None)
    if kind is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, kind | os.O_RDWR, 0o600)
    except OSError:  # the file system has no such thing
        return None


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Any]:
    """A file to write to, which replaces the one at ``path`` (links followed, the folder there)
    when the block ends well."""
    folder, name = os.path.split(path)
    prefix, suffix = f".{name}.", ".tmp"
    handle = _nameless(folder)
    if handle is None:
        handle, temporary = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        with _removed_if_it_fails(temporary):
            with os.fdopen(handle, "wb") as file:
                yield file
            os.chmod(temporary, _mode_for(path))
            os.replace(temporary, path)
        return
    with os.fdopen(handle, "w+b") as file:
        yield file
        file.flush()
        os.fchmod(handle, _mode_for(path))
        temporary = os.path.join(folder, f"{prefix}{os.urandom(6).hex()}{suffix}")
        with _removed_if_it_fails(temporary):
            # with a folder's handle, of no use here, Python calls what follows the link in /proc
            try:
                os.link(
                    f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle, follow_symlinks=True
                )
            except OSError:  # a file system that makes such files and cannot name them
                file.seek(0)
                with open(temporary, "xb") as copy:
                    shutil.copyfileobj(file, copy, 1 << 20)
                os.chmod(temporary, _mode_for(path))
            os.replace(temporary, path)
