"""Types as the code of archives writes them."""

from __future__ import annotations

import ast
import functools
from typing import Any, NamedTuple

import jtorch as torch


class CodeError(RuntimeError):
    """The code of an archive has what TorchScript has not."""


class Kind(NamedTuple):
    """A type: its name (``"List"``, ``"Tensor"``, ``"__torch__.Net"``) with its parts."""

    name: str
    items: tuple[Kind, ...] = ()

    def __str__(self) -> str:
        if self.name == "Tuple" and not self.items:
            return "Tuple[()]"
        return f"{self.name}[{', '.join(map(str, self.items))}]" if self.items else self.name


TENSOR, INT, FLOAT, BOOL, STR, NONE, DEVICE = map(
    Kind, ("Tensor", "int", "float", "bool", "str", "NoneType", "Device")
)


def list_of(kind: Kind) -> Kind:
    """The type of lists of a type."""
    return Kind("List", (kind,))


def dotted(node: ast.AST) -> str | None:
    """The text of a name with points, None for other expressions."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def kind_of(node: ast.AST) -> Kind:
    """The type that an expression writes.

    Raises:
        CodeError: if it writes none.
    """
    if isinstance(node, ast.Constant):
        if node.value is None:
            return NONE
        if isinstance(node.value, str):
            return kind_of(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Kind(dotted(node.value) or "", tuple(map(kind_of, items)))
    if isinstance(node, ast.Tuple) and not node.elts:
        return Kind("()")
    name = dotted(node)
    if name is None:
        raise CodeError(f"Unknown type constructor in line {getattr(node, 'lineno', 0)}")
    return Kind({"None": "NoneType"}.get(name, name))


@functools.cache
def parsed(text: str) -> Kind:
    """The type with this text."""
    try:
        return kind_of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError) as e:
        raise CodeError(f"Unknown type {text[:200]!r}") from e


_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (float,), "bool": (bool,), "str": (str,), "complex": (complex,),
    "number": (int, float, complex), "NoneType": (type(None),), "Device": (torch.device,),
    "device": (torch.device,), "Tensor": (torch.Tensor,), "Generator": (torch.Generator,),
}  # fmt: skip


def belongs(x: Any, kind: Kind) -> bool:
    """Whether a value is of a type; ints are no bools, and containers are looked into."""
    name, items = kind
    if name == "Any":
        return True
    if name in _PLAIN:
        return isinstance(x, _PLAIN[name]) and (name == "bool" or not isinstance(x, bool))
    if name in ("Optional", "Union"):
        return (x is None and name == "Optional") or any(belongs(x, k) for k in items)
    if name == "List":
        return isinstance(x, list) and all(belongs(i, items[0]) for i in x)
    if name == "Dict":
        return isinstance(x, dict) and all(
            belongs(k, items[0]) and belongs(v, items[1]) for k, v in x.items()
        )
    if name == "Tuple":
        wanted = () if items == (Kind("()"),) else items
        return isinstance(x, tuple) and len(x) == len(wanted) and all(map(belongs, x, wanted))
    found = getattr(type(x), "_script_name", None)
    return found is None or found == name


def fitted(x: Any, kind: Kind) -> Any:
    """A value that a caller in Python gives for a type: tuples of numbers are lists there, integers
    floats, tensors without dimensions numbers, and tuples named ones."""
    name, items = kind
    if name == "Optional":
        return None if x is None else fitted(x, items[0])
    if name == "float" and type(x) is int:
        return float(x)
    if name in ("int", "float", "bool", "complex") and isinstance(x, torch.Tensor):
        return x.item() if x.numel() == 1 else x
    if name == "int" and isinstance(x, torch.dtype):
        return x
    if name in ("Device", "device") and isinstance(x, str):
        return torch.device(x)
    if name == "List" and isinstance(x, (list, tuple)):
        return (
            x if type(x) is list and items[0].name != "float" else [fitted(i, items[0]) for i in x]
        )
    return x


def shown(kind: Kind) -> str:
    """The type as declarations show it."""
    name, items = kind
    if name == "List":
        return f"{shown(items[0])}[]"
    if name == "Optional":
        return f"{shown(items[0])}?"
    if name in ("Tuple", "Dict"):
        inner = ", ".join(map(shown, items))
        return f"({inner})" if name == "Tuple" else f"Dict({inner})"
    return str(kind)
