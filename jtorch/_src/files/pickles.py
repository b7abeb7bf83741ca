"""How objects lie in the pickles of saved files: jtorch's under PyTorch's names, storages by their
number; and how they are read again."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ... import _utils, _weights_only_unpickler
from ..._weights_only_unpickler import StorageType, UntypedStorageType
from ...dispatch import LAYOUTS
from .. import hooks
from ..tensor.state import state_of
from ..tensor.typed_storage import TypedStorage
from ..tensor.untyped_storage import UntypedStorage
from .raw_storage import DTYPE_OF, QUANTISED, TYPED, Piece, brief, geometry

if TYPE_CHECKING:
    from ..facts.kinds import Tree


# ---- writing -------------------------------------------------------------------------------------


class _Name:
    """Stands for a class or function that the file names, whether or not it exists here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """Never called: picklers want functions that can be."""


_NAMES = {
    name: _Name(module, name)
    for module, names in (
        ("torch", [*DTYPE_OF, "device", "Size", "ScriptObject"]),
        ("copyreg", ["__newobj__"]),
        ("torch.storage", ["UntypedStorage"]),
        ("torch._tensor", ["_rebuild_from_type_v2"]),
        (
            "torch._utils",
            [
                "_rebuild_tensor_v2",
                "_rebuild_tensor_v3",
                "_rebuild_parameter",
                "_rebuild_parameter_with_state",
            ],
        ),
        (
            "torch._utils",
            [
                "_rebuild_meta_tensor_no_storage",
                "_rebuild_qtensor",
                "_rebuild_sparse_tensor",
                "_rebuild_wrapper_subclass",
            ],
        ),
        ("torch.serialization", ["_get_layout"]),
    )
    for name in names
}


class _Stored:
    """The storage of a tensor within a pickle."""

    def __init__(self, piece: Piece, typed: bool, kind: str | None = None) -> None:
        self.piece, self.typed, self.kind = piece, typed, kind


class _Data:
    """A tensor without the class and attributes of its subclass."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def _is_wrapper(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no data of its own: what it stands for are its attributes."""
    return tensor._al is not None and tensor._al.storage.detach is not None


def _tensor_args(tensor: torch.Tensor, requires_grad: bool) -> tuple[object, ...]:
    if tensor.is_quantized:
        ints, params = LAYOUTS[type(tensor)].parts(tensor)
        stored = _Stored(Piece(ints), True, QUANTISED[tensor.dtype][0])
        offset, size, stride = geometry(ints)
        return _NAMES["_rebuild_qtensor"], (
            stored, offset, size, stride, params, False, OrderedDict(),
        )  # fmt: skip
    if type(tensor) in LAYOUTS:
        from ...sparse._methods import parts_for_saving

        return _NAMES["_rebuild_sparse_tensor"], parts_for_saving(tensor)  # type: ignore[arg-type]
    if _is_wrapper(tensor):
        shape = tuple(tensor.size()), tuple(tensor.stride()), tensor.storage_offset()
        return _NAMES["_rebuild_wrapper_subclass"], (
            type(tensor), tensor.dtype, *shape, tensor.layout, tensor.device, requires_grad,
        )  # fmt: skip
    offset, size, stride = geometry(tensor)
    if tensor.device.type == "meta":
        return _NAMES["_rebuild_meta_tensor_no_storage"], (
            tensor.dtype,
            size,
            stride,
            requires_grad,
        )
    typed = tensor.dtype in TYPED
    common = (_Stored(Piece(tensor), typed), offset, size, stride, requires_grad, OrderedDict())
    name, args = (
        ("_rebuild_tensor_v2", common) if typed else ("_rebuild_tensor_v3", (*common, tensor.dtype))
    )
    metadata = {
        word: True
        for word, is_set in (("conj", tensor.is_conj()), ("neg", tensor.is_neg()))
        if is_set
    }
    return _NAMES[name], (*args, metadata) if metadata else args


