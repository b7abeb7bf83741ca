"""An unpickler that makes tensors, containers and numbers, and refuses everything else by name.

It runs the opcodes that state dicts are made of, looks classes up in a table instead of importing
them, and calls nothing but what the table holds. What a user trusts is added by
``add_safe_globals``.
"""

from __future__ import annotations

import pickle
import struct
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, ClassVar

import jtorch as torch

from ._src import hooks
from ._src.facts import devices, dtypes, layouts
from ._src.files.raw_storage import DTYPE_OF, brief

if TYPE_CHECKING:
    from ._src.facts.kinds import Named, Values


_blocklisted_modules = ("sys", "os", "posix", "nt")

_marked_safe_globals: Values = []

_OPCODES = (
    "GLOBAL NEWOBJ REDUCE BUILD APPEND APPENDS SETITEM SETITEMS MARK TUPLE EMPTY_TUPLE TUPLE1 "
    "TUPLE2 TUPLE3 NONE NEWFALSE NEWTRUE EMPTY_LIST EMPTY_DICT EMPTY_SET BININT BININT1 BININT2 "
    "BINFLOAT BINUNICODE SHORT_BINSTRING BINPERSID BINGET LONG_BINGET BINPUT LONG_BINPUT LONG1 "
    "PROTO STOP"
).split()


def _add_safe_globals(safe_globals: list[object]) -> None:
    _marked_safe_globals.extend(g for g in safe_globals if g not in _marked_safe_globals)


def _get_safe_globals() -> list[object]:
    return list(_marked_safe_globals)


def _clear_safe_globals() -> None:
    _marked_safe_globals.clear()


def _remove_safe_globals(safe_globals: list[object]) -> None:
    _marked_safe_globals[:] = [g for g in _marked_safe_globals if g not in safe_globals]


def public_name(obj: Callable[..., object] | type) -> str:
    """``torch.x.name`` for jtorch's own, else ``module.name``: what a file calls a class or
    function."""
    module = obj.__module__
    if module == "jtorch" or module.startswith("jtorch."):
        module = module[1:]
    return f"{module}.{obj.__qualname__}"


def _user_allowed() -> Named:
    table = {}
    for entry in _marked_safe_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple "
                    f"of length: {len(entry)}"
                )
            if type(entry[1]) is not str:
                raise TypeError(
                    "Expected second item in tuple to be str of callable full path, but got: "
                    f"{type(entry[1])}"
                )
            table[entry[1]] = entry[0]
        else:
            table[public_name(entry)] = entry
    return table


class StorageType:
    """A storage class named in a file."""

    def __init__(self, name: str) -> None:
        self.dtype: torch.dtype | None = DTYPE_OF[name]

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class UntypedStorageType(StorageType):
    """``UntypedStorage``, named in a file."""

    def __init__(self) -> None:
        self.dtype = None


_allowed: dict[str, object] = {}


def _get_allowed_globals() -> dict[str, object]:
    if not _allowed:
        from . import _utils
        from .nested._internal import nested_tensor
        from .wrappers.nested import StridedNestedTensor
        from .wrappers.quantized import Int8Tensor, UInt4Tensor

        table: Named = {
            "collections.OrderedDict": OrderedDict,
            "collections.Counter": Counter,
            "torch.nn.parameter.Parameter": torch.nn.Parameter,
            "torch.serialization._get_layout": hooks.serialization.get()._get_layout,
            "torch.Size": torch.Size,
            "torch.Tensor": torch.Tensor,
            "torch.device": devices.device,
            "_codecs.encode": _encode,
            "builtins.bytearray": _bytes,
            "builtins.set": set,
            "builtins.complex": complex,
            "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
            "torch._utils._rebuild_wrapper_subclass": _rebuild_wrapper,
            "torch.storage.UntypedStorage": UntypedStorageType(),
        }
        for name in (
            "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
            "_rebuild_parameter_with_state", "_rebuild_meta_tensor_no_storage",
            "_rebuild_sparse_tensor", "_rebuild_nested_tensor", "_rebuild_qtensor",
        ):  # fmt: skip
            table[f"torch._utils.{name}"] = getattr(_utils, name)
        for name in ("NestedTensor", "_rebuild_njt"):
            table[f"torch.nested._internal.nested_tensor.{name}"] = getattr(nested_tensor, name)
        for kind in (StridedNestedTensor, Int8Tensor, UInt4Tensor):
            table[public_name(kind)] = kind
        table.update(
            {f"torch.{name}": dtype for name, dtype in {**dtypes.BY_NAME, **dtypes.ABSENT}.items()}
        )
        table.update({f"torch.{name}": StorageType(name) for name in DTYPE_OF})
        for name in ("per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
                     "per_channel_symmetric", "per_channel_affine_float_qparams"):  # fmt: skip
            table[f"torch.{name}"] = getattr(layouts, name)
        _allowed.update(table)
    return _allowed


