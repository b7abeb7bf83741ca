"""Files that are kept for the next process: read and written only where nobody else can have put
them. Floor 0.

What is kept is code (code objects, machine code), so whoever can write it can do what the user can.
No file can prove that it is harmless; what can be checked is who wrote it. So a folder counts only
if it, and every folder on the way to it, belongs to the user or to root and cannot be written by
others, and a file only if that holds of it too and it is no link.

A folder may hold so many bytes; those that were not used for longest go first. What is removed is
looked at before: a folder that the user named may hold other files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
import warnings
from pathlib import Path

#: Every file begins with it: nothing else is ever removed.
MARK = b"jtorch "
#: Temporary files are named so. One that is older than this many seconds was left by a process that
#: was killed.
TEMPORARY, OLD = ".jtorch-new-", 3600.0
#: Grows by a byte for each block written to a folder since it was last looked through; a file takes
#: whole blocks of the disk.
JOURNAL, BLOCK = ".jtorch-written", 4096
#: A file that is read is marked as used if it was last marked before so many seconds: they go by
#: that when room is made.
MARKED = 600.0
_LINKS = 40
_judged: dict[str, bool] = {}
_state = {"warned": False}


def _belongs_to_others(found: os.stat_result, *more: int) -> bool:
    return found.st_uid not in (os.geteuid(), 0, *more)


def _is_group_of_one(gid: int) -> bool:
    """Whether a group is the private one that many systems give each user, and has nobody else in
    it."""
    try:
        import grp
        import pwd

        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except (ImportError, KeyError):
        return False
    return (
        gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    )


def _writable_by_others(found: os.stat_result) -> bool:
    mode = found.st_mode
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_group_of_one(found.st_gid)))


def _fault_at(place: str, last: bool) -> str | None:
    """What is wrong with one folder on the way."""
    found = os.lstat(place)
    # Where user ids are mapped (containers), the system's folders belong to whoever the root folder
    # belongs to.
    if _belongs_to_others(found, *(() if last else (os.lstat("/").st_uid,))):
        return f"{place} belongs to another user (id {found.st_uid})"
    if stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISDIR(found.st_mode):
        return f"{place} is not a folder"
    # In a sticky folder, such as that for temporary files, nobody can replace what belongs to
    # another.
    if _writable_by_others(found) and (last or not found.st_mode & stat.S_ISVTX):
        return f"{place} can be written by other users"
    return None


def _fault(path: str) -> str | None:
    """Why others could put files in a folder; None if they cannot. What is missing is judged when
    it has been made.

    Raises:
        OSError: if it cannot be looked at.
    """
    home = os.path.expanduser("~").rstrip("/")
    # what lies above it is the administrator's business
    within = os.path.isabs(home) and path.startswith(home + "/")
    place, rest = (home, path[len(home) :].split("/")) if within else ("/", path.split("/"))
    rest = [name for name in rest if name]
    links = 0
    while True:
        fault = _fault_at(place, last=not rest)
        if fault is not None:
            return fault
        if stat.S_ISLNK(os.lstat(place).st_mode):
            links += 1
            if links > _LINKS:
                return f"{path} has too many links"
            target = os.readlink(place)
            rest[:0] = [name for name in target.split("/") if name]
            place = "/" if os.path.isabs(target) else os.path.dirname(place)
            continue
        if not rest:
            return None
        name = rest.pop(0)
        place = os.path.normpath(os.path.join(place, name))
        if not os.path.lexists(place):
            return None


def trusted(folder: Path) -> bool:
    """Whether only the user can have written what lies in a folder. If others can, a warning says
    so, once in a process."""
    path = os.path.abspath(folder)
    known = _judged.get(path)
    if known is not None:
        return known
    try:
        fault = _fault(path) if hasattr(os, "geteuid") else None
        exists = os.path.isdir(path)
    except OSError:
        return False
    if fault is not None and not _state["warned"]:
        _state["warned"] = True
        warnings.warn(
            "jtorch keeps no compiled code between processes, as others could replace it: "
            f"{fault}. Take away their right to write there (chmod go-w), set JTORCH_CACHE_DIR to "
            "a folder of your own, or JTORCH_CACHE=0 to do without.",
            stacklevel=2,
        )
    if exists or fault is not None:
        _judged[path] = fault is None
    return fault is None


def refused() -> bool:
    """Whether a warning has said that nothing is kept: other processes that this one starts need
    not say it again."""
    return _state["warned"]


def make_folder(folder: Path) -> bool:
    """Makes a folder, and those on the way to it, for the user alone; False where that cannot be,
    or it is not trusted."""
    if not trusted(folder):
        return False
    missing = []
    place = Path(os.path.abspath(folder))
    try:
        while not place.exists():
            missing.append(place)
            place = place.parent
        for place in reversed(missing):
            with contextlib.suppress(FileExistsError):
                place.mkdir(mode=0o700)
    except OSError:
        return False
    return trusted(folder)


def _open(path: Path | str, flags: int) -> int:
    """A file that is opened without following a link or waiting for anybody."""
    return os.open(
        path,
        flags
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_BINARY", 0),
        0o600,
    )


def _checksum(path: Path, payload: bytes) -> bytes:
    """Tells whether a file is whole, and the one of that name: what another one holds may be of
    another kind."""
    return hashlib.blake2b(path.name.encode() + b"\n" + payload, digest_size=16).digest()


def read(path: Path, header: bytes) -> bytes | None:
    """What ``write`` wrote; None if there is none, not all of it, or others could have written
    it."""
    if not trusted(path.parent):
        return None
    try:
        handle = _open(path, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    try:
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None
            if hasattr(os, "geteuid") and (_belongs_to_others(found) or _writable_by_others(found)):
                return None
            data = file.read()
    except OSError:
        return None
    head = len(header)
    payload = data[head + 16 :]
    whole = data[:head] == header and data[head : head + 16] == _checksum(path, payload)
    if whole and time.time() - found.st_mtime > MARKED:
        with contextlib.suppress(OSError):  # a folder that can only be read serves as well
            os.utime(path)
    return payload if whole else None


def write(path: Path, header: bytes, payload: bytes) -> bool:
    """Replaces a file at once; False where it cannot be written, and nothing is left behind
    then."""
    if not make_folder(path.parent):
        return False
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(header + _checksum(path, payload) + payload)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            return False
        raise
    return True


def _blocks(size: int) -> int:
    return -(-size // BLOCK)


def ours(path: str) -> bool:
    """Whether a file is one of those that are kept here."""
    try:
        handle = _open(path, os.O_RDONLY)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        return file.read(len(MARK)) == MARK


def listed(folder: Path) -> list[tuple[float, int, str]]:
    """When each file of a folder was last used, its bytes on the disk, and its path: the temporary
    ones too, links and folders not."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process removed it
                of = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(of.st_mode) and entry.name != JOURNAL:
                    found.append((of.st_mtime, _blocks(of.st_size) * BLOCK, entry.path))
    return found