def _reduce(obj: Tree) -> object:
    """How objects of jtorch are written, so that PyTorch reads them as its own."""
    kind = type(obj)
    if isinstance(obj, torch.Tensor):
        if kind.__reduce_ex__ is not torch.Tensor.__reduce_ex__ and not issubclass(
            kind, torch.nn.Parameter
        ):
            return NotImplemented  # a wrapper that says itself what it is made of
        state = state_of(obj)
        if kind in LAYOUTS:  # another layout, which is no class in PyTorch
            kind = torch.nn.Parameter if isinstance(obj, torch.nn.Parameter) else torch.Tensor
            state.pop("_is_param", None)  # the class says so
        if kind is torch.nn.Parameter:
            name = "_rebuild_parameter_with_state" if state else "_rebuild_parameter"
            return _NAMES[name], (
                _Data(obj),
                obj.requires_grad,
                OrderedDict(),
                *([state] if state else []),
            )
        if not obj.is_leaf:
            # brings a view's history up to date before its data is read
            obj.requires_grad  # noqa: B018
        func, args = _tensor_args(obj, obj.requires_grad)
        if kind is torch.Tensor and not state:
            return func, args
        return _NAMES["_rebuild_from_type_v2"], (func, kind, args, state)
    if kind is _Data:
        return _tensor_args(obj.tensor, False)
    if getattr(kind, "_is_script_object", False):
        packed: Any = obj
        return _NAMES["__newobj__"], (_NAMES["ScriptObject"],), packed.__getstate__()
    if kind is _Name:
        return obj.name
    if kind is torch.dtype:
        return str(obj).removeprefix("torch.")
    if kind is torch.Size:
        return _NAMES["Size"], (tuple(obj),)
    if kind is torch.device:
        return _NAMES["device"], (obj.type,) if obj.index is None else (obj.type, obj.index)
    if kind is torch.layout:
        return _NAMES["_get_layout"], (str(obj),)
    if kind is torch.Generator:
        return kind, (obj.device,), (obj.initial_seed(), None, obj.get_state())
    if isinstance(obj, torch.return_types._Result):
        return kind, (tuple(obj), {})
    return NotImplemented


def _is_own(obj: object) -> bool:
    """Whether a class or function is jtorch's; some call their module ``torch``."""
    return (getattr(obj, "__module__", None) or "").split(".")[0] in ("jtorch", "torch")


def _make_pickler(base: type, persistent_id: Callable[..., object]) -> type:
    class Pickler(base):
        def persistent_id(self, obj: object) -> object:
            if type(obj) is _Stored:
                return persistent_id(obj)
            if isinstance(obj, UntypedStorage | TypedStorage):
                typed = isinstance(obj, TypedStorage) and obj.dtype in TYPED
                return persistent_id(
                    _Stored(Piece(obj.untyped(), obj.dtype if typed else torch.uint8), typed)
                )
            return None

        def reducer_override(self, obj: object) -> object:
            reduced = _reduce(obj)
            if reduced is not NotImplemented or not hasattr(base, "reducer_override"):
                return reduced
            return super().reducer_override(obj)

        def save_global(
            self, obj: _Name | type, name: str | None = None, **options: object
        ) -> None:
            if type(obj) is _Name:
                module, found = obj.module, obj.name
            elif type(obj) is torch.dtype:
                module, found = "torch", name
            elif _is_own(obj):
                module, found = obj.__module__.removeprefix("j"), name or obj.__qualname__
            else:
                super().save_global(obj, name, **options)
                return
            if self.proto >= 4:
                self.save(module)
                self.save(found)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{module}\n{found}\n".encode())
            self.memoize(obj)

        dispatch = {**getattr(base, "dispatch", {}), type(_reduce): save_global}

        def save_type(self, obj: type) -> None:
            if _is_own(obj):
                self.save_global(obj)
            else:
                super().save_type(obj)

        dispatch[type] = save_type

    return Pickler


#: What begins the texts that stand for globals until ``_with_globals`` has written them as such: no
#: text of a program does.
_MARK = f"global {os.urandom(16).hex()} "


def _make_compiled_pickler(base: type, persistent_id: Callable[..., object]) -> type:
    """As ``_make_pickler``, of the pickler that is written in C: it writes globals by itself, so
    they are marked as persistent objects."""
    marks: dict[tuple[str, str], str] = {}

    class Pickler(_make_pickler(base, persistent_id)):
        def persistent_id(self, obj: object) -> object:
            if type(obj) is _Name:
                place = obj.module, obj.name
            elif type(obj) in (torch.dtype, torch.qscheme):
                place = "torch", str(obj).removeprefix("torch.")
            elif (
                isinstance(obj, type | FunctionType | BuiltinFunctionType)
                and _is_own(obj)
                and "<" not in obj.__qualname__
            ):
                place = obj.__module__.removeprefix("j"), obj.__qualname__
            else:
                return super().persistent_id(obj)
            # one text for each, which the pickler then refers to
            return marks.setdefault(place, f"{_MARK}{place[0]}\n{place[1]}\n")

    return Pickler


def _with_globals(written: bytes, out: Any) -> None:
    """Writes a pickle with globals where ``_make_compiled_pickler`` marked them. It has no frames,
    since it has another length."""
    steps = [(op.name, value, at) for op, value, at in pickletools.genops(written)]
    ends = [at for _, _, at in steps[1:]] + [len(written)]
    marked = set()  # where the memo holds globals
    kept, on_top = 0, False
    for (name, value, at), end in zip(steps, ends):
        is_global = isinstance(value, str) and value.startswith(_MARK)
        if name == "MEMOIZE" or name.endswith("PUT"):
            if on_top:
                marked.add(kept if name == "MEMOIZE" else value)
            kept += 1
        elif name == "BINPERSID" and on_top:
            on_top = False
            continue
        else:
            on_top = is_global or (name.endswith("GET") and value in marked)
        if name != "FRAME":
            out.write(
                pickle.GLOBAL + value.removeprefix(_MARK).encode() if is_global else written[at:end]
            )


