"""Memory that processes share: mapped from a descriptor, of which others get a copy, or from a file
that they open by its name.

Decision 0065 has the reasons. Arrays on such memory keep it mapped, and a storage whose memory they
are (``Storage.host``) is never taken over by the engine, as NumPy sees that the array's memory is
not its own.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import mmap
import os
import tempfile
import weakref
from multiprocessing import parent_process
from multiprocessing import process as _process
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Several, numbers_of
from ..facts.layouts import contiguous_strides
from .cells import HOST_LOCK, Storage

if TYPE_CHECKING:
    from ...core import Tensor


try:
    import fcntl
except ImportError:  # the system has no such files either
    fcntl = None

#: How the memory of storages that are shared next is passed on: ``"file_descriptor"`` or
#: ``"file_system"``.
STRATEGY = ["file_descriptor" if hasattr(os, "memfd_create") else "file_system"]

#: Whether this process, if nothing of ``multiprocessing`` started it, is the first of its program.
FIRST = [True]

#: Before the data of a file with a name: how many look at it, or are to when they read what was
#: sent to them.
_HEAD = 64
_FILES = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()


class Mapping:
    """Memory that other processes may look at too. What others see of it is told by NumPy's
    protocol, so that arrays keep it.

    Attributes:
        nbytes: its size.
        fd: the descriptor that others get a copy of; -1 if the memory has a name.
        name: the file's name in the folder for shared memory; None if there is a descriptor.
        address: where it lies in this process.
    """

    __slots__ = ("nbytes", "fd", "name", "address", "__array_interface__", "__weakref__")

    def __init__(self, fd: int, nbytes: int, name: str | None = None) -> None:
        head = _HEAD if name else 0
        length = head + max(nbytes, 1)  # nothing cannot be mapped
        start = _system().mmap(
            None, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0
        )
        if start == ctypes.c_void_p(-1).value:
            error = ctypes.get_errno()
            raise RuntimeError(
                f"unable to mmap {length} bytes from file <{name or 'filename not specified'}>: "
                f"{os.strerror(error)} ({error})"
            )
        self.nbytes, self.name, self.address = nbytes, name, start + head
        self.fd = -1 if name else fd
        self.__array_interface__ = {
            "version": 3,
            "data": (self.address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
        }
        # Not at the end of the process: arrays that are looked at until then lie in it.
        weakref.finalize(self, _release, start, length, self.fd).atexit = False
        if name is not None:
            # after queues have sent what they hold, at the end of children too
            Finalize(self, count, (name, -1), exitpriority=-10)

    def array(self) -> np.ndarray:
        """The bytes."""
        return np.asarray(self)

    def is_all_of(self, host: np.ndarray) -> bool:
        """Whether an array that lies in this memory is all of it, and no part."""
        return _extent(host.shape, host.strides, host.itemsize) == self.nbytes and (
            not self.nbytes or host.ctypes.data == self.address
        )


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element to the end of the last."""
    return (
        0
        if 0 in shape
        else itemsize + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    )


def _refused(name: str, error: OSError) -> RuntimeError:
    return RuntimeError(
        f"unable to open shared memory object </{name}> in read-write mode: {error.strerror} "
        f"({error.errno})"
    )


@functools.cache
def _system() -> Any:
    """The system's own functions: Python's ``mmap`` would keep a descriptor of each piece of
    memory, of which there are not that many."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def _release(start: int, length: int, fd: int) -> None:
    _system().munmap(start, length)
    if fd >= 0:
        os.close(fd)


def _nameless() -> int:
    """A descriptor of new memory without a name, which goes with the last process that looks at
    it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("jtorch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def by_descriptor(nbytes: int) -> Mapping:
    """New memory, of zeros, that is passed on by its descriptor."""
    try:
        fd = _nameless()
    except OSError as error:  # too many open files
        raise _refused("torch", error) from None
    try:
        os.ftruncate(fd, max(nbytes, 1))
        return Mapping(fd, nbytes)
    except BaseException:
        os.close(fd)
        raise


def from_descriptor(fd: int, nbytes: int) -> Mapping:
    """The memory behind a descriptor that another process gave, of which this one keeps a copy.

    Raises:
        RuntimeError: if there is less of it.
    """
    if (size := os.fstat(fd).st_size) < nbytes:
        raise RuntimeError(
            f"file descriptor holds {size} bytes, which is less than the {nbytes} bytes of the "
            "storage"
        )
    kept = os.dup(fd)
    try:
        return Mapping(kept, nbytes)
    except BaseException:
        os.close(kept)
        raise


_numbers = itertools.count(1)


def new_name() -> str:
    """A name that no other file of shared memory has."""
    return f"torch_{os.getpid()}_{family()}_{next(_numbers)}"


def by_name(nbytes: int, name: str | None = None) -> Mapping:
    """New memory, of zeros, in a file that others open by its name. It goes when nobody counts on
    it any more, and at the latest at the end of the first process of the program, unless that is
    killed.

    Raises:
        RuntimeError: if there is not that much.
    """
    name = name or new_name()
    path = os.path.join(_FILES, name)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise _refused(name, error) from None
    try:
        # Not only a length: who writes where there is no room left is ended by a signal.
        os.posix_fallocate(fd, 0, _HEAD + max(nbytes, 1))
        os.pwrite(fd, (1).to_bytes(8, "little"), 0)
        return Mapping(fd, nbytes, name)
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError):
            raise _refused(name, error) from None
        raise
    finally:
        os.close(fd)


