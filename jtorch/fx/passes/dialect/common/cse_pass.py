"""Common subexpressions: what a graph of operators computes twice from the same is computed
once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch

from ....._src.refusals import stand_ins as _refusals
from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node
from ...infra.pass_base import PassBase, PassResult

if TYPE_CHECKING:
    from ....._src.aten.overloads import OpOverload


__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:
    """What ``CSEPass`` leaves alone beside writes, draws and what makes tensors of nothing: copies,
    which somebody may write into."""
    return {torch.ops.aten.clone}


class CSEPass(PassBase):
    """Merges calls of the same operator with the same arguments, of which the types are the same
    too (2 is not 2.0).

    Args:
        banned_ops: packets or overloads that are never merged; ``get_CSE_banned_ops()`` by default.
            Operators that write, draw random numbers, or meet a tensor that a graph writes into are
            never merged.
    """

    def __init__(self, banned_ops: Any = None) -> None:
        self.banned_ops = set(get_CSE_banned_ops() if banned_ops is None else banned_ops)
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """A new module with what the pass made; the given one stays as it is."""
        made = Graph()
        copies: dict[Node, Node] = {}
        found: dict[Any, Node] = {}
        # A write changes what views of the tensor give, too: a graph with writes has nothing that
        # is surely computed from the same.
        merges = not any(_writes(node) for node in graph_module.graph.nodes)
        modified = False
        for node in graph_module.graph.nodes:
            if node.op == "output":
                made.node_copy(node, lambda n: copies[n])
                continue
            key = self._key(node, copies) if merges else None
            known = None if key is None else found.get(key)
            if known is not None:
                copies[node], modified = known, True
                continue
            copies[node] = made.node_copy(node, lambda n: copies[n])
            if key is not None:
                found[key] = copies[node]
        return PassResult(GraphModule(graph_module, made), modified)

    def _key(self, node: Node, copies: dict[Node, Node]) -> tuple[object, ...] | None:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None:
            return None
        if node.target in self.banned_ops or node.target.overloadpacket in self.banned_ops:
            return None
        if not node.all_input_nodes or _draws(node.target):
            return None
        try:
            key = node.target, _frozen(node.args, copies), _frozen(dict(node.kwargs), copies)
            hash(key)
        except TypeError:
            return None
        return key


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_method" or (schema is not None and bool(schema.writes))


def _draws(operator: OpOverload) -> bool:
    """Whether an operator draws random numbers: some overload of it takes a generator, or its name
    says so."""
    packet = operator.overloadpacket
    if "dropout" in operator._opname or operator._opname.startswith("rand"):
        return True
    schemas = [getattr(packet, name)._schema for name in packet.overloads()]
    return any(a.type.startswith("Generator") for schema in schemas for a in schema.arguments)


def _frozen(x: object, copies: dict[Node, Node]) -> tuple[object, ...]:
    if isinstance(x, Node):
        return "node", copies[x].name
    if isinstance(x, (list, tuple)):
        return "items", tuple([_frozen(i, copies) for i in x])
    if isinstance(x, dict):
        return "named", tuple([(k, _frozen(v, copies)) for k, v in sorted(x.items())])
    if isinstance(x, slice):
        return "slice", _frozen((x.start, x.stop, x.step), copies)
    return type(x), repr(x) if isinstance(x, (float, complex)) else x


__getattr__ = _refusals.missing(__name__)
