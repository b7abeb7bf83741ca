"""Type names for annotations."""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from ._src.facts.devices import device as _device
from ._src.facts.dtypes import dtype as _dtype
from ._src.facts.size import Size as Size
from ._src.facts.size import SymInt as SymInt
from .core import Tensor as Tensor

__all__ = ["Number", "Device", "FileLike", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize: TypeAlias = Size | Sequence[_int | SymInt]
_dispatchkey: TypeAlias = _str
IntLikeType: TypeAlias = _int | SymInt
FloatLikeType: TypeAlias = _float
BoolLikeType: TypeAlias = _bool
py_sym_types = (SymInt,)
PySymType: TypeAlias = SymInt
Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
Device: TypeAlias = Union[_device, _str, _int, None]


class Storage:
    """What typed and untyped storages have in common, for annotations."""

    _cdata: _int
    device: _device
    dtype: _dtype

    def size(self) -> _int:
        """The number of elements."""
        raise NotImplementedError
