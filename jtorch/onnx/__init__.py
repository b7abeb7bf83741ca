"""Names of ``torch.onnx``, so that programs which can export may be imported. Exporting is not
offered: using them says so."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._src.facts.errors import not_offered
from jtorch.version import __version__

from . import errors as errors
from .errors import OnnxExporterError as OnnxExporterError

__all__ = [
    "errors", "ops", "export", "is_in_onnx_export", "OnnxExporterError", "ONNXProgram",
    "ExportableModule", "InputObserver",
]  # fmt: skip

producer_name = "pytorch"
_WHY = (
    "jtorch has no exporter to ONNX; give the function of torch.jax.functionalize to jax2onnx, or "
    "use torch.export.stablehlo"
)


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


def export(*args: object, **kwargs: object) -> ONNXProgram | None:
    """Not offered."""
    raise _refused("export")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


class _Refused:
    """A class that cannot be instantiated."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise _refused(type(self).__name__)


class ONNXProgram(_Refused):
    """What an export would give. Not offered."""


class ExportableModule(_Refused):
    """Not offered."""


class InputObserver(_Refused):
    """Not offered."""


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
    import importlib

    if name == "producer_version":
        return __version__
    if name in ("ops", "symbolic_helper", "utils") or name.startswith("symbolic_opset"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    return importlib.import_module("jtorch._src.refusals.stand_ins").find(__name__, name)
