"""``torch._dynamo.export``: the older way to get a graph of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jtorch as torch
from jtorch._src.facts.errors import not_offered

if TYPE_CHECKING:
    pass


class ExportResult(NamedTuple):
    """A module with the graph, and conditions under which it holds, of which none are told here: it
    is for arguments of the sizes that it was made for, and checks none."""

    graph_module: Any
    guards: set[object]


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Calls the function."""
        return self.function(*args, **kwargs)


def export(
    f: Callable[..., object],
    *extra_args: object,
    aten_graph: bool = False,
    pre_dispatch: bool = False,
    decomposition_table: dict[object, Callable[..., object]] | None = None,
    tracing_mode: str = "symbolic",
    dynamic_shapes: object = None,
    **extra_kwargs: object,
) -> Any:
    """A function that gives, for arguments, the graph of operators of ``f``; or that graph, if the
    arguments are given here.

    Sizes are numbers unless ``dynamic_shapes`` says otherwise, whatever ``tracing_mode`` is.

    Args:
        f: a module or function.
        extra_args: its arguments.
        aten_graph: has to be true: the graph is one of ATen's operators.
        pre_dispatch: whether composite operators stay whole.
        decomposition_table: how operators are taken apart.
        tracing_mode: as in PyTorch.
        dynamic_shapes: as for ``torch.export.export``.
        extra_kwargs: keyword arguments of ``f``.

    Raises:
        NotImplementedError: for graphs of Python's functions, for ``same_signature=False`` and
            ``constraints``. Other options of PyTorch's change nothing here.
    """
    options = {k: extra_kwargs.pop(k) for k in list(extra_kwargs) if k in _OPTIONS}
    del tracing_mode
    if not options.get("same_signature", True) or options.get("constraints"):
        raise not_offered(
            "torch._dynamo.export(same_signature=False or constraints=...)",
            "graphs have the signature of what was exported; give dynamic_shapes",
        )
    if not aten_graph:
        raise not_offered(
            "torch._dynamo.export(aten_graph=False)",
            "torch.export.export gives graphs of ATen operators",
        )

    def inner(*args: object, **kwargs: object) -> ExportResult:
        module = f if isinstance(f, torch.nn.Module) else _Function(f)
        program = torch.export.export(
            module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=True
        )
        if not pre_dispatch or decomposition_table:
            composites = torch.export.default_decompositions().items()
            table = {op: f for op, f in composites if not pre_dispatch and op._can_decompose()}
            table.update(decomposition_table or {})
            program = program.run_decompositions(table)
        return ExportResult(program.module(check_guards=False), set())

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


_OPTIONS = {
    "specialize_float", "assume_static_by_default", "same_signature", "disable_constraint_solver",
    "prefer_deferred_runtime_asserts_over_guards", "_log_export_usage", "constraints",
}  # fmt: skip
