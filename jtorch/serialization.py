"""``save`` and ``load`` in PyTorch's own file format: files go both ways between jtorch and
PyTorch."""

from __future__ import annotations

import contextlib
import copyreg
import enum
import io
import mmap as mmap_module
import os
import pickle
import re
import struct
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import jtorch as torch

from . import _weights_only_unpickler
from ._src.facts.errors import not_offered
from ._src.facts.warned_once import outside
from ._src.files import legacy_format as _legacy_format
from ._src.files.archive import MOST_ALIGNED, Archive, Writer

# torch's name
from ._src.files.archive_records import open_reader as _open_zipfile_reader  # noqa: F401
from ._src.files.archive_records import open_writer as _open_zipfile_writer  # noqa: F401
from ._src.files.legacy_format import MAGIC_NUMBER as MAGIC_NUMBER
from ._src.files.legacy_format import PROTOCOL_VERSION as PROTOCOL_VERSION
from ._src.files.pickles import Storages, make_unpickler, storage_id, text, write_pickle
from ._src.files.raw_storage import LoadedStorage
from ._src.files.saving import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from ._src.files.saving import load as load
from ._src.files.saving import save as save
from ._src.keeping.whole_files import replacing
from ._src.refusals import stand_ins as _refusals
from ._weights_only_unpickler import StorageType as StorageType
from .utils.serialization import config

if TYPE_CHECKING:
    from ._src.facts.kinds import Named, Tree


__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
    "validate_hpu_device",
]

#: Where storages go, for annotations.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | torch.device | str | dict[str, str] | None
FILE_LIKE: TypeAlias = torch.types.FileLike

STORAGE_KEY_SEPARATOR = ","
LONG_SIZE, INT_SIZE, SHORT_SIZE = (
    struct.Struct("=l").size,
    struct.Struct("=i").size,
    struct.Struct("=h").size,
)
IS_WINDOWS = sys.platform == "win32"
MAP_SHARED, MAP_PRIVATE = (
    (None, None) if IS_WINDOWS else (mmap_module.MAP_SHARED, mmap_module.MAP_PRIVATE)
)

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the file "
    "from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


# ---- what may be loaded --------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows classes and functions (or pairs of one and its full name in the file) to
    ``load(weights_only=True)``."""
    _weights_only_unpickler._add_safe_globals(safe_globals)


def get_safe_globals() -> list[Any]:
    """What was allowed by ``add_safe_globals``."""
    return _weights_only_unpickler._get_safe_globals()


def clear_safe_globals() -> None:
    """Forgets what was allowed by ``add_safe_globals``."""
    _weights_only_unpickler._clear_safe_globals()


class safe_globals:
    """Allows classes and functions within a ``with`` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._added = [g for g in self.safe_globals if g not in get_safe_globals()]
        add_safe_globals(self._added)

    def __exit__(self, type: object, value: object, tb: object) -> None:
        _weights_only_unpickler._remove_safe_globals(self._added)


def get_unsafe_globals_in_checkpoint(f: object) -> list[str]:
    """The names in a checkpoint that ``load(weights_only=True)`` would refuse."""
    known = {
        **_weights_only_unpickler._get_allowed_globals(),
        **_weights_only_unpickler._user_allowed(),
    }
    with _opened(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        with Archive(file) as archive:
            names = _weights_only_unpickler.get_globals_in_pkl(archive.record("data.pkl"))
    return [name for name in names if name not in known]


def _get_layout(name: str) -> torch.layout:
    """The layout with that name.

    Raises:
        KeyError: if there is none. Names come from files, so nothing else may be found.
    """
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.layout):
        raise KeyError(name)
    return found


copyreg.pickle(torch.layout, lambda layout: (_get_layout, (str(layout),)))


class _Local(threading.local):
    skip_data = False


_local = _Local()


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """A folder that is removed when the block ends."""
    with tempfile.TemporaryDirectory() as path:
        yield path


class SourceChangeWarning(Warning):
    """The source of a class in a file is not the one it was saved with."""


