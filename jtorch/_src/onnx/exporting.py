"""The steps of an export: a program of the model, its operators taken apart where ONNX needs it,
translated, optimised, and written."""

# pyright: reportMissingImports=false

from __future__ import annotations

import datetime
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered

from . import passes, shapes
from .failures import ConversionError, TorchExportError, explained
from .parts import PARTS, by_formula
from .program import ONNXProgram
from .state import exporting
from .translating import is_kept, translated, untranslated
from .verifying import verified

logger = logging.getLogger(__name__)
_DEFAULT = 20
_FIRST = "Failed to export the model with torch.export. This is step 1/3 of exporting the model."
_SECOND = "Failed to decompose the graph. This is step 2/3 of exporting the model to ONNX."
_THIRD = (
    "Failed to convert the exported program to an ONNX model. This is step 3/3 of exporting the "
    "model to ONNX. custom_translation_table takes functions for operators without one."
)


def exported(
    model: Any,
    args: Any,
    f: Any,
    *,
    kwargs: dict[str, Any] | None,
    input_names: Sequence[str],
    output_names: Sequence[str],
    opset_version: int | None,
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    custom_translation_table: Mapping[Any, Any] | None,
    external_data: bool,
    export_params: bool,
    keep_initializers_as_inputs: bool,
    optimize: bool,
    verify: bool,
    verbose: bool,
    saved_in: Any = None,
    exact: bool = False,
) -> ONNXProgram:
    """``torch.onnx.export``.

    Args:
        saved_in: the folder in which the program is saved; None for nowhere.
        exact: whether the version and the names of sizes must be those that are asked for.
    """

    def say(step: str) -> None:
        if verbose:
            sys.stdout.write(f"[torch.onnx] {step}\n")

    importlib.import_module("onnx")  # what is missing is named in this order
    names = list(input_names)
    if len(set(names)) < len(names):
        again = [n for n in dict.fromkeys(names) if names.count(n) > 1]
        raise ValueError(f"Input names cannot be duplicated: {again}")
    own = _table(custom_translation_table)
    if getattr(model, "training", False) and not exact:
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, "
            "as it may lead to different behavior during inference. Calling model.eval() before "
            "export is recommended.",
            UserWarning,
            stacklevel=3,
        )
    if dynamic_axes and dynamic_shapes is None and not exact:
        warnings.warn(
            "# 'dynamic_axes' is not recommended when dynamo=True, and may lead to "
            "'torch._dynamo.exc.UserError: Constraints violated.' Supply the 'dynamic_shapes' "
            "argument instead if export is unsuccessful.",
            UserWarning,
            stacklevel=3,
        )
    with exporting():
        say("Obtain model graph with `torch.export.export`...")
        program, sizes = _program(model, args, kwargs, names, dynamic_shapes, dynamic_axes, exact)
        if saved_in is not None:
            os.makedirs(saved_in, exist_ok=True)
            torch.export.save(program, os.path.join(saved_in, _saved_name()))
        say("Run decompositions...")
        try:
            whole = _taken_apart(program, own)
        except Exception as error:
            raise ConversionError(explained(_SECOND, error)) from error
        say("Translate the graph into ONNX...")
        try:
            made = translated(whole, own)
            passes.tidied(made)
        except Exception as error:
            raise ConversionError(explained(_THIRD, error)) from error
    if optimize:
        say("Optimize the ONNX graph...")
        passes.optimized(made)
    made = _converted(made, _DEFAULT if opset_version is None else opset_version, exact)
    if optimize:
        passes.joined(made)  # into operators that newer versions have
    _name(made, names, list(output_names))
    shapes.rename(made, sizes)
    if exact and dynamic_axes:
        shapes.state_axes(made, dynamic_axes)
    result = ONNXProgram(made, whole)
    if verify:
        verified(result)
    if f is not None:
        _write(result, f, external_data, export_params, keep_initializers_as_inputs)
    return result


def exported_as_before(model: Any, args: Any, f: Any, **given: Any) -> None:
    """``torch.onnx.export(dynamo=False)``: the names of sizes are exactly those that are asked for,
    parameters are in the file."""
    exported(
        model, args, f, **given, dynamic_shapes=None, custom_translation_table=None,
        external_data=False, verify=False, exact=True,
    )  # fmt: skip


