"""What a program said of numbers that data decide (``torch._check``, sizes of at least 0), as
operators of its graph that check it."""

from __future__ import annotations

import contextlib
import operator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.tensor.symbols import Float, Sym, Truth, exact
from jtorch.fx.experimental.proxy_tensor import _OF_COMPARISONS
from jtorch.fx.proxy import Proxy

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments
    from .._src.tensor.unknowns import Unknowns
    from ..fx.node import Node
    from ._trace import ExportTracer


__all__ = ["assert_said", "computed", "is_assertion"]

_SIGNS = {f: sign for sign, f in _OF_COMPARISONS.items()}
_ASSERT = torch.ops.aten._assert_scalar.default


def is_assertion(node: Node) -> bool:
    """Whether a node checks a number where the program runs."""
    return node.target is _ASSERT


def computed(node: Node, args: Arguments) -> Any:
    """What a node of a graph gives for numbers that data decide; None if it is none of those.

    Comparisons are not asked for, since what was said of the numbers holds while a graph is traced
    again, and is still to be checked.
    """
    first = args[0] if args else None
    if node.target in _SIGNS:
        for x in args:
            if isinstance(x, Sym) and x.on_data:
                return x.env.data.truth_said(_SIGNS[node.target], *map(exact, args))
    if (
        node.target is torch.ops.aten.sym_size.int
        and isinstance(n := first.shape[args[1]], Sym)
        and n.on_data
    ):
        return n  # read where it is needed
    if node.target is torch.sym_ite and isinstance(first, Truth):
        return first.env.wrap(first.sides[1])
    return None


def assert_said(tracer: Any) -> None:
    """Adds the checks behind the operators that give the numbers; where there are several, behind
    the last.

    Raises:
        NotImplementedError: if a number is one of a graph that an operator takes.
    """
    data, graph = tracer.data, tracer.graph
    known: dict[str, Any] = {}
    last = {}
    for name in data.bounds:
        if name not in data.fixed:
            proxy = tracer.size(data.env.symbol(name))
            if isinstance(proxy, Proxy):
                _behind_source(proxy.node)
                known[name] = last[name] = proxy.node
    order = {n: i for i, n in enumerate(graph.nodes)}
    for name, node in known.items():
        for sign, bound in zip((">=", "<="), data.bounds[name], strict=True):
            if bound is not None:
                last[name] = _check(
                    graph,
                    last[name],
                    sign,
                    (node, bound),
                    data.truth_said(sign, data.env.symbol(name).expr, bound),
                )
    for sign, left, right in data.said:
        if type(left) is Float:
            end = next((n for n in reversed(graph.nodes) if n.op == "output"), None)
            with graph.inserting_before(end) if end is not None else contextlib.nullcontext():
                sides = [tracer.side_of(data.env, x) for x in (left, right)]
            parts = [x.node if isinstance(x, Proxy) else x for x in sides]
            latest = max(
                [x.node for x in sides if isinstance(x, Proxy)], key=list(graph.nodes).index
            )
            _check(graph, latest, sign, tuple(parts), data.truth_said(sign, left, right))
            continue
        names = dict.fromkeys([*data.names_in(left), *data.names_in(right)])
        if any(n in data.fixed for n in names) or _is_bound(data, sign, left, right):
            continue
        latest = max(names, key=lambda n: order.get(known[n], len(order)))
        with graph.inserting_after(last[latest]):
            parts = [_node(tracer, x, last, latest) for x in (left, right)]
        last[latest] = _check(
            graph, last[latest], sign, tuple(parts), data.truth_said(sign, left, right)
        )


def _is_bound(data: Unknowns, sign: str, left: object, right: object) -> bool:
    """Whether a comparison only says what the bounds of a symbol say, or less."""
    name = data.bare(left)
    if name is None or type(right) is not int or sign not in (">=", "<="):
        return False
    bound = data.bounds[name][sign == "<="]
    return bound is not None and (bound >= right if sign == ">=" else bound <= right)


def _behind_source(node: Node) -> None:
    """Moves the node that reads a size, or a truth value as a number, behind the operator that
    gives the tensor or value."""
    if (
        node.target in (torch.ops.aten.sym_size.int, torch.sym_ite)
        and node.args[0].op != "placeholder"
    ):
        source = node.args[0]
        while source.next.target is operator.getitem and source.next.args[0] is source.args[0]:
            source = source.next
        source.append(node)


def _node(tracer: ExportTracer, x: object, last: dict[str, Node], name: str) -> Any:
    """The node of a size; what computes it stands before its check, which comes later where the
    program itself computes it later."""
    if type(x) is int:
        return x
    graph = tracer.graph
    before = set(graph.nodes)
    made = tracer.size(Sym(tracer.data.env, x)).node
    for node in [n for n in graph.nodes if n not in before]:
        last[name].append(node)
        last[name] = node
    order = list(graph.nodes)
    if made in before and order.index(made) > order.index(last[name]):
        last[name] = made
    return made


def _check(graph: Any, after: object, sign: str, parts: tuple[object, ...], truth: Truth) -> Any:
    """Adds a comparison and its check behind a node; gives the last node."""
    with graph.inserting_after(after):
        compared = graph.call_function(_OF_COMPARISONS[sign], parts)
    compared.meta["val"] = truth
    with graph.inserting_after(compared):
        message = f"Runtime assertion failed for expression {truth!r} on node '{compared.name}'"
        return graph.create_node(
            "call_function", _ASSERT, (compared, message), {}, name="_assert_scalar_default"
        )
