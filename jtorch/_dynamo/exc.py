"""Exceptions of compiling."""

from __future__ import annotations

from jtorch.compiler import InvalidBackend, Unsupported
from jtorch.compiler._errors import FailOnRecompileLimitHit, RecompileError, TorchDynamoException


class ShortenTraceback(TorchDynamoException):
    """Base of what is shown without the compiler's frames; never raised here."""


class BackendCompilerFailed(ShortenTraceback):
    """A function that was given as backend failed."""

    def __init__(self, backend: object, inner: Exception) -> None:
        self.backend_name = getattr(backend, "__name__", "?")
        self.inner_exception = inner
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner).__name__}: {inner}")


class TorchRuntimeError(TorchDynamoException):
    """A call failed while PyTorch's compiler traced it; never raised here."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of PyTorch's compiler; never raised here."""


class RestartAnalysis(TorchDynamoException):
    """Never raised here."""


class SkipFrame(TorchDynamoException):
    """Never raised here."""


class ResetRequired(TorchDynamoException):
    """Never raised here."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """Never raised here."""


class UncapturedHigherOrderOpError(Unsupported):
    """A function that was given to ``torch.cond`` or a loop cannot be a graph of its own."""


class UserError(Unsupported):
    """The function cannot be compiled as it is written."""


__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError",
    "InvalidBackend", "RecompileError", "ResetRequired", "RestartAnalysis", "ShortenTraceback",
    "SkipFrame", "TensorifyScalarRestartAnalysis", "TorchDynamoException", "TorchRuntimeError",
    "UncapturedHigherOrderOpError", "Unsupported", "UserError",
]  # fmt: skip
