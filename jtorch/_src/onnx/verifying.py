"""Whether a model of ONNX gives what the program gives that it was made from."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.utils import _pytree as pytree

if TYPE_CHECKING:
    from .program import ONNXProgram

_EDGES = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 1e6]


@dataclasses.dataclass
class VerificationInfo:
    """How far a value of a model is from what it should be.

    Attributes:
        name: the value's name.
        max_abs_diff: the largest difference.
        max_rel_diff: the largest one for its size.
        abs_diff_hist: how many elements differ by how much: counts, and edges.
        rel_diff_hist: the same for their sizes.
        expected_dtype: the dtype that it should have.
        actual_dtype: the dtype that it has.
    """

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple[torch.Tensor, torch.Tensor]
    rel_diff_hist: tuple[torch.Tensor, torch.Tensor]
    expected_dtype: torch.dtype
    actual_dtype: torch.dtype

    @classmethod
    def from_tensors(cls, name: str, expected: Any, actual: Any) -> VerificationInfo:
        """Of a value, and what it should be."""
        expected, actual = torch.as_tensor(expected), torch.as_tensor(actual)
        if expected.dtype.is_complex:
            expected = torch.view_as_real(expected)
        first, second = expected.to(torch.float64), actual.to(torch.float64)
        apart = torch.where(first == second, 0.0, (first - second).abs()).flatten()
        apart = torch.where(first.isnan() & second.isnan(), 0.0, apart.reshape(first.shape))
        relative = apart / (first.abs() + 1e-7)
        return cls(
            name, _largest(apart), _largest(relative), _histogram(apart), _histogram(relative),
            expected.dtype, actual.dtype,
        )  # fmt: skip


def _largest(x: torch.Tensor) -> float:
    return x.max().item() if x.numel() else 0.0


def _histogram(x: torch.Tensor) -> Any:
    return torch.histogram(x.flatten().float(), torch.tensor(_EDGES))


def results_of(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors that a program gives; what it writes goes into copies of its buffers."""
    with torch.no_grad():
        found = pytree.tree_leaves(copy.deepcopy(program).module()(*args, **kwargs))
    return [x for x in found if x is not None]


def verify(
    onnx_program: ONNXProgram,
    args: tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
) -> list[VerificationInfo]:
    """Runs a model and its program on the same arguments, those of the example if none are given.

    Raises:
        ValueError: if it is not known from which program the model was made.
    """
    program = onnx_program.exported_program
    if program is None:
        raise ValueError(
            "The ONNX program does not contain an exported_program. Please provide an "
            "exported_program to verify the ONNX program."
        )
    if args is None and kwargs is None:
        args, kwargs = program.example_inputs
    args, kwargs = args or (), kwargs or {}
    expected = results_of(program, args, kwargs)
    actual = onnx_program(*args, **kwargs)
    return [
        VerificationInfo.from_tensors(str(value.name), first, second)
        for value, first, second in zip(
            onnx_program.model.graph.outputs, expected, actual, strict=True
        )
    ]


def verified(onnx_program: ONNXProgram) -> None:
    """Warns where the model's results are not those of its program."""
    for info in verify(onnx_program):
        if info.max_abs_diff > 1e-3 and info.max_rel_diff > 1e-2:
            warnings.warn(
                f"result '{info.name}' of the ONNX model differs from the program's by up to "
                f"{info.max_abs_diff}",
                stacklevel=4,
            )
