"""Choosing by a condition, and comparisons whose answer is one Python bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Tensor
from ..bind.arguments import check_numbers
from ..bind.cores import composite, facts_of
from ..bind.everything import _C
from ..engine import SPECIAL, Lifted
from ..facts import dtypes
from ..facts.errors import must_be_tensor
from ..facts.warned_once import warn_once
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas
from ..ops._fitting import check_fits
from ..tensor.running import write_out


@composite(
    operands=("condition", "input", "other"),
    out_dtype="Expected out type to be {its} but got {mine}",
    implicit=("where.default", "where.Scalar", "where.ScalarOther", "where.ScalarSelf"),
    unsaid=("input", "other"),
)
@schemas(
    ".self(Tensor condition, Tensor self, Tensor other) -> Tensor ; =self_out",
    ".ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    ".ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    ".Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    "(Tensor condition) -> Tensor[]",
)
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """``input`` where ``condition`` holds, else ``other``; with a condition alone, the indices of
    its nonzero elements by dimension.

    Args:
        condition: a tensor of bools.
        input: what is taken where it holds: a tensor or a number.
        other: what is taken elsewhere; without both, the indices where ``condition`` holds are
            given.

    Shapes: that of all three, broadcast.

    Dtypes: the result type of ``input`` and ``other``, which may be numbers.

    Raises:
        RuntimeError: if ``condition`` is not a bool tensor.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([-1, 2, -3])
        >>> torch.where(x > 0, x, 0)
        tensor([0, 2, 0])
        >>> torch.where(x > 0)
        (tensor([1]),)
    """
    if input is None and other is None:
        if (
            (v := getattr(condition, "_v", None)) is not None
            and v.trace is SPECIAL
            and isinstance(v, Lifted)
        ):
            v.plain("aten::where")  # raises where a transformation does not know the values
        return condition.nonzero(as_tuple=True)
    if not isinstance(condition, Tensor):
        raise must_be_tensor("where", "condition", 1, condition)
    _check_numbers(input, other)
    if condition._aval.torch_dtype is dtypes.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
    result = _C._where(condition, input, other)
    return (
        result
        if out is None
        else write_out(result, out, "where", (condition, input, other), facts=facts_of(where))
    )


derivative(
    A.where.self,
    self=lambda g, condition: A.where.self(condition, g, D.zero_of(g)),
    other=lambda g, condition: A.where.self(condition, D.zero_of(g), g),
)


@composite(namespace="Tensor", name="where", operands=("self", "condition", "other"))
def where_method(self: Tensor, condition: Any, other: Any) -> Tensor:
    """Keeps elements where ``condition`` holds and takes those of ``other`` elsewhere.

    Shapes: that of all three, broadcast.

    Dtypes: the result type of the tensor and ``other``, which may be a number.

    Raises:
        RuntimeError: if ``condition`` is not a bool tensor, or the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([-1, 2, -3])
        >>> x.where(x > 0, 0)
        tensor([0, 2, 0])
    """
    if not isinstance(condition, Tensor):
        raise must_be_tensor("where", "condition", 1, condition)
    _check_numbers(self, other)
    return _C._where(condition, self, other)


def _entries(values: Sequence[object]) -> list[object]:
    """Dtype and rank of the tensors, as promotion wants them."""
    return [
        (t.dtype, dtypes.DIMENSIONED if t._aval.ndim else dtypes.ZERO_DIM)
        for t in values
        if isinstance(t, Tensor)
    ]


def _check_numbers(*values: object) -> None:
    """Refuses numbers that the dtype of the other operand cannot hold; fractions are made tensors
    of the default dtype first."""
    for value in values:
        if type(value) is int and not -128 <= value <= 127:
            tensors = [t for t in values if isinstance(t, Tensor)]
            # there it becomes infinite
            if not any(t.dtype.is_floating_point or t.dtype.is_complex for t in tensors):
                check_numbers(tensors, {"value": (value, "i")}, ("value",))
        elif type(value) is float and not -128 <= value <= 127:  # others fit every dtype
            found = dtypes.result_type_of(
                ((dtypes.of_number(value), dtypes.NUMBER), *_entries(values))
            )
            if found.itemsize > 2:  # a half becomes infinite
                check_fits(value, found.np)


@composite(method=True, operands=("input", "other"))
@schemas(".")
def equal(input: Tensor, other: Any) -> bool:
    """Whether two tensors have the same shape and equal elements. Reads the answer on the host.

    Args:
        input: one tensor.
        other: another.

    Shapes: two of any shape -> a Python bool.

    Dtypes: any two; their values are compared.

    Example:
        >>> import jtorch as torch
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
        True
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([[1, 2]]))
        False
    """
    if not isinstance(other, Tensor):
        raise must_be_tensor("equal", "other", 2, other)
    return input._aval.shape == other._aval.shape and _C._equal(input, other).item()


@composite(method=True, operands=("input", "other"))
@schemas(".")
def allclose(
    input: Tensor, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)`` holds of all elements. Reads the
    answer on the host.

    Args:
        input: one tensor.
        other: what it is compared with.
        rtol: how much may differ, relative to ``other``.
        atol: how much may differ beside that.
        equal_nan: whether NaN is close to NaN.

    Shapes: that broadcast -> a Python bool.

    Raises:
        RuntimeError: if the dtypes differ, or a tolerance is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.allclose(torch.tensor([1.0, 100.0]), torch.tensor([1.0, 100.0001]))
        True
    """
    return _C._allclose(input, other, rtol, atol, equal_nan).item()