def write_pickle(
    obj: object,
    pickle_module: Any,
    protocol: int,
    persistent_id: Callable[..., object],
    out: object,
) -> None:
    """Writes an object; ``persistent_id`` says how the pickle refers to a storage (see
    ``Storages``)."""
    # The pickler written in Python: only there can globals get another name than that of the module
    # they lie in.
    base = (
        pickle._Pickler
        if pickle_module is pickle
        else getattr(pickle_module, "_Pickler", pickle_module.Pickler)
    )
    if issubclass(base, pickle._Pickler):
        _make_pickler(base, persistent_id)(out, protocol=protocol).dump(obj)
        return
    written = io.BytesIO()
    _make_compiled_pickler(base, persistent_id)(written, protocol=protocol).dump(obj)
    _with_globals(written.getvalue(), out)


class Storages:
    """Numbers the storages that a pickle refers to; ``tag`` names the places of storages."""

    def __init__(self, tag: Callable[..., object]) -> None:
        self.tag = tag
        self.pieces = {}

    def key(self, piece: Piece) -> str:
        """The name of a storage in the file.

        Raises:
            RuntimeError: if it was named before, as of another dtype.
        """
        # without elements there is nothing to share
        key = piece.key if piece.nbytes else (piece.key, piece.dtype)
        known = self.pieces.get(key)
        if known is None:
            known = self.pieces[key] = (str(len(self.pieces)), piece)
        elif known[1].dtype is not piece.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        return known[0]

    def persistent_id(self, stored: _Stored) -> tuple[object, ...]:
        """How the pickle refers to a storage."""
        piece = stored.piece
        name = stored.kind or (TYPED[piece.dtype] if stored.typed else "UntypedStorage")
        numel = piece.nbytes // piece.dtype.itemsize if stored.typed else piece.nbytes
        return ("storage", _NAMES[name], self.key(piece), self.tag(piece), numel)


# ---- reading -------------------------------------------------------------------------------------


def _elsewhere(module: str, name: str) -> object:
    """What PyTorch's files call by the place of its compiled code; None for everything else."""
    if module == "torch" and name == "ScriptObject":
        return hooks.quantised.get().ScriptObject
    if module == "torch._C":
        # Functions are written as attributes of a class there.
        return {"Generator": torch.Generator, "_VariableFunctionsClass": torch}.get(name)
    if module == "torch._C._nn":
        return getattr(torch.nn.functional, name)
    if module == "torch.return_types":
        made = getattr(torch.return_types, name)
        # names are of results beyond the sequence
        return lambda items, names: made(items)  # noqa: ARG005
    return None


def make_unpickler(reader: Any, persistent_load: Callable[..., object]) -> type:
    """The class that reads a pickle as ``reader`` does, where ``persistent_load`` gives the
    storages."""
    trusting = reader is not _weights_only_unpickler

    class Unpickler(reader.Unpickler):
        def find_class(self, module: str, name: str) -> object:
            if trusting and (module == "torch" or module.startswith("torch.")):
                if module in ("torch", "torch.storage") and "Storage" in name:
                    if name == "UntypedStorage":
                        return UntypedStorageType()
                    if name in DTYPE_OF:
                        return StorageType(name)
                if name == "_rebuild_from_type_v2":
                    return _utils._rebuild_from_type_v2
                found = _elsewhere(module, name)
                if found is not None:
                    return found
                module = "j" + module  # also where torch itself is imported beside jtorch
            return super().find_class(module, name)

        def persistent_load(self, pid: tuple[StorageType | int | str, ...]) -> object:
            return persistent_load(pid)

    return Unpickler


def text(value: Any) -> Any:
    """A name in a pickle, which Python 2 wrote as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def storage_id(pid: object, length: int) -> tuple[Any, str, str, int]:
    """What a pickle says of a storage: its class, its key in the file, where it was, and its number
    of elements.

    Raises:
        RuntimeError: if it is anything else.
    """
    if isinstance(pid, tuple) and len(pid) >= length and text(pid[0]) == "storage":
        found = (pid[1], text(pid[2]), text(pid[3]), pid[4])
        if (
            isinstance(found[0], StorageType)
            and all(isinstance(n, str) for n in found[1:3])
            and type(found[3]) is int
            and found[3] >= 0
        ):
            return found
    raise RuntimeError(f"Unknown saved id: {brief(pid)}. The file might be corrupted.")