def _saved_name() -> str:
    return f"onnx_export_{datetime.datetime.now():%Y-%m-%d_%H-%M-%S-%f}.pt2"


def _taken_apart(program: Any, own: Mapping[Any, Any]) -> Any:
    """The program in operators that can be translated, where that is known."""
    table = {
        op: parts
        for op, parts in {**torch.export.default_decompositions(), **PARTS}.items()
        if not is_kept(op, own)
    }
    while True:
        whole = program.run_decompositions(table)
        left = {op for op in untranslated(whole, own) if op not in table}
        if not left:
            return whole
        table.update({op: by_formula(op) for op in left})


def _table(given: Mapping[Any, Any] | None) -> dict[Any, Callable[..., Any]]:
    found = {}
    for target, function in (given or {}).items():
        if not callable(target):
            raise TypeError(f"custom_translation_table has operators as its keys, not {target!r}")
        if isinstance(function, (list, tuple)):
            if len(function) != 1:
                raise not_offered(
                    "torch.onnx.export(custom_translation_table=...)",
                    "one function for an operator",
                )
            (function,) = function
        found[target] = function
    return found


def _program(
    model: Any,
    args: Any,
    kwargs: dict[str, Any] | None,
    names: list[str],
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    exact: bool,
) -> tuple[Any, dict[str, str]]:
    """The program of a model, and what its symbols are to be called."""
    if isinstance(model, torch.export.ExportedProgram):
        return model, {}
    try:
        if isinstance(args, tuple) and args and isinstance(args[-1], dict) and not kwargs:
            args, kwargs = args[:-1], args[-1]  # as the older exporter takes them
        kwargs = dict(kwargs or {})
        if not isinstance(args, tuple) or not isinstance(model, torch.nn.Module):
            return torch.export.export(model, args, kwargs), {}  # which says what is wrong
        if dynamic_shapes is None and dynamic_axes:
            dynamic_shapes = shapes.by_axes(dynamic_axes, names, model.forward, args, kwargs)
        program = torch.export.export(
            model,
            *shapes.enlarged(model.forward, args, kwargs, dynamic_shapes),
            dynamic_shapes=shapes.dimensions(dynamic_shapes),
        )
        program._example_inputs = (args, kwargs)
        program.flat_inputs(args, kwargs)  # that it holds for the example
        if exact:  # sizes are called as dynamic_axes says
            return program, {}
        return program, shapes.asked_names(program, model.forward, args, kwargs, dynamic_shapes)
    except Exception as error:
        raise TorchExportError(explained(_FIRST, error)) from error


def _converted(model: Any, version: int, exact: bool) -> Any:
    if version != passes.version_of(model):
        model = passes.converted(model, version)
    got = passes.version_of(model)
    if got != version:
        if exact:
            raise not_offered(
                f"torch.onnx.export(opset_version={version})",
                f"onnxscript cannot write this model in another version than {got}",
            )
        logger.warning(
            "The model version conversion is not supported by the onnxscript version converter "
            "and is skipped. Failed to convert the model to the target version %s; it has %s",
            version, got,
        )  # fmt: skip
    return model


def _name(model: Any, input_names: list[str], output_names: list[str]) -> None:
    """Gives inputs and results the names that were asked for."""
    graph = model.graph
    for values, names in (
        (list(graph.inputs), input_names),
        (list(graph.outputs), output_names),
    ):
        for value, name in zip(values, names, strict=False):
            taken = _by_name(graph).get(name)
            if taken is not None and taken is not value:
                taken.name = _free(graph, name)
            value.name = name


def _by_name(graph: Any) -> dict[str, Any]:
    found = {v.name: v for node in graph for v in node.outputs}
    return found | {v.name: v for v in (*graph.inputs, *graph.initializers.values())}


def _free(graph: Any, name: str) -> str:
    taken, count = _by_name(graph), 1
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"


def _write(
    program: ONNXProgram, f: Any, external_data: bool, params: bool, as_inputs: bool
) -> None:
    if hasattr(f, "write"):
        warnings.warn(
            "Saving ONNX model to a BytesIO object is deprecated. Please use a file path instead.",
            DeprecationWarning,
            stacklevel=5,
        )
        external_data = False
    else:
        f = os.fspath(f)
    program.save(
        f,
        include_initializers=params,
        keep_initializers_as_inputs=as_inputs,
        external_data=external_data,
    )