def _is_by_user(obj: Callable[..., object] | type) -> bool:
    return any(obj is known for known in _user_allowed().values())


def _is_allowed(obj: Callable[..., object] | type) -> bool:
    return any(obj is known for known in _get_allowed_globals().values()) or _is_by_user(obj)


#: What a damaged pickle raises, in the opcodes and in the functions that it calls.
_MALFORMED = (
    ArithmeticError, AssertionError, AttributeError, IndexError, MemoryError, RecursionError,
    TypeError, ValueError, struct.error,
)  # fmt: skip


#: How deep tuples and lists may lie in each other where they are hashed or handed to a function:
#: Python's hash of tuples has no end of its own, and takes the stack; and how many parts they may
#: have in all, beside ten for each byte of the file. One tuple may be a part many times, so that a
#: file of a few bytes describes one that nobody can walk over.
_DEEPEST, _PARTS = 100, 1_000_000


def _latin(encoding: object) -> str:
    """The encoding in which pickles of protocol 2 write bytes. The others are modules to import,
    and some take for ever."""
    if not isinstance(encoding, str) or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError(f"Can only encode as latin1, not as {brief(encoding)}")
    return encoding


def _encode(text: object, encoding: object = None) -> bytes:
    """``_codecs.encode``, as pickles of bytes call it."""
    if not isinstance(text, str):
        raise UnpicklingError(f"Can only encode text, not {brief(text)}")
    return text.encode(_latin(encoding))


def _rebuild_from_type(
    func: Callable[..., object], new_type: type, args: tuple[object, ...], state: dict[str, object]
) -> object:
    """What rebuilds tensors of subclasses: it takes a function and a class from the file, so both
    must be what they seem."""
    if func is not _rebuild_wrapper and (
        getattr(func, "__module__", None) != "jtorch._utils" or not _is_allowed(func)
    ):
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {brief(func)}")
    _check_class(new_type)
    return torch._utils._rebuild_from_type_v2(func, new_type, args, state)


def _rebuild_wrapper(cls: object, *args: Any) -> object:
    """What rebuilds wrappers, whose class a program has allowed: one without its attributes, which
    come as state."""
    _check_class(cls)
    return torch._utils._rebuild_wrapper_subclass(cls, *args)


def _check_class(cls: object) -> None:
    if not (isinstance(cls, type) and issubclass(cls, torch.Tensor) and _is_allowed(cls)):
        raise UnpicklingError(f"Can only rebuild tensors of allowed classes, but got {brief(cls)}")


def _bytes(*args: Any) -> bytearray:
    """``bytearray`` of data, not of a size, which may be any."""
    if args and isinstance(args[0], int):
        raise UnpicklingError("Can only make a bytearray of data")
    return bytearray(args[0], _latin(args[1])) if len(args) == 2 else bytearray(*args)