class LoadEndianness(enum.Enum):
    """In which byte order a file that does not say it was written."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that do not say it; None is little."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets in which byte order files are read that do not say it.

    Raises:
        TypeError: for what is no ``LoadEndianness`` and not None.

    Example:
        >>> import jtorch as torch
        >>> torch.serialization.set_default_load_endianness(
        ...     torch.serialization.LoadEndianness.LITTLE
        ... )
        >>> torch.serialization.get_default_load_endianness()
        <LoadEndianness.LITTLE: 2>
        >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether ``save`` is asked to compute checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Remembers whether checksums are wanted.

    Differs from torch: files always have checksums, which takes a small part of the time to write
    them.
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``load(..., mmap=True)`` maps files."""
    return config.load.mmap_flags


def _refuse_sharing(name: str, flags: int | None) -> None:
    if flags is not None and flags == MAP_SHARED:
        raise not_offered(name, "arrays of JAX never write into a file")


class set_default_mmap_options:
    """Sets how ``load(..., mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``,
    until the end of the block in ``with``.

    Where shared, what is written into a tensor is written into the file.

    Raises:
        ValueError: for other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        _refuse_sharing("set_default_mmap_options(MAP_SHARED)", flags)
        self._before, config.load.mmap_flags = config.load.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        config.load.mmap_flags = self._before


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's ``__version__`` is at least the given one.

    Raises:
        RuntimeError: if it is no version, unless ``error_if_malformed`` is False, which warns and
            answers True.
    """
    try:
        parts = module.__version__.split(".")
        return (
            tuple([type(wanted)(part) for wanted, part in zip(req_version_tuple, parts)])
            >= req_version_tuple
        )
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            "cannot be compared with tuple "
        )
        message += str(req_version_tuple)
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True


def _index_of(kind: str, location: str) -> int:
    """The index of a device that a file names.

    Raises:
        RuntimeError: if it is not there.
    """
    module = getattr(torch, kind, None)
    if module is None or not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but "
            f"torch.{kind}.is_available() is False. If you are running on a CPU-only machine, "
            "please use torch.load with map_location=torch.device('cpu') to map your storages to "
            "the CPU."
        )
    index = torch.device(location).index or 0
    if index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {index} but "
            f"torch.{kind}.device_count() is {module.device_count()}. Please use torch.load with "
            "map_location to map your storages to an existing device."
        )
    return index


def validate_cuda_device(location: str) -> int | None:
    """The index of the GPU that ``cuda:1`` names.

    Raises:
        RuntimeError: if JAX found no such GPU.
    """
    return _index_of("cuda", location)


def validate_hpu_device(location: str) -> int | None:
    """The index of the HPU that ``hpu:1`` names.

    Raises:
        RuntimeError: as JAX has no backend for them.
    """
    return _index_of("hpu", location)


def normalize_storage_type(storage_type: Any) -> Any:
    """The class under which the module of a storage class has it."""
    return getattr(sys.modules[storage_type.__module__], storage_type.__name__)


class skip_data:
    """Within this ``with`` block ``save`` leaves space for the storages without writing them;
    ``load`` is not offered there.

    Args:
        materialize_fake_tensors: of no effect, as there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before, _local.skip_data = _local.skip_data, True

    def __exit__(self, type: object, value: object, tb: object) -> None:
        _local.skip_data = self._before


# ---- devices -------------------------------------------------------------------------------------

_registry: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Registers how storages of a device are tagged and restored; lower priorities are asked
    first."""
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The name of the place of a storage in files."""
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    return storage.location


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, put where ``location`` says.

    Raises:
        RuntimeError: if there is no such device.
    """
    location = location.decode() if isinstance(location, bytes) else location
    for _, _, deserializer in _registry:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    kind = re.split(r"[:0-9]", location)[0]
    if kind in ("cpu", "meta"):
        return storage if location == storage.location else storage.to(location)
    if kind not in ("cuda", "xpu", "mps", "hpu", "mtia", "tpu", "gpu"):
        raise RuntimeError(
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})"
        )
    _index_of(kind, location)
    return storage.to(location)


def _get_restore_location(map_location: str | None) -> Callable[..., object]:
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, str | bytes | torch.device):
        place = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, place)  # noqa: ARG005
    if not callable(map_location):
        raise TypeError(
            "map_location must be a device, a string, a dict or a callable, not "
            f"{type(map_location).__name__}"
        )

    def restore(storage: object, location: str) -> LoadedStorage:
        restored = map_location(storage, location)
        return default_restore_location(storage, location) if restored is None else restored

    return restore


