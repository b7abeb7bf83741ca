"""What is done to a whole model: functions taken in, constants computed, versions changed."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import onnx
import onnx.checker
import onnx_ir as ir
import onnx_ir.passes.common as passes
import onnxscript.optimizer
import onnxscript.rewriter.onnx_fusions
import onnxscript.version_converter


def tidied(model: Any) -> None:
    """Puts functions in the place of their calls, and leaves out what nothing needs."""
    if model.functions:
        passes.InlinePass()(model)
    passes.OutputFixPass()(model)
    passes.RemoveUnusedNodesPass()(model)
    passes.RemoveUnusedFunctionsPass()(model)
    passes.RemoveUnusedOpsetsPass()(model)
    passes.NameFixPass()(model)
    model.graph.sort()


def optimized(model: Any) -> None:
    """Computes what is constant, and joins operators."""
    onnxscript.optimizer.optimize_ir(model)
    joined(model)


def joined(model: Any) -> None:
    """Joins operators into those that the model's version of ONNX's has."""
    onnxscript.rewriter.onnx_fusions.fuse(model)


def converted(model: Any, version: int) -> Any:
    """The model in another version of ONNX's operators; the same one where that cannot be done."""
    if version > version_of(model):
        onnxscript.version_converter.convert_version(model, version, fallback=True)
        return model
    made = model.clone()  # the converter to older versions may leave a model that is none
    onnxscript.version_converter.convert_version(made, version, fallback=True)
    try:
        onnx.checker.check_model(ir.serde.serialize_model(made), full_check=True)
    except Exception:
        return model
    return made


def version_of(model: Any) -> int:
    """The version of ONNX's operators that a model is written in."""
    return model.graph.opset_imports.get("", 0)
