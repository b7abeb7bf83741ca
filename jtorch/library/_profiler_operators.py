"""PyTorch's operators of named blocks, ``torch.ops.profiler``, which graphs call where a program
has ``record_function``."""

from __future__ import annotations

import itertools

import jtorch as torch

from ..autograd.profiler import record_function

#: Blocks that were entered by a handle that is a tensor, by the number in it.
_OPEN: dict[int, record_function] = {}
_numbers = itertools.count(1)


class _RecordFunction:
    """The handle of a block in the newer form; ``block`` is None once it was left."""

    def __init__(self, name: str, args: str | None) -> None:
        self.block: record_function | None = record_function(name, args).__enter__()


def _enter(name: str, args: str | None = None) -> torch.Tensor:
    number = next(_numbers)
    _OPEN[number] = record_function(name, args).__enter__()
    return torch.tensor(list(number.to_bytes(8, "little")), dtype=torch.uint8)


def _exit(handle: torch.Tensor) -> None:
    block = _OPEN.pop(int.from_bytes(bytes(handle.tolist()), "little"), None)
    if block is not None:
        block.__exit__(None, None, None)


def _enter_new(name: str, args: str | None = None) -> _RecordFunction:
    return _RecordFunction(name, args)


def _exit_new(record: _RecordFunction) -> None:
    block, record.block = record.block, None
    if block is not None:
        block.__exit__(None, None, None)


_CLASS = "__torch__.torch.classes.profiler._RecordFunction"
_LIBRARY = torch.library.Library("profiler", "FRAGMENT")
for _schema, _body in (
    ("_record_function_enter(str name, str? args=None) -> Tensor", _enter),
    ("_record_function_exit(Tensor handle) -> ()", _exit),
    (f"_record_function_enter_new(str name, str? args=None) -> {_CLASS}", _enter_new),
    (f"_record_function_exit._RecordFunction({_CLASS} record) -> ()", _exit_new),
):
    _LIBRARY.define(_schema)
    _LIBRARY.impl(_schema.partition("(")[0], _body, "CompositeExplicitAutograd")
