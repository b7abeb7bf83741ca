"""Exceptions of compiling."""

from __future__ import annotations

from jtorch.compiler import InvalidBackend, Unsupported


class TorchDynamoException(RuntimeError):
    """Base of what PyTorch's compiler raises."""


class BackendCompilerFailed(TorchDynamoException):
    """PyTorch's compiler failed; never raised here."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """Never raised here."""


class UserError(Unsupported):
    """The function cannot be compiled as it is written."""


__all__ = ["BackendCompilerFailed", "InvalidBackend", "TensorifyScalarRestartAnalysis", "TorchDynamoException", "Unsupported", "UserError"]
