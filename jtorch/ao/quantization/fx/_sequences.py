"""LSTMs in graphs. Those that are quantised give quantised values in tuples, which are taken apart
for the reverse of quantising."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from jtorch import nn
from jtorch.ao.nn import quantizable as nnqa
from jtorch.fx.graph import Graph
from jtorch.fx.node import Node

from ..stubs import DeQuantStub
from .utils import get_new_attr_name_with_prefix


def _stub_after(node: Node, model: nn.Module, modules: dict[str, Any], graph: Graph) -> Node:
    """A node after ``node`` that calls a new ``DeQuantStub``."""
    name = get_new_attr_name_with_prefix("dequant_stub_")(model)
    stub = DeQuantStub()
    setattr(model, name, stub)
    modules[name] = stub
    with graph.inserting_after(node):
        return graph.call_module(name, (node,))


def dequantise_states(node: Node, model: nn.Module, modules: dict[str, Any], graph: Graph) -> Node:
    """Takes what an LSTM gives apart, ``(out, (h, c))``, puts a ``DeQuantStub`` behind each part,
    and lets all users have these, as tuples again."""
    users = list(node.users)

    def part(of: Node, at: int, after: Node) -> Node:
        with graph.inserting_after(after):
            return graph.call_function(operator.getitem, (of, at))

    def whole(parts: list[Node], after: Node) -> Node:
        with graph.inserting_after(after):
            return graph.call_function(tuple, (parts,))

    out = _stub_after(part(node, 0, node), model, modules, graph)
    states = part(node, 1, out)
    h = _stub_after(part(states, 0, states), model, modules, graph)
    c = _stub_after(part(states, 1, h), model, modules, graph)
    found = whole([out, both := whole([h, c], c)], both)
    for user in users:
        user.replace_input_with(node, found)
    _skip_tuples(graph)
    return found


def _skip_tuples(graph: Graph) -> None:
    """Lets those who take an item out of a tuple have what was put into it."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        made, at = node.args[0], node.args[1]
        if not (isinstance(made, Node) and made.op == "call_function" and made.target is tuple):
            continue
        parts: Any = made.args[0]
        for user in list(node.users):
            user.replace_input_with(node, parts[at])


def lstm_behind(arg: Node, modules: dict[str, Any]) -> Node | None:
    """The node of the observed LSTM that a value comes from by ``dequantise_states``; else None."""

    def stub(node: Node) -> bool:
        return node.op == "call_module" and isinstance(modules.get(str(node.target)), DeQuantStub)

    def calls(function: Any) -> Callable[[Node], bool]:
        return lambda node: node.op == "call_function" and node.target is function

    item, several = calls(operator.getitem), calls(tuple)
    for steps in ((stub, item), (several, stub, item, item), (stub, item, item),
                  (several, stub, item)):  # fmt: skip
        node: Any = arg
        for step in steps:
            if not (isinstance(node, Node) and step(node)):
                break
            node = node.args[0]
            if step is several:
                node = node[0]
        else:
            called = isinstance(node, Node) and node.op == "call_module"
            if called and isinstance(modules.get(str(node.target)), nnqa.LSTM):
                return node
    return None