# ---- files ---------------------------------------------------------------------------------------


def _is_path(f: object) -> bool:
    return isinstance(f, str | os.PathLike)


@contextlib.contextmanager
def _opened(f: Any, mode: str) -> Iterator[Any]:
    if _is_path(f):
        with open(f, mode) as file:
            yield file
        return
    if "w" not in mode:
        try:
            f.seek(f.tell())
        except (io.UnsupportedOperation, AttributeError) as e:
            raise type(e)(
                f"{e}. You can only torch.load from a file that is seekable. Please pre-load the "
                "data into a buffer like io.BytesIO and try to load from it instead."
            ) from None
    yield f
    if "w" in mode and hasattr(f, "flush"):
        f.flush()


@contextlib.contextmanager
def _written(f: Any) -> Iterator[Any]:
    """A file to write to. At a path, the old file stays until the new one is complete."""
    if not _is_path(f):
        yield f
        if hasattr(f, "flush"):
            f.flush()
        return
    path = os.path.realpath(os.fspath(f))  # through a link, its target is replaced
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe cannot be replaced
        with open(path, "wb") as file:
            yield file
        return
    with replacing(path) as file:
        yield file


def _is_zipfile(f: Any) -> bool:
    start = f.tell()
    magic = f.read(4)
    f.seek(start)
    return magic == b"PK\x03\x04"


# ---- saving --------------------------------------------------------------------------------------


def _write(
    obj: object,
    f: Any,
    pickle_module: object,
    pickle_protocol: int,
    use_new_zipfile_serialization: bool,
    disable_byteorder_record: bool,
) -> None:
    """What ``save`` does."""
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    storages = Storages(location_tag)
    if not use_new_zipfile_serialization:
        if _local.skip_data:
            raise RuntimeError(
                "Cannot use skip_data=True with _use_new_zipfile_serialization=False"
            )
        with _written(f) as file:
            _legacy_format.save(obj, file, pickle_module, pickle_protocol, storages)
        return
    alignment = config.save.storage_alignment
    if not isinstance(alignment, int) or not 0 < alignment <= MOST_ALIGNED:
        raise ValueError(
            f"config.save.storage_alignment must be a whole number from 1 to {MOST_ALIGNED}, got "
            f"{alignment!r}"
        )
    buffer = io.BytesIO()
    write_pickle(obj, pickle_module, pickle_protocol, storages.persistent_id, buffer)
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if _is_path(f) else "archive"
    with _written(f) as file:
        writer = Writer(file, name if name.isascii() else "archive", alignment)
        writer.record("data.pkl", buffer.getvalue())
        writer.record(".format_version", b"1")
        writer.record(".storage_alignment", str(alignment).encode())
        if not disable_byteorder_record:
            writer.record("byteorder", sys.byteorder.encode())
        for key, piece in storages.pieces.values():
            writer.record(
                f"data/{key}",
                np.zeros(piece.nbytes, np.uint8)
                if _local.skip_data
                else piece.memory().view(np.uint8),
            )
        writer.close()


# ---- loading -------------------------------------------------------------------------------------


def _weights_only_message(message: str) -> str:
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n"
            "\t(2) Alternatively, to load with `weights_only=True` please check the recommended "
            "steps in the following error message.\n"
            "\tWeightsUnpickler error: " + message + _DOCS
        )
    text = f"Weights only load failed. {UNSAFE_MESSAGE}\n"
    if not re.search(r"whose module (\S+) is blocked", message):
        text += (
            "Please file an issue with the following so that we can make `weights_only=True` "
            "compatible with your use case: WeightsUnpickler error: "
        )
    return text + "\n\n" + message + _DOCS


def _forced_weights_only(weights_only: bool | None, pickle_module: object) -> bool:
    yes = ("1", "y", "yes", "true")
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    force_no = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    if force and force_no:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if weights_only is None and force_no:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since "
            "the`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=4,
        )
        return False
    return pickle_module is None if weights_only is None else weights_only


