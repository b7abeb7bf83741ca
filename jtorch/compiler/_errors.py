"""Errors of functions that are not to be compiled again; ``torch._dynamo.exc`` has them."""


class TorchDynamoException(RuntimeError):
    """Base of what PyTorch's compiler raises."""


class RecompileError(TorchDynamoException):
    """A call would need another program, and ``error_on_recompile`` is set."""


class FailOnRecompileLimitHit(Exception):
    """A call would need more programs than ``recompile_limit``, and ``fail_on_recompile_limit_hit``
    is set."""
