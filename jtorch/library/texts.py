"""Schemas of operators as programs write them."""

from __future__ import annotations

import re

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
