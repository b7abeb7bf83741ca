"""For tests of exported models."""

from __future__ import annotations

from typing import Any, Literal

import jtorch as torch
from jtorch._src.onnx.program import ONNXProgram
from jtorch._src.onnx.verifying import results_of

__all__ = ["assert_onnx_program"]


def assert_onnx_program(
    program: ONNXProgram,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    strategy: str | None = "TorchExportNonStrictStrategy",
    backend: Literal["onnxruntime", "reference"] = "onnxruntime",
) -> None:
    """Asserts that a model gives what the program gives that it was made from, on the example's
    arguments if none are given.

    Raises:
        AssertionError: where the results are not close.
        ValueError: if it is not known from which program the model was made.
    """
    del strategy  # models are traced in one way
    source = program.exported_program
    if source is None:
        raise ValueError(
            "The ONNX program does not contain an exported_program. Please provide an "
            "exported_program to verify the ONNX program."
        )
    if args is None and kwargs is None:
        args, kwargs = source.example_inputs
    args, kwargs = args or (), kwargs or {}
    run = program if backend == "onnxruntime" else program.call_reference
    wanted = tuple(map(torch.as_tensor, results_of(source, args, kwargs)))
    torch.testing.assert_close(tuple(run(*args, **kwargs)), wanted, rtol=rtol, atol=atol)
