"""Graphs as ``torch.jit`` shows them: nodes by their kinds, with values that have types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jtorch as torch

from .._src.facts.errors import not_offered

NO_PASSES = (
    "graphs of traces can be looked at; there are no passes over them, and nothing runs them"
)

_SCALARS = {
    "torch.float32": "Float", "torch.float64": "Double", "torch.float16": "Half",
    "torch.bfloat16": "BFloat16", "torch.uint8": "Byte", "torch.int8": "Char",
    "torch.int16": "Short", "torch.int32": "Int", "torch.int64": "Long", "torch.bool": "Bool",
    "torch.complex64": "ComplexFloat", "torch.complex128": "ComplexDouble",
    "torch.complex32": "ComplexHalf",
}  # fmt: skip
_PLAIN = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType",
          "NoneType": "NoneType",
          "Device": "DeviceObjType", "complex": "ComplexType",
          "Generator": "GeneratorType"}  # fmt: skip


class _Shown:
    """What says of a name that it lacks that it is not offered."""

    _name = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_offered(f"{self._name}.{name}", NO_PASSES)


class Type(_Shown):
    """The type of a value: a tensor's with its sizes, a list's with that of its items, or one known
    by its name."""

    _name = "torch._C.Type"

    def __init__(self, name: str, tensor: torch.Tensor | None = None) -> None:
        self._text, self._shape, self._strides, self._scalar = name, None, None, None
        if tensor is not None:
            self._shape, self._strides = (
                list(map(int, tensor.shape)),
                list(map(int, tensor.stride())),
            )
            self._scalar, self._device = _SCALARS.get(str(tensor.dtype)), tensor.device

    def kind(self) -> str:
        """What kind of type it is, ``"TensorType"`` or ``"ListType"``, say."""
        if self._text.endswith("[]"):
            return "ListType"
        if self._text.startswith("("):
            return "TupleType"
        return _PLAIN.get(self._text, "TensorType" if self._text == "Tensor" else "ClassType")

    def sizes(self) -> list[int] | None:
        """A tensor's sizes, where they are known."""
        return None if self._shape is None else list(self._shape)

    def strides(self) -> list[int] | None:
        """A tensor's strides, where they are known."""
        return None if self._strides is None else list(self._strides)

    def dim(self) -> int | None:
        """A tensor's number of dimensions, where it is known."""
        return None if self._shape is None else len(self._shape)

    def scalarType(self) -> str | None:
        """The name of a tensor's dtype: ``"Float"`` or ``"Long"``, say."""
        return self._scalar

    def device(self) -> Any:
        """A tensor's device, where it is known."""
        return None if self._shape is None else self._device

    def getElementType(self) -> Type:
        """The type of a list's items."""
        if not self._text.endswith("[]"):
            raise RuntimeError(f"{self} has no elements")
        return Type(self._text[:-2])

    def annotation(self) -> str:
        """The type as annotations have it."""
        text, lists = self._text, 0
        while text.endswith("[]"):
            text, lists = text[:-2], lists + 1
        text = f"Optional[{text[:-1]}]" if text.endswith("?") else text
        return "List[" * lists + text + "]" * lists

    annotation_str = property(annotation)

    def __str__(self) -> str:
        return self.annotation()

    def shown(self) -> str:
        """The type as graphs are printed."""
        if self._shape is None or self._scalar is None:
            return self._text
        parts = [str(n) for n in self._shape]
        parts += ([f"strides=[{', '.join(map(str, self._strides or ()))}]"] if parts else []) + [
            f"device={self._device}"
        ]
        return f"{self._scalar}({', '.join(parts)})"


