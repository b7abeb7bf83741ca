"""Whether an exported model gives what its program gives."""

from __future__ import annotations

from typing import Any

from jtorch._src.facts.errors import not_offered
from jtorch._src.onnx.program import ONNXProgram
from jtorch._src.onnx.verifying import VerificationInfo as VerificationInfo
from jtorch._src.onnx.verifying import verify

__all__ = ["VerificationInfo", "verify_onnx_program"]
VerificationInfo.__module__ = __name__


def verify_onnx_program(
    onnx_program: ONNXProgram,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    compare_intermediates: bool = False,
) -> list[VerificationInfo]:
    """Runs a model with ``onnxruntime``, and its program here, on the same arguments: those of the
    example if none are given. Tells for each result how far apart they are.

    Raises:
        ValueError: if it is not known from which program the model was made.
        NotImplementedError: for ``compare_intermediates``.
    """
    if compare_intermediates:
        raise not_offered(
            "torch.onnx.verification.verify_onnx_program(compare_intermediates=True)",
            "ONNXProgram.compute_values gives values inside a model",
        )
    return verify(onnx_program, args, kwargs)
