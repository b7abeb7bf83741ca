"""What an export raises, with the cause that each has."""

from __future__ import annotations

from jtorch.onnx.errors import OnnxExporterError


class TorchExportError(OnnxExporterError):
    """``torch.export`` gives no program of the model."""


class ConversionError(OnnxExporterError):
    """A program cannot be written in ONNX."""


class DispatchError(ConversionError):
    """There is no translation of an operator."""


class GraphConstructionError(ConversionError):
    """A translation of an operator fails."""


def explained(step: str, error: BaseException) -> str:
    """The words of an error that others caused, which are told too."""
    found, at = [], error
    while at is not None:
        found.append(f"{type(at)}: {at}")
        at = at.__cause__
    return f"{step}\n\n## Exception summary\n\n" + "\n⬆️\n".join(reversed(found))