def _is_temporary(path: str) -> bool:
    return os.path.basename(path).startswith(TEMPORARY)


def _remove(path: str) -> bool:
    """Removes a file that is kept here; False if it is not, or cannot be removed."""
    try:
        if not _is_temporary(path) and not ours(path):
            return False
        os.unlink(path)
    except OSError:
        return False
    return True


def make_room(folder: Path, most: int) -> None:
    """Removes the files not used for longest, if they take more than ``most`` bytes, and what
    killed processes left."""
    now = time.time()
    files = []
    for used, size, path in listed(folder):
        if _is_temporary(path) and now - used > OLD:
            _remove(path)
        else:
            files.append((used, size, path))
    taken = sum(size for _, size, _ in files)
    for _, size, path in sorted(files) if taken > most else ():
        if _remove(path):
            taken -= size
        if taken <= most * 3 // 4:
            break


def clear(folder: Path) -> tuple[int, int]:
    """Removes all files that are kept in a folder; how many, and their bytes."""
    sizes = [size for _, size, path in listed(folder) if _remove(path)]
    with contextlib.suppress(OSError):
        os.unlink(folder / JOURNAL)
    return len(sizes), sum(sizes)


class Store:
    """A folder of files of one kind, which holds at most ``most`` bytes, and a sixteenth of that in
    what was written since it was seen to.

    How much all processes wrote since then is the size of a file to which each of them appends:
    whoever finds a sixteenth there makes room.
    """

    def __init__(self, folder: Path, header: bytes, most: int) -> None:
        self.folder, self.header, self.most = folder, header, most

    def read(self, name: str) -> bytes | None:
        """What was written under a name, if it is whole and the user's own."""
        return read(self.folder / name, self.header)

    def write(self, name: str, payload: bytes) -> bool:
        """Keeps something under a name; False where that cannot be, or it alone would be too
        much."""
        size = len(self.header) + 16 + len(payload)
        if size > self.most or not write(self.folder / name, self.header, payload):
            return False
        if self._written(_blocks(size)) * BLOCK > self.most // 16:
            make_room(self.folder, self.most)
        return True

    def _written(self, blocks: int) -> int:
        """Blocks that were written since room was last made, these included; begins anew where
        there are too many."""
        try:
            handle = _open(self.folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        except OSError:
            return self.most
        try:
            os.write(handle, b"." * blocks)
            found = os.fstat(handle).st_size
            if found * BLOCK > self.most // 16:
                os.ftruncate(handle, 0)
            return found
        except OSError:  # a full disk
            return self.most
        finally:
            os.close(handle)
