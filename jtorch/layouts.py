"""layout and memory_format objects. Only strided data exists here; the others are names that programs pass and compare."""

from __future__ import annotations

from typing import Any

from .dispatch import add_plain


class _Named:
    """A value that is nothing but its name; one object each, also after pickling and copying."""

    __slots__ = ("_name",)
    _name: str

    def __new__(cls, *_: object) -> _Named:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How a tensor's elements are stored: ``torch.strided`` and its sparse and nested relatives."""

    __slots__ = ()


class memory_format(_Named):
    """The order of a dense tensor's dimensions in memory."""

    __slots__ = ()


def _make(cls: type[_Named], name: str) -> _Named:
    made = object.__new__(cls)
    made._name = name
    return made


strided = _make(layout, "strided")
sparse_coo = _make(layout, "sparse_coo")
sparse_csr = _make(layout, "sparse_csr")
sparse_csc = _make(layout, "sparse_csc")
sparse_bsr = _make(layout, "sparse_bsr")
sparse_bsc = _make(layout, "sparse_bsc")
_mkldnn = _make(layout, "_mkldnn")
jagged = _make(layout, "jagged")

contiguous_format: Any = _make(memory_format, "contiguous_format")
channels_last = _make(memory_format, "channels_last")
channels_last_3d = _make(memory_format, "channels_last_3d")
preserve_format: Any = _make(memory_format, "preserve_format")

add_plain(layout, memory_format)
