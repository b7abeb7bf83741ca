"""The file format before archives: pickles one after the other, then the storages that they
name."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import _weights_only_unpickler
from ..._weights_only_unpickler import StorageType, UntypedStorageType
from ..tensor.typed_storage import TypedStorage
from .archive import read_bytes
from .pickles import Storages, make_unpickler, storage_id, text, write_pickle
from .raw_storage import DTYPE_OF, LoadedStorage, brief

if TYPE_CHECKING:
    from ..facts.kinds import Keywords, Tree


MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def save(obj: object, file: Any, pickle_module: Any, protocol: int, storages: Storages) -> None:
    """Writes the pickles, then the storages."""
    sizes = {"short": 2, "int": 4, "long": 4}
    info = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    body = io.BytesIO()
    write_pickle(
        obj, pickle_module, protocol, lambda stored: (*storages.persistent_id(stored), None), body
    )
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        pickle_module.dump(part, file, protocol=protocol)
    file.write(body.getvalue())
    pickle_module.dump([key for key, _ in storages.pieces.values()], file, protocol=protocol)
    for _, piece in storages.pieces.values():
        file.write(struct.pack("<q", piece.nbytes // piece.dtype.itemsize))
        file.write(piece.memory().tobytes())


class _Stub:
    """Stands for whatever a pickle makes while it is only searched for storages."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __call__(self, *args: object, **kwargs: object) -> _Stub:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        pass

    def append(self, item: object) -> None:
        """Does nothing."""

    def extend(self, items: object) -> None:
        """Does nothing."""

    def add(self, item: object) -> None:
        """Does nothing."""


def _view_of(pid: tuple[object, ...]) -> tuple[object, int, int] | None:
    """Which part of a storage is meant, as its key, first element and number of elements; None for
    the whole.

    Raises:
        pickle.UnpicklingError: if the file says something else there.
    """
    view = pid[5] if len(pid) > 5 else None
    if view is None:
        return None
    if not (
        isinstance(view, tuple)
        and len(view) == 3
        and all(type(n) is int and n >= 0 for n in view[1:])
    ):
        raise pickle.UnpicklingError(
            f"A part of a storage must be a key and two numbers, not {brief(view)}"
        )
    return text(view[0]), view[1], view[2]


def _storages_in(file: Any, reader: object, options: Keywords) -> dict[str, tuple[Any, str, int]]:
    """``{key: (storage type, location, number of elements)}`` of the next pickle, of which nothing
    is run."""
    found: dict[str, tuple[Any, str, int]] = {}

    known = pickle._Unpickler.dispatch
    if reader is _weights_only_unpickler:
        known = {code: known[code] for code in reader.Unpickler.dispatch}

    # Not the one in C, which makes room for as many objects as a number in the file says.
    class Scanner(pickle._Unpickler):
        def find_class(self, module: str, name: str) -> object:
            if module in ("torch", "torch.storage") and (
                name in DTYPE_OF or name == "UntypedStorage"
            ):
                return UntypedStorageType() if name == "UntypedStorage" else StorageType(name)
            return _Stub

        # nothing is looked up in what is made here, so nothing is hashed either
        def load_setitem(self) -> None:
            del self.stack[-2:]

        def load_setitems(self) -> None:
            self.pop_mark()

        # of a class that the pickle makes or looks up in another, too
        def load_newobj(self) -> None:
            self.stack[-2:] = [_Stub()]

        def load_newobj_ex(self) -> None:
            self.stack[-3:] = [_Stub()]

        others: ClassVar[dict[bytes, Any]] = {
            pickle.SETITEM: load_setitem, pickle.SETITEMS: load_setitems,
            pickle.NEWOBJ: load_newobj, pickle.NEWOBJ_EX: load_newobj_ex,
        }  # fmt: skip
        dispatch: ClassVar[dict[int, Any]] = {code: known[code] for code in known} | {
            code[0]: load for code, load in others.items() if code[0] in known
        }

        def persistent_load(self, pid: tuple[object, ...]) -> object:
            storage_type, key, location, numel = storage_id(pid, 5)
            _view_of(pid)
            found[key] = (storage_type, location, numel)
            return _Stub()

    try:
        Scanner(file, **options).load()
    except KeyError as e:
        raise pickle.UnpicklingError(f"Unsupported operand {brief(e.args[0])}") from None
    except (NotImplementedError, RuntimeError, EOFError, pickle.UnpicklingError):
        raise
    except Exception as e:
        raise pickle.UnpicklingError(f"The pickle is damaged: {type(e).__name__}: {e}") from e
    return found


def load(
    file: Any, restore: Callable[[Any, str], Any], reader: Any, options: dict[str, str]
) -> Tree:
    """Reads the next object; ``restore`` puts a storage where it belongs."""
    storages = {}
    parts: dict[Any, Any] = {}

    def persistent_load(pid: tuple[StorageType | int | str, ...]) -> object:
        key = storage_id(pid, 5)[1]
        if key not in storages:
            raise RuntimeError(
                f"There is no storage {key!r} in the file. The file might be corrupted."
            )
        whole, view = storages[key], _view_of(pid)
        if view is None:
            return whole
        name, first, count = view
        if first + count > named[key][2]:
            raise RuntimeError(
                f"The storage {key!r} has no elements {first} to {first + count}. The file might "
                "be corrupted."
            )
        if name not in parts:
            size = whole.element_size()
            memory = whole.untyped()[first * size : (first + count) * size]
            parts[name] = TypedStorage(wrap_storage=memory, dtype=whole.dtype, _internal=True)
        return parts[name]

    read = make_unpickler(reader, persistent_load)
    if read(file, **options).load() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read(file, **options).load()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {brief(version)}")
    read(file, **options).load()
    start = file.tell()
    named = _storages_in(file, reader, options)
    at = file.tell()
    left = file.seek(0, 2) - at
    file.seek(at)
    keys = read(file, **options).load()
    if not isinstance(keys, list) or not all(
        isinstance(text(key), str) and text(key) in named for key in keys
    ):
        raise RuntimeError("The list of storages is damaged. The file might be corrupted.")
    for key in map(text, keys):
        storage_type, location, numel = named[key]
        size = numel * (1 if storage_type.dtype is None else storage_type.dtype.itemsize)
        header = file.read(8)
        data = np.frombuffer(bytearray(read_bytes(file, size) if size <= left else b""), np.uint8)
        if len(header) != 8 or data.nbytes != size:
            raise RuntimeError("unexpected EOF. The file might be corrupted.")
        storages[key] = restore(LoadedStorage(data, storage_type.dtype, "cpu"), location)
    end = file.tell()
    file.seek(start)
    result = read(file, **options).load()
    file.seek(end)  # several objects may follow each other in one file
    return result
