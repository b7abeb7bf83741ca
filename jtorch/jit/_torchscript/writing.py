"""Archives of TorchScript as they are written: pickles of modules, their constants, and code."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import jtorch as torch

from ..._src.facts.errors import not_offered
from ..._src.files.archive import Writer
from ..._src.files.raw_storage import QUANTISED, TYPED, Piece, geometry
from ..._src.quantised.packed import ScriptObject
from ...dispatch import LAYOUTS
from .kinds import TENSOR, Kind, list_of
from .reading import NEWEST

_MOST_KEPT = 1 << 31
_MAYBE = Kind("Optional", (TENSOR,))


class Held(NamedTuple):
    """An object of a class that the archive defines.

    Attributes:
        key: what it is known by, so that it is written once.
        path: the class.
        state: name, type (None: no list or dict) and value of each attribute.
        whole: whether the only value of ``state`` is what its ``__getstate__`` gave.
    """

    key: int
    path: str
    state: list[tuple[str, Kind | None, Any]]
    whole: bool = False


class Program(NamedTuple):
    """What an archive holds.

    Attributes:
        module: the module.
        files: the texts of its code, by their names.
        constants: what the code calls ``CONSTANTS.c0`` and so on.
    """

    module: Held
    files: dict[str, str]
    constants: tuple[Any, ...]


class _Pickle:
    """One pickle, in the opcodes that PyTorch reads."""

    def __init__(self) -> None:
        self._out = io.BytesIO()
        self._out.write(b"\x80\x02")
        self._kept: dict[Any, int] = {}
        self._alive: list[Any] = []
        self.pieces: dict[Any, tuple[str, Piece]] = {}

    def done(self) -> bytes:
        """Its bytes."""
        self._out.write(b".")
        return self._out.getvalue()

    def _keep(self, key: Any) -> None:
        number = self._kept[key] = len(self._kept)
        self._out.write(
            b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number)
        )

    def _known(self, key: Any) -> bool:
        number = self._kept.get(key)
        if number is None:
            return False
        self._out.write(
            b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)
        )
        return True

    def _global(self, module: str, name: str) -> None:
        if not self._known(("global", module, name)):
            self._out.write(f"c{module}\n{name}\n".encode())
            self._keep(("global", module, name))

    def _text(self, text: str) -> None:
        data = text.encode()
        self._out.write(b"X" + struct.pack("<I", len(data)) + data)

    def _int(self, n: int) -> None:
        if 0 <= n < 256:
            self._out.write(b"K" + bytes([n]))
        elif -_MOST_KEPT <= n < _MOST_KEPT:
            self._out.write(b"J" + struct.pack("<i", n))
        else:
            data = n.to_bytes(8, "little", signed=True)
            self._out.write(b"\x8a\x08" + data)

    def write(self, x: Any, kind: Kind | None = None) -> None:
        """Writes a value; lists and dicts need a type."""
        out = self._out
        if kind is not None and kind.name == "Optional":
            kind = kind.items[0]
        if x is None:
            out.write(b"N")
        elif isinstance(x, bool):
            out.write(b"\x88" if x else b"\x89")
        elif isinstance(x, int):
            self._int(x)
        elif isinstance(x, float):
            out.write(b"G" + struct.pack(">d", x))
        elif isinstance(x, complex):
            self._global("builtins", "complex")
            self._tuple((x.real, x.imag), None)
            out.write(b"R")
        elif isinstance(x, str):
            self._text(x)
        elif isinstance(x, torch.Tensor):
            self._tensor(x)
        elif isinstance(x, Held):
            self._object(x)
        elif isinstance(x, ScriptObject):
            self._packed(x)
        elif isinstance(x, torch.device):
            self._global("torch", "device")
            self.write((str(x),))
            out.write(b"R")
        elif isinstance(x, tuple):
            self._tuple(x, kind)
        elif isinstance(x, (list, dict)) and kind is not None and kind.name in ("List", "Dict"):
            self._container(x, kind)
        else:
            raise not_offered("torch.jit.save", f"there is no way to write a {type(x).__name__}")

    def _tuple(self, x: tuple[Any, ...], kind: Kind | None) -> None:
        made = getattr(type(x), "_script_name", None)
        if made is not None:
            module, _, name = made.rpartition(".")
            self._global(module, name)
        kinds = kind.items if kind is not None and kind.name == "Tuple" else (None,) * len(x)
        self._out.write(b"(")
        for item, k in zip(x, kinds, strict=False):
            self.write(item, k)
        self._out.write(b"t")
        if made is not None:
            self._out.write(b"R")

    def _container(self, x: list[Any] | dict[Any, Any], kind: Kind) -> None:
        self._global("torch.jit._pickle", "restore_type_tag")
        if isinstance(x, list):
            self._out.write(b"](")
            for item in x:
                self.write(item, kind.items[0])
            self._out.write(b"e")
        else:
            self._out.write(b"}(")
            for key, item in x.items():
                self.write(key, kind.items[0])
                self.write(item, kind.items[1])
            self._out.write(b"u")
        self._text(str(kind))
        self._out.write(b"\x86R")

    def _tensor(self, x: torch.Tensor) -> None:
        if self._known(id(x)):
            return
        if x.is_quantized:
            ints, params = LAYOUTS[type(x)].parts(x)
            self._rebuilt("_rebuild_qtensor", ints, QUANTISED[x.dtype][0], params, False)
            self._alive.append(x)
            self._keep(id(x))
            return
        if x.layout is not torch.strided or x.dtype not in TYPED or x.device.type == "meta":
            raise not_offered(
                "torch.jit.save", f"of a tensor of {x.dtype}, {x.layout}, on {x.device}"
            )
        if x.is_conj() or x.is_neg():
            x = x.resolve_conj().resolve_neg()
        self._rebuilt("_rebuild_tensor_v2", x, TYPED[x.dtype], None, x.requires_grad)
        self._alive.append(x)
        self._keep(id(x))

    def _rebuilt(
        self, function: str, x: torch.Tensor, storage: str, grid: Any, requires_grad: bool
    ) -> None:
        """The call that makes a tensor of its storage; ``grid`` is that of a quantised one."""
        offset, size, stride = geometry(x)
        piece = Piece(x)
        key = piece.key if piece.nbytes else (piece.key, piece.dtype)
        number, piece = self.pieces.setdefault(key, (str(len(self.pieces)), piece))
        self._global("torch._utils", function)
        out = self._out
        out.write(b"((")
        self._text("storage")
        self._global("torch", storage)
        self._text(number)
        self._text(piece.location)
        self._int(piece.nbytes // x.dtype.itemsize)
        out.write(b"tQ")
        self._int(offset)
        self._tuple(size, None)
        self._tuple(stride, None)
        if grid is not None:
            out.write(b"(")
            self._global("torch", str(grid[0]).removeprefix("torch."))
            for part in grid[1:]:
                self.write(part)
            out.write(b"t")
        out.write(b"\x88" if requires_grad else b"\x89")
        self._global("collections", "OrderedDict")
        out.write(b")RtR")

    def _packed(self, x: Any) -> None:
        """Weights as operators of quantised tensors take them."""
        if self._known(id(x)):
            return
        module, _, name = x._name.rpartition(".")
        self._global(module, name)
        self._out.write(b")\x81")
        state = x._state()
        self._out.write(b"(")
        for part in state:
            if isinstance(part, list):
                kind = TENSOR if all(isinstance(i, torch.Tensor) for i in part) else _MAYBE
                self.write(part, list_of(kind))
            else:
                self.write(part)
        self._out.write(b"tb")
        self._alive.append(x)
        self._keep(id(x))

    def _object(self, x: Held) -> None:
        if self._known(("object", x.key)):
            return
        module, _, name = x.path.rpartition(".")
        self._global(module, name)
        self._out.write(b")\x81")
        if x.whole:
            ((_, kind, value),) = x.state
            self.write(value, kind)
            self._out.write(b"b")
            self._keep(("object", x.key))
            return
        self._out.write(b"}(")
        for attribute, kind, value in x.state:
            self._text(attribute)
            self.write(value, kind)
        self._out.write(b"ub")
        self._keep(("object", x.key))


def write(program: Program, f: Any, extra: Mapping[str, Any] | None) -> None:
    """Writes an archive; a file at a path is replaced when the new one is whole."""
    module, constants = _Pickle(), _Pickle()
    module.write(program.module)
    constants._tuple(program.constants, None)
    pickles = {"data": (module.done(), module), "constants": (constants.done(), constants)}
    further = {
        name: value.encode() if isinstance(value, str) else bytes(value)
        for name, value in (extra or {}).items()
    }
    path = isinstance(f, (str, os.PathLike))
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if path else "archive"
    with torch.serialization._written(f) if path else contextlib.nullcontext(f) as file:
        target = file if path else io.BytesIO()
        writer = Writer(target, name if name.isascii() and name else "archive", version=NEWEST)
        for folder, (data, made) in pickles.items():
            for number, piece in made.pieces.values():
                writer.record(f"{folder}/{number}", piece.memory().view(np.uint8))
            writer.record(f"{folder}.pkl", data)
        for record, text in program.files.items():
            writer.record(record, text.encode())
        for record, data in further.items():
            writer.record(f"extra/{record}", data)
        writer.record("byteorder", sys.byteorder.encode())
        writer.close()
        if not path:
            file.write(target.getvalue())