def from_name(name: str, nbytes: int) -> Mapping:
    """The memory in a file that another process made.

    Raises:
        RuntimeError: if it is no longer there.
    """
    family()
    count(name, 1)
    fd = os.open(os.path.join(_FILES, name), os.O_RDWR)
    try:
        return Mapping(fd, nbytes, name)
    finally:
        os.close(fd)


def count(name: str, by: int) -> None:
    """Changes how many count on a file, which goes with the last one.

    Raises:
        RuntimeError: if somebody new is to count on a file that has gone.
    """
    path = os.path.join(_FILES, name)
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        if by < 0:
            return
        raise _refused(name, error) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        now = int.from_bytes(os.pread(fd, 8, 0), "little") + by
        os.pwrite(fd, max(now, 0).to_bytes(8, "little"), 0)
        if now <= 0:
            try:
                os.unlink(path)
            except FileNotFoundError:  # at the end of the program
                pass
    finally:
        os.close(fd)


@functools.cache
def family() -> str:
    """What the names of this program's files have in common, in all of its processes; the first of
    them clears up at its end."""
    name = hashlib.sha256(bytes(_process.current_process().authkey)).hexdigest()[:12]
    if FIRST[0] and parent_process() is None:
        Finalize(None, _clear, (name,), exitpriority=-20)
    return name


def _clear(family: str) -> None:
    """Removes what was sent and never read, or belonged to processes that were killed."""
    for file in os.listdir(_FILES):
        if file.startswith("torch_") and f"_{family}_" in file:
            try:
                os.unlink(os.path.join(_FILES, file))
            except OSError:
                pass


def is_spread(t: Tensor) -> bool:
    """Whether a tensor lies on several devices, and so has no one memory."""
    return type(t._aval.device) is Several


def mapping_of(storage: Storage) -> Mapping | None:
    """The shared memory that a storage lies in; None if it does not."""
    found: Any = storage.host
    while isinstance(found, np.ndarray):
        found = found.base
    return found if isinstance(found, Mapping) else None


def _file(storage: Storage) -> np.memmap | None:
    found: Any = storage.host
    while isinstance(found, np.ndarray) and not isinstance(found, np.memmap):
        found = found.base
    return found if isinstance(found, np.memmap) else None


def is_file(storage: Storage) -> bool:
    """Whether a storage lies in memory that is mapped from a file of the user's."""
    return _file(storage) is not None


def file_of(storage: Storage) -> str | None:
    """The file of the user's that a storage lies in, and writes to."""
    found = _file(storage)
    return None if found is None or found.mode == "c" else str(found.filename)


def shared(storage: Storage, named: bool) -> Mapping:
    """Moves a storage into shared memory, unless it lies there. All that look at it go along, but
    for NumPy's arrays."""
    with HOST_LOCK:
        mapping = mapping_of(storage)
        if (
            mapping is not None
            and (mapping.name is not None) is named
            and mapping.is_all_of(storage.host)  # type: ignore[arg-type]
        ):
            return mapping
        while True:
            host = storage.lent()
            numbers: Any = host
            value = storage.value if host is None else None
            if value is None:
                strides = numbers.strides  # with gaps, if it is a part of an array
            else:
                numbers = numbers_of(value)
                strides = tuple(
                    [
                        n * numbers.itemsize
                        for n in storage.strides or contiguous_strides(numbers.shape)
                    ]
                )
                storage.aval = value.aval
            nbytes = _extent(numbers.shape, strides, numbers.itemsize)
            made = by_name(nbytes) if named else by_descriptor(nbytes)
            array = np.ndarray(numbers.shape, numbers.dtype, made.array(), strides=strides)
            np.copyto(array, numbers)
            if storage.hosted(array, value):
                return made
