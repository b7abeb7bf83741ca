"""Models as graphs of ONNX's operators, which other programs run; and names of PyTorch's older
exporter, so that programs which use them may be imported."""

from __future__ import annotations

import contextlib
import enum
import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.onnx import state as _state
from jtorch._src.onnx.program import ONNXProgram as ONNXProgram
from jtorch.version import __version__

from . import errors as errors
from .errors import OnnxExporterError as OnnxExporterError

__all__ = [
    "errors", "ops", "export", "is_in_onnx_export", "OnnxExporterError", "ONNXProgram",
    "ExportableModule", "InputObserver",
]  # fmt: skip

ONNXProgram.__module__ = __name__
producer_name = "pytorch"
_WHY = (
    "torch.onnx.export translates what torch.export gives; functions that write TorchScript's "
    "are not asked"
)
_NO_REPORT = "ONNXProgram, torch.onnx.verification and verbose=True tell what was done"


def _refused(name: str) -> NotImplementedError:
    return not_offered(f"torch.onnx.{name}", _WHY)


def _refusing(module: str) -> Callable[[str], object]:
    """The ``__getattr__`` of a module of ``torch.onnx`` all of whose functions can be imported, and
    are refused when called."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.onnx.{module}' has no attribute '{name}'")

        def refused(*args: object, **kwargs: object) -> Any:
            raise _refused(f"{module}.{name}")

        return refused

    return __getattr__


class JitScalarType(enum.IntEnum):
    """Element types as TorchScript numbers them."""

    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT = 3
    INT64 = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11


class OperatorExportTypes(enum.IntEnum):
    """What becomes of operators that ONNX lacks."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """In which mode models are exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(enum.IntEnum):
    """Element types as ONNX numbers them."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    custom_translation_table: dict[Callable[..., Any], Callable[..., Any]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Writes a model as a graph of ONNX's operators, which other programs run.

    The model is called once, on tensors without data, by ``torch.export.export``; its operators are
    translated with the functions of ``onnxscript``, which must be installed, as must ``onnx``.
    Inputs have the names of ``forward``'s parameters, parameters and buffers those of the
    ``state_dict``. It is exported in the mode that it is in, with a warning in training mode, in
    which batch normalisation takes its running statistics all the same, as PyTorch's exporter has
    it. What buffers would become is left out.

    Args:
        model: a module, or a program that ``torch.export.export`` gave.
        args: its example arguments; a dict at the end is the keyword arguments.
        f: the file to write, by its path, or a file that is open; it is there when it is whole.
        kwargs: example keyword arguments.
        verbose: whether the steps are told.
        input_names: names of the graph's inputs, in order.
        output_names: names of its results.
        opset_version: the version of ONNX's operators, 20 if not given.
        dynamo: False for the interface of PyTorch's older exporter, which gives None, exports in
            the mode of evaluation, and takes ``dynamic_axes`` exactly. The model is traced
            in the same way as otherwise: what only the older exporter does, keeping the choices
            that values make in the example, is refused.
        external_data: whether parameters are in a file beside ``f``.
        dynamic_shapes: the sizes that vary, as for ``torch.export.export``; texts are sizes that
            must vary, with the names that they have in the graph.
        custom_translation_table: functions that write operators with those of ``onnxscript``, by
            overload.
        report: not offered.
        optimize: whether constants are computed and operators joined.
        verify: whether the result is compared with the model by ``onnxruntime``; a warning tells
            what differs.
        profile: not offered.
        dump_exported_program: whether the program is saved in ``artifacts_dir``.
        artifacts_dir: the folder for that.
        export_params: whether the file has the parameters.
        keep_initializers_as_inputs: whether they are inputs as well.
        dynamic_axes: the sizes that vary, by names of inputs; ``dynamic_shapes`` comes first.
        training: with ``dynamo=False``, the mode to export in: that of evaluation.
        operator_export_type: only ``ONNX``.
        do_constant_folding: with ``dynamo=False``, as ``optimize``.
        custom_opsets: not offered.
        export_modules_as_functions: not offered.
        autograd_inlining: says nothing here.

    Returns:
        The model as an ``ONNXProgram``; None with ``dynamo=False``.

    Raises:
        OnnxExporterError: if ``torch.export.export`` refuses the model, or for an operator without
            translation, which is named.
        ModuleNotFoundError: where ``onnx`` or ``onnxscript`` is missing.
        ValueError: for names that are not distinct.
    """
    if report or profile:
        raise not_offered(
            f"torch.onnx.export({'report' if report else 'profile'}=True)", _NO_REPORT
        )
    if isinstance(args, torch.Tensor):
        args = (args,)
    exporting = importlib.import_module("jtorch._src.onnx.exporting")
    given: dict[str, Any] = {
        "kwargs": kwargs,
        "input_names": input_names or (),
        "output_names": output_names or (),
        "opset_version": opset_version,
        "dynamic_axes": dynamic_axes,
        "export_params": export_params,
        "keep_initializers_as_inputs": keep_initializers_as_inputs,
        "verbose": verbose is True,
    }
    if dynamo or isinstance(model, torch.export.ExportedProgram):
        return exporting.exported(
            model, args, f, **given,
            dynamic_shapes=dynamic_shapes, custom_translation_table=custom_translation_table,
            external_data=external_data, optimize=optimize, verify=verify,
            saved_in=artifacts_dir if dump_exported_program else None,
        )  # fmt: skip
    if operator_export_type is not OperatorExportTypes.ONNX:
        raise not_offered("torch.onnx.export(operator_export_type=...)", "only ONNX is offered")
    if training is not TrainingMode.EVAL and (
        training is TrainingMode.TRAINING or getattr(model, "training", False)
    ):
        raise not_offered(
            "torch.onnx.export(training=...)", "batch normalisation would not be that of training"
        )
    for name, asked in (
        ("custom_opsets", custom_opsets),
        ("export_modules_as_functions", export_modules_as_functions),
    ):
        if asked:
            raise not_offered(f"torch.onnx.export({name}=...)", "modules become operators")
    if dynamic_shapes:
        raise ValueError(
            "The exporter only supports dynamic shapes through parameter dynamic_axes when "
            "dynamo=False."
        )
    if f is None:
        raise TypeError("torch.onnx.export(dynamo=False) needs the file that it is to write")
    warnings.warn(
        "You are using the legacy TorchScript-based ONNX export. Starting in PyTorch 2.9, the new "
        "torch.export-based ONNX exporter has become the default; jtorch has that one for both.",
        DeprecationWarning,
        stacklevel=2,
    )
    with select_model_mode_for_export(model, training):
        exporting.exported_as_before(model, args, f, **given, optimize=do_constant_folding)
    return None


def is_in_onnx_export() -> bool:
    """Whether a model is being exported, by this thread."""
    return _state.is_exporting()


class _Refused:
    """A class that cannot be instantiated."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise _refused(type(self).__name__)


class ExportableModule(_Refused):
    """Not offered."""


class InputObserver(_Refused):
    """Not offered."""


#: Functions that programs registered, by operator and version: they would be called by an export.
_registered: dict[tuple[str, int], Callable[..., object]] = {}


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., object], opset_version: int
) -> None:
    """Notes how a program would export an operator. No export ever asks for it."""
    _registered[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets what was registered."""
    _registered.pop((symbolic_name, opset_version), None)


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """A block in which a model is in training or evaluation mode, as ``mode`` says."""
    before = model.training
    if mode is not TrainingMode.PRESERVE:
        model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        model.train(before)


def __getattr__(name: str) -> Any:
    if name == "producer_version":
        return __version__
    if name in ("ops", "symbolic_helper", "utils") or name.startswith("symbolic_opset"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    return importlib.import_module("jtorch._src.refusals.stand_ins").find(__name__, name)
