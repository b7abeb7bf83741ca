"""Numbers and sizes that data decide, in a program that is to be one graph: symbols while it is
recorded, then nodes of the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.tensor import unknowns
from jtorch._src.tensor.shape_env import ShapeEnv
from jtorch._src.tensor.symbols import Float, GuardOnDataDependentSymNode, Sym, Truth
from jtorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from jtorch.export._asserts import assert_said
from jtorch.fx.experimental.proxy_tensor import PythonKeyTracer
from jtorch.fx.graph import Graph
from jtorch.fx.node import Node
from jtorch.fx.proxy import Proxy

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["SYMBOLS", "Numbers", "same_shape"]

SYMBOLS = (Sym, Float, Truth)


def _refuse_text(in_program: Callable[[], bool], number: object) -> None:
    if in_program():
        raise GuardOnDataDependentSymNode(number)


class Numbers:
    """The symbols of one graph."""

    def __init__(self, graph: Graph, in_program: Callable[[], bool]) -> None:
        """``in_program`` tells whether it is the program that asks, or goes on with what it was
        given."""
        env = ShapeEnv()
        env.on_text = functools.partial(_refuse_text, in_program)
        self.tracer = PythonKeyTracer()
        self.tracer.graph = graph
        self.data = self.tracer.data = unknowns.of(env)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=env, static_shapes=True)

    @property
    def none(self) -> bool:
        """Whether there are none yet."""
        return not self.data.bounds and not self.data.floats

    def track(self, value: object, node: Node) -> None:
        """Says which node gives a number, or a tensor whose sizes data decide."""
        proxy = Proxy(node, self.tracer)
        if isinstance(value, FakeTensor):
            self.tracer._sizes_from_data(value, proxy)
        else:
            self.tracer.track(value, proxy)
            if not isinstance(value, Truth):
                self.tracer.sources.setdefault(
                    str(value.expr) if isinstance(value, Sym) else repr(value), (proxy, None)
                )

    def node(self, x: Any) -> Any:
        """The node of a number; what computes it is added where there is none yet."""
        tracer = self.tracer
        made = (
            tracer.truth_of(x)
            if isinstance(x, Truth)
            else tracer.float_of(x)
            if isinstance(x, Float)
            else tracer.size(x)
        )
        return made.node if isinstance(made, Proxy) else made

    def check(self) -> Values:
        """Adds nodes that check what the program said of its numbers; gives what tells such graphs
        apart."""
        if not self.data.bounds and not self.data.said:
            return []
        assert_said(self.tracer)
        said = [
            (sign, repr(self.data.truth_said(sign, left, right)))
            for sign, left, right in self.data.said
        ]
        return [("said", tuple(said), tuple(self.data.bounds.items()))]


def same_shape(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether a tensor has the shape that the graph gives, as far as that is numbers."""
    shape = tuple(expected.shape)
    return len(found.shape) == len(shape) and all(
        type(n) is not int or m == n for m, n in zip(found.shape, shape, strict=True)
    )
