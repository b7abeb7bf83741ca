"""Operator schemas: what parameters an ATen operator has, read from declarations and from a table
when they are first asked for.

Declarations state the overloads of the operators that functions are (``declared.py``);
``schemas.txt`` has the operators without a function of their own. One line is one functional
operator: ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor ; _ =out``. After the
semicolon stand the variants that go with it: ``_`` for the in-place operator (``_Name`` if its
overload has another name) and ``=out`` for the overload that writes into ``out``
(``=name:first,second`` if its parameters have other names).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..bind.cores import Composite
from ..facts import devices, dtypes, layouts
from ..ops._declare import Op
from .declared import declared, lines_of, packets


class _NoDefault:
    def __repr__(self) -> str:
        return "<no default>"


NO_DEFAULT: Any = _NoDefault()

_NAMED = {
    "None": None, "True": True, "False": False, "contiguous_format": layouts.contiguous_format,
    "preserve_format": layouts.preserve_format, "strided": layouts.strided, "long": dtypes.int64,
    "Mean": 1, "[]": [],
}  # fmt: skip


def _default(text: str, kind: str) -> object:
    if text in _NAMED:
        return [] if text == "[]" else _NAMED[text]
    if text.startswith("["):
        return [_default(item.strip(), kind.partition("[")[0]) for item in text[1:-1].split(",")]
    if text.startswith(('"', "'")):
        return text[1:-1] if not kind.startswith("Device") else devices.device(text[1:-1])
    if kind.startswith("ScalarType"):
        named = dtypes.ALIASES.get(text) or dtypes.BY_NAME.get(text) or dtypes.ABSENT.get(text)
        if named is not None:
            return named
    try:
        value = float(text) if re.search(r"[.e]|inf|nan", text) else int(text)
    except ValueError:
        raise RuntimeError(f"invalid numeric default value:\n{kind} ={text}") from None
    if type(value) is int:
        if kind.startswith("float"):
            return float(value)
        if "[" in kind:  # one number stands for all
            length = re.search(r"\[(\d*)\]", kind)
            return [value] * int(length.group(1) or 1) if length else value
    return value


class Argument:
    """One parameter of an operator.

    Attributes:
        type: as written: ``Tensor``, ``Tensor?``, ``Tensor[]``, ``SymInt[1]?``, ``Scalar`` ...
        alias: ``a`` for a view's source, ``a!`` for what is written to, else "".
    """

    __slots__ = ("name", "type", "default_value", "kwarg_only", "alias", "text")

    def __init__(self, text: str, kwarg_only: bool) -> None:
        self.text = text
        declared, _, default = text.partition("=")
        kind, self.name = declared.rsplit(" ", 1)
        found = re.match(r"Tensor\(([^)]*)\)(.*)", kind)
        self.alias = found.group(1) if found else ""
        self.type = f"Tensor{found.group(2)}" if found else kind
        self.kwarg_only = kwarg_only
        self.default_value = _default(default, self.type) if default else NO_DEFAULT

    @property
    def is_write(self) -> bool:
        """Whether the operator changes it."""
        return self.alias.endswith("!")

    @property
    def is_out(self) -> bool:
        """Whether the result is written into it."""
        return self.kwarg_only and self.is_write

    @property
    def alias_info(self) -> object:
        """How results share memory with it; None if they do not."""
        return AliasInfo(self.alias) if self.alias else None

    @property
    def is_tensor(self) -> bool:
        """Whether it holds tensors."""
        return self.type.startswith("Tensor")

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default_value is not NO_DEFAULT

    def __repr__(self) -> str:
        return self.text


class AliasInfo:
    """That something shares memory with a parameter, and whether it is written to."""

    def __init__(self, alias: str) -> None:
        self.is_write = alias.endswith("!")
        self.before_set = self.after_set = {alias.rstrip("!").split("|")[0].strip()}


class Return:
    """One result of an operator."""

    __slots__ = ("name", "type", "alias", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        found = re.match(r"(\w+)(?:\(([^)]*)\))?(\S*)(?: (\w+))?$", text)
        assert found is not None, text
        self.type = found.group(1) + found.group(3)
        self.alias = found.group(2) or ""
        self.name = found.group(4)

    @property
    def alias_info(self) -> object:
        """How it shares memory with a parameter; None if it does not."""
        return AliasInfo(self.alias) if self.alias else None


class Schema:
    """Name, parameters and results of one overload; ``str`` gives PyTorch's notation."""

    def __init__(self, text: str, namespace: str = "aten") -> None:
        self.text = f"{namespace}::{text}"
        head, _, tail = text.partition("(")
        name, _, self.overload_name = head.partition(".")
        self.name = f"{namespace}::{name}"
        inside, _, returns = tail.rpartition(" -> ")
        self.arguments: list[Argument] = []
        kwarg_only = False
        for item in _split(inside[:-1]):
            if item == "*":
                kwarg_only = True
            else:
                self.arguments.append(Argument(item, kwarg_only))
        self.returns = [
            Return(item)
            for item in (_split(returns[1:-1]) if returns.startswith("(") else [returns])
            if item
        ]
        self.count = sum(not a.kwarg_only for a in self.arguments)
        self.places = {a.name: i for i, a in enumerate(self.arguments)}
        self.writes = [i for i, a in enumerate(self.arguments) if a.is_write]
        self.outs = [i for i, a in enumerate(self.arguments) if a.is_out]
        self.tensors = [i for i, a in enumerate(self.arguments) if a.is_tensor]
        #: Whether the results are what was written to. ``rrelu_with_noise`` writes to its noise,
        #: and its result is another tensor.
        self.hands_back = bool(self.writes) and bool(self.returns) and bool(self.returns[0].alias)

    @property
    def is_mutable(self) -> bool:
        """Whether the operator changes an argument."""
        return bool(self.writes)

    @property
    def is_view(self) -> bool:
        """Whether a result shares memory with an argument that is not written to."""
        return any(a.alias and not a.is_write for a in self.arguments)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def _split(text: str) -> list[str]:
    """The items of a list in which commas inside brackets and words do not count."""
    items, depth, start, quote = [], 0, 0, ""
    for i, c in enumerate(text):
        if quote or c in "\"'":
            quote = "" if c == quote else quote or c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and not depth:
            items.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*items, last] if last else items


