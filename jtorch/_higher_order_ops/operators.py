"""``torch.ops.higher_order``: operators that take functions, which are modules of graphs in traced
programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch._src.aten.overloads import namespace_of
from jtorch._src.composites import control
from jtorch.fx.graph_module import GraphModule

from ..core import Tensor
from .map import mapped
from .scan import scanned

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Operand, Tree, Values
    from ..fx.immutable_collections import immutable_list
    from ..nn.modules.module import Module


__all__ = ["OPERATORS", "HigherOrderOperator", "graphs_of", "map_lists", "scan_lists"]


class HigherOrderOperator:
    """An operator that takes functions, in graphs the modules of their graphs. It gives a tuple of
    tensors."""

    namespace = "higher_order"

    def __init__(self, name: str, run: Callable[..., object]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "jtorch.ops.higher_order"  # where generated code finds it
        self._run = run

    def name(self) -> str:
        """The operator's name."""
        return self.__name__

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._run(*args, **kwargs)

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self.__name__}>"

    def __deepcopy__(self, memo: dict[int, object]) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> object:
        return _by_name, (self.__name__,)


def _by_name(name: str) -> HigherOrderOperator:
    return OPERATORS[name]


def graphs_of(module: Module) -> Iterator[Any]:
    """The graph of a module and those of all that its operators take."""
    if isinstance(module, GraphModule):
        yield module.graph
    for child in module.children():
        yield from graphs_of(child)


# ---- running -------------------------------------------------------------------------------------


def _tuple(found: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _cond(
    pred: object, true_fn: object, false_fn: object, operands: tuple[Tensor, ...] = ()
) -> tuple[Tensor, ...]:
    return _tuple(control.cond(pred, true_fn, false_fn, tuple(operands)))


def _while_loop(
    cond_fn: Callable[..., object],
    body_fn: Any,
    carried_inputs: tuple[Tensor, ...],
    additional_inputs: tuple[Tensor, ...] = (),
) -> tuple[Tensor, ...]:
    more = tuple(additional_inputs)
    return control.while_loop(
        lambda *carried: cond_fn(*carried, *more),
        lambda *carried: _tuple(body_fn(*carried, *more)),
        tuple(carried_inputs),
    )


def _scan(
    combine_fn: Any,
    init: list[Tensor] | immutable_list,
    xs: list[Tensor] | immutable_list,
    additional_inputs: tuple[Tensor, ...] = (),
) -> tuple[object, ...]:
    more, many = tuple(additional_inputs), len(init)

    def combine(carry: list[Tensor], x: list[Tensor]) -> tuple[Values, Values]:
        found = list(combine_fn(*carry, *x, *more))
        return found[:many], found[many:]

    carry, ys = scan_lists(combine, list(init), list(xs))
    return (*carry, *ys)


def scan_lists(combine: Function, init: list[Tensor], xs: list[Tensor]) -> tuple[Values, Values]:
    """``scan`` of lists of tensors along the first dimension; part of a graph while a program is
    traced."""
    return _captured("scan", scanned, combine, init, xs)


def _map_impl(f: Any, xs: Tree, pos_args: Tree = ()) -> tuple[object, ...]:
    return tuple(map_lists(lambda x, *more: list(_tuple(f(*x, *more))), list(xs), tuple(pos_args)))


def map_lists(
    f: Callable[..., object], xs: list[Tensor], args: tuple[Tensor, ...]
) -> list[Operand]:
    """``map`` of lists of tensors along the first dimension; part of a graph while a program is
    traced."""
    return _captured("map", _mapped, f, xs, args)


def _mapped(f: Function, xs: list[Tensor], args: tuple[Tensor, ...]) -> list[Tensor]:
    return mapped(f, xs, *args)


def _captured(name: str, run: Function, *args: Any) -> Tree:
    """Part of a graph while a program is traced, else run."""
    found = NotImplemented if control.captured is None else control.captured(name, *args)
    return run(*args) if found is NotImplemented else found


OPERATORS = {
    name: HigherOrderOperator(name, run)
    for name, run in {
        "cond": _cond,
        "while_loop": _while_loop,
        "scan": _scan,
        "map_impl": _map_impl,
    }.items()
}
namespace_of("higher_order").__dict__.update(OPERATORS)
