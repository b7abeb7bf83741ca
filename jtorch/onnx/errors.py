"""Errors of exporting."""

from __future__ import annotations

__all__ = [
    "OnnxExporterError",
    "OnnxExporterWarning",
    "SymbolicValueError",
    "UnsupportedOperatorError",
]


class OnnxExporterWarning(UserWarning):
    """Warnings of the exporter."""


class OnnxExporterError(RuntimeError):
    """Errors of the exporter."""


class UnsupportedOperatorError(OnnxExporterError):
    """ONNX has no such operator."""


class SymbolicValueError(OnnxExporterError):
    """A value of an exported graph is not what a function expects."""
