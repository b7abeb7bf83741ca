"""Sizes that vary: how they are asked for, and what a model of ONNX calls them."""

# pyright: reportMissingImports=false

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

import jtorch as torch
from jtorch.export import Dim
from jtorch.export._plan import spread
from jtorch.export._trace import argument_names, by_position, joined_rest
from jtorch.utils import _pytree as pytree

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_WORD = re.compile(r"[A-Za-z_]\w*")


def dimensions(shapes: Any) -> Any:
    """What varies, with dimensions where names are given."""
    if isinstance(shapes, (torch.export.ShapesCollection, torch.export.AdditionalInputs)):
        return shapes
    return pytree.tree_map(lambda x: Dim.DYNAMIC if isinstance(x, str) else x, shapes)


def by_axes(
    axes: Mapping[str, Any],
    input_names: Sequence[str],
    forward: Callable[..., Any],
    args: Arguments,
    kwargs: Keywords,
) -> list[Any]:
    """``dynamic_axes``, whose keys are names of inputs and results, by the places of the
    arguments."""
    names = argument_names(forward, args, kwargs)
    asked = iter(input_names)
    found: list[Any] = []
    for name, arg in zip(names, (*args, *kwargs.values()), strict=True):
        leaves, spec = pytree.tree_flatten(arg)
        given = []
        for leaf in leaves:
            key = next(asked, name) if isinstance(leaf, torch.Tensor) else name
            chosen = axes.get(key, axes.get(name) if len(leaves) == 1 else None)
            given.append(_of_axes(chosen) if isinstance(leaf, torch.Tensor) else None)
        found.append(pytree.tree_unflatten(given, spec))
    return found


def _of_axes(chosen: Any) -> dict[int, Any] | None:
    if chosen is None:
        return None
    if isinstance(chosen, Mapping):
        return dict(chosen)
    return dict.fromkeys(chosen, Dim.DYNAMIC)


def _by_leaf(
    forward: Callable[..., Any], args: Arguments, kwargs: Keywords, shapes: Any
) -> list[dict[int, Any]]:
    """What is said of the dimensions of each leaf of the arguments."""
    values = (*args, *kwargs.values())
    if isinstance(shapes, (torch.export.ShapesCollection, torch.export.AdditionalInputs)):
        return [{} for _ in pytree.tree_leaves(values)]
    plain = pytree.tree_map(lambda x: _Named(x) if isinstance(x, str) else x, shapes)
    given = joined_rest(forward, args, by_position(forward, args, kwargs, plain))
    return [
        {} if s is None else dict(s.items() if isinstance(s, Mapping) else enumerate(s))
        for s in spread(given, argument_names(forward, args, kwargs), values)
    ]


def enlarged(
    forward: Callable[..., Any], args: Arguments, kwargs: Keywords, shapes: Any
) -> tuple[Arguments, Keywords]:
    """The example, with another size where one that varies is 1: a program of a single one would
    hold for nothing else. Of the elements nothing is asked."""
    if shapes is None:
        return args, kwargs
    flat, spec = pytree.tree_flatten((args, kwargs))
    chosen = _by_leaf(forward, args, kwargs, shapes)
    sizes = {n for x in flat if isinstance(x, torch.Tensor) for n in x.shape}
    other = next(n for n in itertools.count(2) if n not in sizes)
    for place, (x, dims) in enumerate(zip(flat, chosen, strict=True)):
        ones = [
            d
            for d, dim in dims.items()
            if isinstance(x, torch.Tensor)
            and x.shape[d] == 1
            and (isinstance(dim, (_Named, Dim)) or dim in (Dim.DYNAMIC, Dim.AUTO))
        ]
        if ones:
            size = [other if d in ones else n for d, n in enumerate(x.shape)]
            flat[place] = x.new_zeros(size).requires_grad_(x.requires_grad)
    return pytree.tree_unflatten(flat, spec)


def asked_names(
    program: Any, forward: Callable[..., Any], args: Arguments, kwargs: Keywords, shapes: Any
) -> dict[str, str]:
    """What the program's symbols are called by who exports."""
    if shapes is None:
        return {}
    found: dict[str, str] = {}
    for dims, sizes in zip(_by_leaf(forward, args, kwargs, shapes), program._sizes, strict=False):
        for place, dim in dims.items():
            name = dim.name if isinstance(dim, _Named) else getattr(dim, "__name__", "")
            if name and sizes is not None and isinstance(sizes[place], str):
                _call(found, sizes[place], name)
    return found


class _Named:
    """A text in the place of a dimension."""

    def __init__(self, name: str) -> None:
        self.name = name


def _call(found: dict[str, str], size: str, name: str) -> None:
    """Notes that ``size``, a symbol or a product of one, is called ``name``."""
    symbols, words = _WORD.findall(size), _WORD.findall(name)
    if len(symbols) != 1 or len(words) != 1:
        return
    if size != symbols[0] and name == words[0]:
        return  # a name for something that follows from other sizes
    before = found.setdefault(symbols[0], words[0])
    if before != words[0]:
        warnings.warn(
            f"# The axis name: {words[0]} will not be used, since it shares the same shape "
            f"constraints with another axis: {before}.",
            stacklevel=6,
        )


def rename(model: ir.Model, names: Mapping[str, str]) -> None:
    """Gives sizes of a model other names, in products and sums of them too."""
    if not names:
        return
    for value in _values(model):
        if value.shape is not None:
            value.shape = ir.Shape([_renamed(n, names) for n in value.shape])


def state_axes(model: ir.Model, axes: Mapping[str, Any]) -> None:
    """Gives sizes of inputs and results the names that ``dynamic_axes`` has for them."""
    for value in (*model.graph.inputs, *model.graph.outputs):
        chosen = axes.get(value.name or "")
        if chosen is None or value.shape is None:
            continue
        named = (
            dict(chosen)
            if isinstance(chosen, Mapping)
            else {d: f"{value.name}_dynamic_axes_{i + 1}" for i, d in enumerate(chosen)}
        )
        sizes: list[Any] = list(value.shape)
        for place, name in named.items():
            sizes[place] = name
        value.shape = ir.Shape([getattr(n, "value", n) for n in sizes])


def _renamed(n: Any, names: Mapping[str, str]) -> Any:
    text = getattr(n, "value", n)
    if not isinstance(text, str):
        return text
    return _WORD.sub(lambda found: names.get(found[0], found[0]), text)


def _values(model: ir.Model) -> list[Any]:
    found: dict[int, Any] = {}
    for graph in model.graphs():
        for value in (*graph.inputs, *graph.outputs, *graph.initializers.values()):
            found[id(value)] = value
        for node in graph:
            for value in node.outputs:
                found[id(value)] = value
    return list(found.values())
