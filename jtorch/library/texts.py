"""Schemas of operators as programs write them."""

from __future__ import annotations

import re
from collections.abc import Callable

from .._src.aten.schema import Schema


def split_name(qualname: str) -> tuple[str, str, str]:
    """Namespace, name and overload of ``"ns::name.overload"``.

    Raises:
        ValueError: for another form.
    """
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The '
            "qualname passed to the torch.library APIs "
            "must consist of a namespace and a name, e.g. aten::sin"
        )
    name, _, overload = parts[1].partition(".")
    return parts[0], name, overload or "default"


def as_written(text: str) -> str:
    """A schema with the spaces that schemas are printed with, those in words as they are."""
    parts = re.split(r"""("[^"]*"|'[^']*')""", text.strip())
    for i in range(0, len(parts), 2):
        part = re.sub(r"\s*=\s*", "=", re.sub(r"\s+", " ", parts[i]))
        part = re.sub(r"\s*,\s*", ", ", re.sub(r"\s*->\s*", " -> ", part))
        parts[i] = re.sub(
            r"(?<=\()\s+|\s+(?=\))", "", re.sub(r"(?<=[?\]])(?=[a-zA-Z_])", " ", part)
        )
    return "".join(parts)


def parsed(namespace: str, text: str) -> Schema:
    """A schema that may have been written with other spaces."""
    return Schema(as_written(text), namespace)


#: The words that types of parameters and results begin with. (Classes of TorchScript are none that
#: anything could give.)
_TYPES = frozenset(
    "Tensor SymInt SymBool int float bool str complex Scalar ScalarType Layout Device DeviceIndex "
    "MemoryFormat Storage Stream QScheme Generator Quantizer ConstQuantizerPtr Dict Union Future "
    "Await RRef Any AnyEnumType AnyClassType None NoneType Capsule __torch__".split()
)
_INSTEAD = {
    "int64_t": "Use `SymInt` or `int` instead of `int64_t` in an operator's schema string. "
    "`SymInt` corresponds to c10::SymInt in C++ while `int` in schema corresponds to "
    "the int64_t type in C++.",
    "double": (
        "Use `float` instead of `double` in an operator's schema string. `float` in schema "
        "corresponds to the double type in C++"
    ),
}


def check_types(text: str) -> None:
    """Refuses a schema, as it was written, with types that there are not.

    Raises:
        RuntimeError: naming the place of the first one.
    """
    schema = Schema(as_written(text))
    for item in (*schema.arguments, *schema.returns):
        word = re.match(r"\w+", item.type)
        if word is None or word[0] in _TYPES:
            continue
        place = re.search(rf"(?<=[(,>]){word[0]}\b|(?<=[(,>] ){word[0]}\b", text)
        start = 0 if place is None else place.start()
        why = _INSTEAD.get(word[0]) or (
            "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, "
            "bool, Scalar; for a full list, please see "
            "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
        )
        raise RuntimeError(f"\n{why}:\n{text}\n{' ' * start}{'~' * len(word[0])} <--- HERE\n")


def refuse_named_tensors(schema: Schema, text: str, what: str) -> None:
    """Refuses operators with tensors that are given by name alone, as ``text`` shows.

    Raises:
        NotImplementedError: if there are some.
    """
    if any(a.kwarg_only and a.is_tensor for a in schema.arguments):
        please = "Please" if what == "custom_op" else "In the original definition of the op, please"
        raise NotImplementedError(
            f"{what} with kwarg-only Tensor args. {please} make your tensors not kwarg-only. Got: "
            f"{text}"
        )


_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->)|(?P<ident>[A-Za-z_]\w*)|(?P<number>-?\.?\d[\w.+-]*)"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<other>\S))"""
)


class _Form:
    """Reads a schema token by token, to see whether it is one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int, int]] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            start, end = found.span(kind)
            self.tokens.append((found[kind] if kind == "other" else kind, start, end))
        self.place = 0

    @property
    def kind(self) -> str:
        """What the next token is: ``ident``, ``arrow``, ``number``, ``string``, ``eof``, or the
        sign itself."""
        return self.tokens[self.place][0] if self.place < len(self.tokens) else "eof"

    def take(self, kind: str) -> None:
        """Passes over a token that must be of this kind."""
        if self.kind != kind:
            mark = ""
            if self.place < len(self.tokens):
                _, start, end = self.tokens[self.place]
                mark = f"\n{' ' * start}{'~' * (end - start)} <--- HERE\n"
            raise RuntimeError(f"expected {kind} but found '{self.kind}' here:\n{self.text}{mark}")
        self.place += 1

    def may(self, *kinds: str) -> bool:
        """Passes over the next token if it is one of these."""
        found = self.kind in kinds
        self.place += found
        return found

    def inside(self, end: str) -> None:
        """Passes over what stands in brackets, up to the one that ends it."""
        while not self.may(end):
            if self.kind == "eof":
                self.take(end)
            if self.may("("):
                self.inside(")")
            elif self.may("["):
                self.inside("]")
            else:
                self.place += 1

    def type(self) -> None:
        """A type, with what it shares memory with, and whether there may be none or many."""
        if self.may("("):
            self.inside(")")
        else:
            self.take("ident")
            while self.may("."):
                self.take("ident")
        while self.kind in ("(", "[", "?"):
            if self.may("("):
                self.inside(")")
            elif self.may("["):
                self.inside("]")
            else:
                self.take("?")

    def parameter(self) -> None:
        """A type, a name and a default."""
        if self.may("*"):
            return
        self.type()
        self.take("ident")
        if self.may("="):
            if self.may("["):
                self.inside("]")
            elif not self.may("number", "string"):
                self.take("ident")

    def result(self) -> None:
        """A type, and a name if it has one."""
        self.type()
        self.may("ident")

    def listed(self, read: Callable[[], None]) -> None:
        """Items with commas between them, and the bracket that ends them."""
        if not self.may(")"):
            read()
            while self.may(","):
                read()
            self.take(")")


def check_form(text: str) -> None:
    """Refuses what is no schema.

    Raises:
        RuntimeError: for a sign that does not belong where it stands.
    """
    form = _Form(text)
    form.take("ident")
    if form.kind == "eof":
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    if form.may("."):
        form.take("ident")
    form.take("(")
    form.listed(form.parameter)
    form.take("arrow")
    if form.may("("):
        form.listed(form.result)
    else:
        form.result()
    form.take("eof")