def _with_out(text: str, overload: str, names: Sequence[str]) -> str:
    """The text of the overload that writes into ``names``."""
    head, _, rest = text.partition("(")
    inside, _, returns = rest.rpartition(" -> ")
    letters = "abcdefgh"
    outs = ", ".join(f"Tensor({letters[i]}!) {n}" for i, n in enumerate(names))
    parameters = inside[:-1]
    star = "" if any(item == "*" for item in _split(parameters)) else "*, "
    if returns.startswith("("):
        fields = [Return(item).name for item in _split(returns[1:-1])]
        results = ", ".join(
            f"Tensor({letters[i]}!)" + (f" {f}" if f else "") for i, f in enumerate(fields)
        )
        returns = f"({results})"
    else:
        returns = "Tensor(a!)"
    if not parameters:
        return f"{head.split('.')[0]}.{overload}({star}{outs}) -> {returns}"
    return f"{head.split('.')[0]}.{overload}({parameters}, {star}{outs}) -> {returns}"


def _in_place(text: str, overload: str) -> str:
    """The text of the overload that writes into its first parameter."""
    head, _, rest = text.partition("(")
    inside, _, _ = rest.rpartition(" -> ")
    name = head.split(".")[0] + "_" + ("" if overload == "default" else f".{overload}")
    first, *others = _split(inside[:-1])
    kind, _, called = first.partition(" ")
    del kind
    return f"{name}({', '.join([f'Tensor(a!) {called}', *others])}) -> Tensor(a!)"


#: Texts by packet name, each a dict from overload name to schema text; in-place packets end in an
#: underscore.
_texts: dict[str, dict[str, str]] = {}
#: The same of packets that were asked for one by one.
_single: dict[str, dict[str, str]] = {}


def _head(line: str) -> tuple[str, str]:
    """The packet and the overload that a line begins with."""
    name, _, overload = line.partition("(")[0].partition(".")
    return name, overload or "default"


def _add(line: str, into: dict[str, dict[str, str]]) -> None:
    """Adds the overloads that a line stands for: its own, in place, and with ``out``."""
    name, overload = _head(line)
    text, _, variants = line.partition(" ;")
    mine = into.setdefault(name, {})
    mine[overload] = text
    for variant in variants.split():
        if variant.startswith("_"):
            other = variant[1:] or overload
            into.setdefault(f"{name}_", {})[other] = _in_place(text, other)
        else:
            out, _, names = variant[1:].partition(":")
            mine[out] = _with_out(text, out, names.split(",") if names else ["out"])


@cache
def _table() -> list[str]:
    path = Path(__file__).with_name("schemas.txt")
    return path.read_text(encoding="ascii").splitlines()


@cache
def _stating() -> tuple[dict[str, dict[int, Op | Composite]], dict[str, dict[int, str]]]:
    """The declarations and the lines of the table that state overloads of each packet."""
    lines: dict[str, dict[int, str]] = {}
    for place, line in enumerate(_table()):
        lines.setdefault(_head(line)[0], {})[place] = line
    return packets(), lines


def texts() -> dict[str, dict[str, str]]:
    """The texts of all schemas, by packet and overload."""
    if not _texts:
        for line in (*declared(), *_table()):
            _add(line, _texts)
    return _texts


def texts_of(packet: str) -> dict[str, str]:
    """The texts of one packet's schemas by overload, none if there is no such packet. A process
    that asks for few does not pay for all."""
    if _texts:
        return _texts.get(packet, {})
    if packet not in _single:
        declarations, table = _stating()
        into: dict[str, dict[str, str]] = {}
        # an operator in place is a variant of the one that makes a tensor, if it is not stated
        names = (packet, packet.removesuffix("_"))
        records = declarations.get(names[0], {}) | declarations.get(names[1], {})
        for place in sorted(records):
            for line in lines_of(records[place]):
                if _head(line)[0] in names:
                    _add(line, into)
        lines = table.get(names[0], {}) | table.get(names[1], {})
        for place in sorted(lines):
            _add(lines[place], into)
        _single[packet] = into.get(packet, {})
    return _single[packet]