class Value(_Shown):
    """What a node computes, or an input of a graph."""

    _name = "torch._C.Value"

    def __init__(self, node: Node, type: Type, number: int) -> None:
        self._node, self._type, self._number, self._label = node, type, number, ""

    def node(self) -> Node:
        """The node that computes it."""
        return self._node

    def type(self) -> Type:
        """Its type."""
        return self._type

    def unique(self) -> int:
        """Its number in the graph."""
        return self._number

    def debugName(self) -> str:
        """Its name in the graph."""
        return self._label or str(self._number)

    def setDebugName(self, name: str) -> Value:
        """Gives it a name."""
        self._label = name
        return self

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor whose sizes are known."""
        return self._type._shape is not None

    def toIValue(self) -> object:
        """The value of a constant; None for what is computed."""
        return self._node._value if self._node._kind == "prim::Constant" else None

    def __str__(self) -> str:
        return f"{self.debugName()} defined in ({str(self._node).rstrip()})"

    __repr__ = __str__


class Node(_Shown):
    """One operator of a graph with the values that it is given and that it computes."""

    _name = "torch._C.Node"

    def __init__(
        self, kind: str, inputs: list[Value], scope: str = "", schema: Any = None, name: str = ""
    ) -> None:
        self._kind, self._inputs, self._scope, self._schema, self._pyname = (
            kind,
            inputs,
            scope,
            schema,
            name,
        )
        self._outputs: list[Value] = []
        self._value: Any = None
        self._attributes: dict[str, object] = {}
        #: Whether it is kept though nothing reads what it computes.
        self._kept = False

    def kind(self) -> str:
        """The operator's name with its namespace, as in ``"aten::relu"``."""
        return self._kind

    def scopeName(self) -> str:
        """The modules that were being called, separated by slashes."""
        return self._scope

    def inputs(self) -> Iterator[Value]:
        """The values that it is given."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        """The values that it computes."""
        return iter(self._outputs)

    def inputsSize(self) -> int:
        """How many values it is given."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many values it computes."""
        return len(self._outputs)

    def inputsAt(self, i: int) -> Value:
        """The value that it is given at a place."""
        return self._inputs[i]

    def outputsAt(self, i: int) -> Value:
        """The value that it computes, by its number."""
        return self._outputs[i]

    def input(self) -> Value:
        """The only value that it is given."""
        (only,) = self._inputs
        return only

    def output(self) -> Value:
        """The only value that it computes."""
        (only,) = self._outputs
        return only

    def schema(self) -> str:
        """The operator's schema."""
        return "(no schema)" if self._schema is None else str(self._schema)

    def pyname(self) -> str:
        """The name of the Python function that it calls."""
        return self._pyname

    def mustBeNone(self) -> bool:
        """Whether it is the constant None."""
        return self._kind == "prim::Constant" and self._value is None

    def attributeNames(self) -> list[str]:
        """The names of its attributes."""
        return list(self._attributes)

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute."""
        return name in self._attributes

    def kindOf(self, name: str) -> str:
        """What an attribute is: ``"i"``, ``"f"``, ``"s"``, ``"t"``, or ``"ival"``."""
        value = self._attributes[name]
        for types, letter in (((bool, int), "i"), (float, "f"), (str, "s"), (torch.Tensor, "t")):
            if isinstance(value, types):
                return letter
        return "ival"

    def _attribute(self, name: str) -> object:
        return self._attributes[name]

    i = f = s = t = ival = _attribute

    def __str__(self) -> str:
        found = self._attributes.items()
        shown = (
            "[" + ", ".join(f"{n}={_attribute_text(x)}" for n, x in found) + "]" if found else ""
        )
        scope = f", scope: {self._scope}" if self._scope else ""
        left = ", ".join(f"%{v.debugName()} : {v.type().shown()}" for v in self._outputs)
        return (
            f"{left} = "
            f"{self._kind}{shown}({', '.join('%' + v.debugName() for v in self._inputs)}){scope}\n"
        )

    __repr__ = __str__


def _attribute_text(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{{{value.item():g}}}" if value.numel() == 1 else "<Tensor>"
    return (
        f'"{value}"'
        if isinstance(value, str)
        else str(int(value))
        if isinstance(value, bool)
        else str(value)
    )


class Graph(_Shown):
    """The operators that a function called, in order, with its inputs and outputs."""

    _name = "torch._C.Graph"

    def __init__(self) -> None:
        self._param, self._return = Node("prim::Param", []), Node("prim::Return", [])
        self._nodes: list[Node] = []
        self._count = 0

    def add(self, node: Node, types: list[Type]) -> list[Value]:
        """Puts a node at the end; its values have these types."""
        self._nodes.append(node)
        return [self.value(node, kind) for kind in types]

    def value(self, node: Node, type: Type) -> Value:
        """A further value of a node."""
        made = Value(node, type, self._count)
        self._count += 1
        node._outputs.append(made)
        return made

    def inputs(self) -> Iterator[Value]:
        """What the function is given."""
        return self._param.outputs()

    def outputs(self) -> Iterator[Value]:
        """What the function returns."""
        return self._return.inputs()

    def nodes(self) -> Iterator[Node]:
        """The operators in the order in which they were called."""
        return iter(list(self._nodes))

    def param_node(self) -> Node:
        """The node whose values are the inputs."""
        return self._param

    def return_node(self) -> Node:
        """The node that is given the outputs."""
        return self._return

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind."""
        del recurse  # there are no blocks within nodes
        return [n for n in self._nodes if n._kind == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def let_go(self) -> None:
        """Removes what nothing reads, but for writes."""
        needed, kept = set(map(id, self._return._inputs)), []
        for node in reversed(self._nodes):
            if node._kept or any(id(v) in needed for v in node._outputs):
                needed.update(map(id, node._inputs))
                kept.append(node)
        self._nodes = kept[::-1]

    def __str__(self) -> str:
        given = ",\n      ".join(f"%{v.debugName()} : {v.type().shown()}" for v in self.inputs())
        returned = ", ".join("%" + v.debugName() for v in self.outputs())
        return (
            f"graph({given}):\n"
            + "".join(f"  {n}" for n in self._nodes)
            + f"  return ({returned})\n"
        )

    __repr__ = __str__


for _class in (Graph, Node, Value, Type):
    _class.__module__ = "torch._C"