def _read(
    f: object,
    map_location: str | None,
    pickle_module: object,
    weights_only: bool | None,
    mmap: bool | None,
    pickle_load_args: Named,
) -> Tree:
    """What ``load`` does."""
    weights_only = _forced_weights_only(weights_only, pickle_module)
    mmap = config.load.mmap if mmap is None else mmap
    if weights_only:
        if pickle_module is not None:
            raise RuntimeError(
                "Can not safely load weights when explicit pickle_module is specified"
            )
        if pickle_load_args:
            warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=3)
    pickle_load_args.setdefault("encoding", "utf-8")
    reader = _weights_only_unpickler if weights_only else (pickle_module or pickle)
    with _opened(f, "rb") as file:
        start = file.tell()
        try:
            if _is_zipfile(file):
                with Archive(file) as archive:
                    if archive.has("constants.pkl"):
                        return _dispatched(f, start, file, map_location, weights_only)
                    return _load(
                        archive, map_location, reader, f if mmap else None, pickle_load_args
                    )
            if mmap:
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({f!r}, "
                    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                    "this option in order to use mmap."
                )
            return _legacy_format.load(
                file, _get_restore_location(map_location), reader, pickle_load_args
            )
        except EOFError as e:
            raise EOFError(
                *(e.args or ("Ran out of input: the file might be truncated",))
            ) from None
        except pickle.UnpicklingError as e:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_weights_only_message(str(e))) from None


def _dispatched(f: Any, start: int, file: Any, map_location: Any, weights_only: bool) -> Tree:
    """What ``load`` makes of an archive of TorchScript."""
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to "
        "'torch.jit.load' (call 'torch.jit.load' directly to silence this warning)",
        UserWarning,
        stacklevel=outside(),
    )
    if weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
            + UNSAFE_MESSAGE
        )
    file.seek(start)
    return torch.jit.load(f, map_location=map_location)


def _legacy_load(
    f: object, map_location: str | None, pickle_module: object, **pickle_load_args: Any
) -> object:
    """Reads the next object of an open file in the format before archives."""
    return _legacy_format.load(
        f,
        _get_restore_location(map_location),
        pickle_module,
        {"encoding": "utf-8", **pickle_load_args},
    )


def _load(
    archive: Archive, map_location: str | None, reader: object, mapped: Any, options: dict[str, str]
) -> object:
    if mapped is not None and not _is_path(mapped):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if mapped is not None:
        _refuse_sharing("load(mmap=True) with mmap_flags=MAP_SHARED", config.load.mmap_flags)
    default = {None: b"little", LoadEndianness.LITTLE: b"little", LoadEndianness.BIG: b"big"}.get(
        config.load.endianness
    )
    order = (
        archive.record("byteorder")
        if archive.has("byteorder")
        else default or sys.byteorder.encode()
    )
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {order[:20].decode(errors='replace')}")
    swapped = order.decode() != sys.byteorder
    restore = _get_restore_location(map_location)
    storages = {}

    def persistent_load(pid: tuple[StorageType | int | str, ...]) -> object:
        if isinstance(pid, tuple) and pid and text(pid[0]) != "storage":
            raise AssertionError(
                f"Unknown typename for persistent_load, expected 'storage' but got '{text(pid[0])}'"
            )
        storage_type, key, location, _numel = storage_id(pid, 5)
        if key not in storages:
            name = f"data/{key}"
            if mapped is None or swapped:
                data = archive.array(name)
                if swapped and storage_type.dtype is not None:
                    if data.nbytes % storage_type.dtype.itemsize:
                        raise RuntimeError(
                            f"The record {name} ends within an element. The file might be "
                            "corrupted."
                        )
                    data = data.view(storage_type.dtype.np).byteswap().view(np.uint8)
            else:
                start, size = archive.offset(name)
                data = (
                    np.memmap(mapped, np.uint8, "c", start, (size,))
                    if size
                    else np.empty(0, np.uint8)
                )
            storages[key] = restore(LoadedStorage(data, storage_type.dtype, "cpu"), text(location))
        return storages[key]

    unpickler = make_unpickler(reader, persistent_load)(
        io.BytesIO(archive.record("data.pkl")), **options
    )
    return unpickler.load()


__getattr__ = _refusals.missing(__name__)