class Unpickler(pickle._Unpickler):
    """Reads a pickle of weights.

    Raises:
        UnpicklingError: for a class or function that is not allowed, and for opcodes that weights
            do not need.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        code: pickle._Unpickler.dispatch[code]
        for code in [getattr(pickle, name)[0] for name in _OPCODES]
    }

    def __init__(self, file: Any, *, encoding: str = "bytes") -> None:
        super().__init__(file, encoding=encoding)
        at = file.tell()
        self._length = file.seek(0, 2) - at
        file.seek(at)

    def _afford(self, *values: object) -> None:
        """Refuses tuples and lists that are too deep, or have too many parts, to walk over."""
        level = [v for v in values if isinstance(v, (tuple, list))]
        for _ in range(_DEEPEST):
            below = []
            for value in level:
                self._parts -= len(value)
                if self._parts < 0:
                    raise UnpicklingError(
                        "The pickle is damaged: its tuples have more parts than can be looked at"
                    )
                below += [v for v in value if isinstance(v, (tuple, list))]
            if not below:
                return
            level = below
        raise UnpicklingError(
            f"The pickle is damaged: tuples or lists lie deeper than {_DEEPEST} in each other"
        )

    def load(self) -> dict[str, torch.Tensor] | torch.Tensor:
        """The object that the pickle describes."""
        self._trusted = False
        self._parts = _PARTS + 10 * self._length
        try:
            return super().load()
        except KeyError as error:  # from the table of opcodes, or of memoized objects
            if self._trusted:
                raise
            raise UnpicklingError(f"Unsupported operand {brief(error.args[0])}") from None
        except _MALFORMED as error:
            if self._trusted:
                raise
            raise UnpicklingError(
                f"The pickle is damaged: {type(error).__name__}: {error}"
            ) from error

    def _call(self, function: Callable[..., object], *args: object) -> Any:
        """Calls what the user trusts, whose errors are the user's own."""
        self._trusted = True
        result = function(*args)
        self._trusted = False
        return result

    def find_class(self, module: str, name: str) -> Any:
        """The allowed class or function of that name."""
        if self.proto < 3:
            import _compat_pickle

            module, name = _compat_pickle.NAME_MAPPING.get(
                (module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name)
            )
        path = f"{module}.{name}"
        if module in _blocklisted_modules:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked."
            )
        for table in (_get_allowed_globals(), _user_allowed()):
            if path in table:
                return table[path]
        path = path.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this "
            "global if you trust this class/function."
        )

    def load_proto(self) -> None:
        """Notes the protocol; only the second one is what ``torch.save`` writes."""
        self.proto = self.read(1)[0]
        if self.proto != 2:
            warnings.warn(
                f"Detected pickle protocol {self.proto} in the checkpoint, which was not the "
                "default pickle protocol used by `torch.load` (2). The weights_only Unpickler "
                "might not support all instructions implemented by this protocol, please file an "
                "issue for adding support if you encounter this.",
                stacklevel=2,
            )

    def load_newobj(self) -> None:
        """Makes an object of an allowed class."""
        args = self.stack.pop()
        cls = self.stack.pop()
        if not _is_by_user(cls):
            self._afford(args)
        if cls is torch.nn.Parameter:
            self.append(torch.nn.Parameter(*args))
        elif _is_by_user(cls):
            self.append(self._call(cls.__new__, cls, *args))
        elif cls is not torch.Tensor and _is_allowed(cls):
            self.append(cls.__new__(cls, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {brief(cls)}"
            )

    def load_reduce(self) -> None:
        """Calls an allowed function."""
        args = self.stack.pop()
        func = self.stack[-1]
        if _is_by_user(func):
            self.stack[-1] = self._call(func, *args)
            return
        # torch.Tensor is only named; calling it makes one of any size
        if func is torch.Tensor or not _is_allowed(func):
            message = f"Trying to call reduce for unrecognized function {brief(func)}"
            if hasattr(func, "__self__"):
                message += f" which belongs to {brief(func.__self__)}"
            raise UnpicklingError(message)
        self._afford(args)
        self.stack[-1] = func(*args)

    def load_build(self) -> None:
        """Gives an object of an allowed class its state."""
        state = self.stack.pop()
        inst = self.stack[-1]
        kind = type(inst)
        if not _is_by_user(kind):
            self._afford(state)
        if kind is OrderedDict:
            inst.__dict__.update(state)
        elif kind is torch.nn.Parameter or (kind is not torch.Tensor and _is_allowed(kind)):
            if hasattr(inst, "__setstate__"):
                self._call(inst.__setstate__, state) if _is_by_user(kind) else inst.__setstate__(
                    state
                )
                return
            slots = None
            if isinstance(state, tuple) and len(state) == 2:
                state, slots = state
            if state:
                inst.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(inst, name, value)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}"
            )

    def load_append(self) -> None:
        """Appends to a list."""
        item = self.stack.pop()
        self._list("append to").append(item)

    def load_appends(self) -> None:
        """Extends a list."""
        items = self.pop_mark()
        self._list("extend").extend(items)

    def _list(self, what: str) -> Values:
        target = self.stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only {what} lists, but got {type(target)}")
        return target

    def load_setitem(self) -> None:
        """Sets an item of a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        if isinstance(key, tuple):
            self._afford(key)
        self._dict("SETITEM")[key] = value

    def load_setitems(self) -> None:
        """Sets items of a dict."""
        items = self.pop_mark()
        target = self._dict("SETITEMS")
        self._afford(*[key for key in items[::2] if isinstance(key, tuple)])
        for i in range(0, len(items), 2):
            target[items[i]] = items[i + 1]

    def _dict(self, opcode: str) -> dict[object, object]:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but "
                f"got {type(target)}"
            )
        return target

    def load_binpersid(self) -> None:
        """Takes a storage."""
        pid = self.stack.pop()
        if type(pid) is not tuple and type(pid) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and len(pid) > 0 and pid[0] not in ("storage", b"storage"):
            raise UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {type(pid[0])}"
            )
        self._afford(pid)
        self.append(self._call(self.persistent_load, pid))

    def persistent_load(self, pid: object) -> Any:
        """Set by the caller."""
        raise UnpicklingError("unsupported persistent id encountered")

    for _name in (
        "proto",
        "newobj",
        "reduce",
        "build",
        "append",
        "appends",
        "setitem",
        "setitems",
        "binpersid",
    ):
        dispatch[getattr(pickle, _name.upper())[0]] = locals()[f"load_{_name}"]
    del _name


def load(file: object, *, encoding: str = "ASCII") -> torch.Tensor | dict[str, torch.Tensor]:
    """The object that a pickle of weights describes."""
    return Unpickler(file, encoding=encoding).load()


def get_globals_in_pkl(data: bytes) -> set[str]:
    """The classes and functions that a pickle names, as ``module.name``."""
    import pickletools

    return {
        arg.replace(" ", ".", 1)
        for op, arg, _ in pickletools.genops(data)
        if op.name == "GLOBAL" and isinstance(arg, str)
    }
