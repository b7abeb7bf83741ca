"""The file ``.metadata``: a pickle under PyTorch's names, read without importing or calling
anything that a file may ask for."""

from __future__ import annotations

import dataclasses
import io
import pathlib
import pickle
import struct
from collections import OrderedDict
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ... import _weights_only_unpickler
from ..._src.files.pickles import write_pickle
from ...serialization import _get_layout
from . import metadata as kinds

if TYPE_CHECKING:
    from collections.abc import Callable


#: The parts of one piece of a file, as the reader and the writer of files know it; set by
#: ``filesystem``.
_RECORDS: dict[str, type] = {}


def register(cls: type) -> type:
    """Lets a dataclass of the package stand in metadata."""
    _RECORDS[f"torch.{cls.__module__.partition('.')[2]}.{cls.__qualname__}"] = cls
    return cls


for _kind in (
    kinds.ChunkStorageMetadata, kinds.TensorProperties, kinds.TensorStorageMetadata,
    kinds.BytesStorageMetadata, kinds.StorageMeta, kinds.Metadata, kinds.MetadataIndex,
):  # fmt: skip
    register(_kind)
# its place before 2.3
_RECORDS["torch.distributed._shard.sharded_tensor.metadata.TensorProperties"] = (
    kinds.TensorProperties
)

#: What a file may call: nothing of it does more than making a value.
_CALLED = {
    "torch.Size": torch.Size,
    "torch.serialization._get_layout": _get_layout,
    "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING": kinds._MEM_FORMAT_ENCODING,
    "torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING": kinds._MEM_FORMAT_ENCODING,  # noqa: E501
    "collections.OrderedDict": OrderedDict,
    "pathlib.PosixPath": pathlib.PurePosixPath,
    "pathlib.PurePosixPath": pathlib.PurePosixPath,
    "pathlib.WindowsPath": pathlib.PureWindowsPath,
    "pathlib.PureWindowsPath": pathlib.PureWindowsPath,
    "pathlib._local.PosixPath": pathlib.PurePosixPath,
    "pathlib._local.WindowsPath": pathlib.PureWindowsPath,
    "builtins.complex": complex,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
}

#: What a damaged pickle raises.
_MALFORMED = (
    ArithmeticError, AttributeError, EOFError, IndexError, KeyError, MemoryError, OverflowError,
    RecursionError, TypeError, UnicodeError, ValueError, struct.error,
)  # fmt: skip

_OPCODES = (
    "PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG "
    "LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES "
    "SHORT_BINBYTES BINBYTES8 TUPLE EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 LIST EMPTY_LIST DICT "
    "EMPTY_DICT EMPTY_SET ADDITEMS FROZENSET APPEND APPENDS SETITEM SETITEMS GET BINGET "
    "LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE GLOBAL STACK_GLOBAL REDUCE NEWOBJ BUILD"
).split()


class _Unpickler(pickle._Unpickler):  # the one written in Python: its steps can be replaced
    dispatch = {
        getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]]
        for name in _OPCODES
    }

    def find_class(self, module: str, name: str) -> torch.dtype | Callable[..., object] | type:
        """The allowed class or function of that name."""
        path = f"{module}.{name}"
        if path in _RECORDS:
            return _RECORDS[path]
        if path in _CALLED:
            return _CALLED[path]
        found = getattr(torch, name, None) if module == "torch" else None
        if isinstance(found, torch.dtype):
            return found
        trusted = _weights_only_unpickler._user_allowed()
        if path in trusted:
            return trusted[path]
        raise UnpicklingError(
            f"The checkpoint's metadata names {path}, which is not among what metadata is made of. "
            "If you trust the file, allow it by torch.serialization.add_safe_globals."
        )

    def load_newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if not _is_record(cls) or args:
            raise UnpicklingError(f"The checkpoint's metadata makes an object of {cls!r}")
        self.append(object.__new__(cls))

    def load_reduce(self) -> None:
        args = self.stack.pop()
        called = self.stack[-1]
        if not any(called is known for known in _CALLED.values()) and not _is_trusted(called):
            raise UnpicklingError(f"The checkpoint's metadata calls {called!r}")
        self.stack[-1] = called(*args)

    def load_build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        kind = type(made)
        if not _is_record(kind):
            raise UnpicklingError(f"The checkpoint's metadata fills in an object of {kind!r}")
        if hasattr(kind, "__setstate__"):
            made.__setstate__(state)
        elif dataclasses.is_dataclass(kind) and not _is_trusted(kind):
            names = {field.name for field in dataclasses.fields(kind)}
            made.__dict__.update({name: value for name, value in state.items() if name in names})
        else:
            made.__dict__.update(state)

    for _name in ("newobj", "reduce", "build"):
        dispatch[getattr(pickle, _name.upper())[0]] = locals()[f"load_{_name}"]
    del _name


def _is_trusted(obj: type) -> bool:
    return any(obj is known for known in _weights_only_unpickler._user_allowed().values())


def _is_record(kind: type) -> bool:
    return any(kind is known for known in _RECORDS.values()) or _is_trusted(kind)


def read(data: bytes) -> kinds.Metadata:
    """The metadata that a file holds.

    Raises:
        UnpicklingError: if it is damaged, or holds something else.
    """
    try:
        found = _Unpickler(io.BytesIO(data)).load()
    except UnpicklingError:
        raise
    except _MALFORMED as error:
        raise UnpicklingError(
            f"The checkpoint's metadata is damaged: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, kinds.Metadata):
        raise UnpicklingError(f"The checkpoint's metadata is a {type(found).__name__}")
    return found


def write(metadata: kinds.Metadata) -> bytes:
    """What the file holds."""
    out = io.BytesIO()

    def refuse(_: object) -> Any:
        raise TypeError("The metadata of a checkpoint cannot hold tensors")

    write_pickle(metadata, pickle, 4, refuse, out)
    return out.getvalue()
