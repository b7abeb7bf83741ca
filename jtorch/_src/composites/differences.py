"""Numerical derivatives of sampled functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import T
from ..facts import dtypes
from ..facts.errors import canonical_dim
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Operand


def _part(t: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """What lies between two places, which are counted from the end if they are negative, or end
    there if that is 0."""
    n = t.shape[dim]
    a, b = (n + start if start < 0 else start), (n + stop if stop <= 0 else stop)
    return t.narrow(dim, a, b - a)


def _even(t: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Central differences over points at one distance, one-sided ones at the ends."""
    inner = (_part(t, dim, 2, 0) - _part(t, dim, 0, -2)) / step / 2
    if edge_order == 1:
        first = (_part(t, dim, 1, 2) - _part(t, dim, 0, 1)) / step
        last = (_part(t, dim, -1, 0) - _part(t, dim, -2, -1)) / step
    else:
        first = (
            -1.5 * _part(t, dim, 0, 1) + 2 * _part(t, dim, 1, 2) - 0.5 * _part(t, dim, 2, 3)
        ) / step
        last = (
            0.5 * _part(t, dim, -3, -2) - 2 * _part(t, dim, -2, -1) + 1.5 * _part(t, dim, -1, 0)
        ) / step
    return T.cat([first, inner, last], dim)


def _along(values: Tensor, dim: int, ndim: int) -> Tensor:
    """A vector laid along a dimension."""
    return values.reshape(tuple(-1 if i == dim else 1 for i in range(ndim)))


def _uneven(t: Tensor, dim: int, points: Tensor, edge_order: int) -> object:
    """Derivatives of the parabolas through three neighbours, over points anywhere; at the ends of a
    line with ``edge_order`` 1."""
    steps = points.diff()
    left, right = _along(steps[:-1], dim, t.dim()), _along(steps[1:], dim, t.dim())
    both = left + right
    inner = (
        -right / (left * both) * _part(t, dim, 0, -2)
        + (right - left) / (left * right) * _part(t, dim, 1, -1)
        + left / (right * both) * _part(t, dim, 2, 0)
    )
    if edge_order == 1:
        first = (_part(t, dim, 1, 2) - _part(t, dim, 0, 1)) / steps[0]
        last = (_part(t, dim, -1, 0) - _part(t, dim, -2, -1)) / steps[-1]
    else:
        a, b = steps[0], steps[1]
        first = (
            -(2 * a + b) / (a * (a + b)) * _part(t, dim, 0, 1)
            + (a + b) / (a * b) * _part(t, dim, 1, 2)
            - a / (b * (a + b)) * _part(t, dim, 2, 3)
        )
        a, b = steps[-2], steps[-1]
        last = (
            b / (a * (a + b)) * _part(t, dim, -3, -2)
            - (a + b) / (a * b) * _part(t, dim, -2, -1)
            + (a + 2 * b) / (b * (a + b)) * _part(t, dim, -1, 0)
        )
    return T.cat([first, inner, last], dim)


def _dims(input: Tensor, dim: Any) -> list[int]:
    if dim is None:
        return list(range(input.dim()))
    found: list[int] = []
    for d in [dim] if isinstance(dim, int) else dim:
        d = canonical_dim(d, input.dim())
        if d in found:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        found.append(d)
    return found


def _spacings(input: Tensor, spacing: object, dim: object, dims: Sequence[int]) -> list[Operand]:
    """A distance, or a vector of places, for each dimension."""
    if spacing is None or isinstance(spacing, (bool, int, float, complex)):
        return [1 if spacing is None else spacing] * len(dims)
    if isinstance(spacing, Tensor) or not isinstance(spacing, (list, tuple)):
        raise TypeError(
            "gradient() received an invalid combination of arguments - got (Tensor, "
            f"spacing={type(spacing).__name__})"
        )
    if len(spacing) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                f"equal to 'self.dim() = {input.dim()}', since dim argument was not given, but got "
                f"a list of length {len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            "arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(dims)}."
        )
    for s in spacing:
        if isinstance(s, Tensor) and s.dim() != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an "
                f"element with {s.dim()} dimensions!"
            )
    return list(spacing)


@composite(operands=("input",), lists=("spacing",), dispatched="in parts")
@schemas(
    ".scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
    ".scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]",
    ".array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
    ".scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]",
    ".scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
    ".tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> "
    "Tensor[]",
    ".tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
)
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: int | tuple[int, ...] | None = None,
    edge_order: int = 1,
) -> Any:
    """Estimates of the partial derivatives of a function sampled on a grid: central differences, to
    second order inside.

    ``spacing`` is the distance of the points, one for each of the dimensions ``dim`` (all by
    default), or vectors of their places; ``edge_order`` is the order (1 or 2) of the one-sided
    estimates at the ends.

    Shapes: input (*A) -> one tensor (*A) for each dimension.

    Dtypes: integers give the default dtype.

    Raises:
        RuntimeError: for uint8, another ``edge_order``, a dimension shorter than
            ``edge_order + 1``, or spacings that do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.gradient(torch.tensor([0.0, 1.0, 4.0, 9.0]))
        (tensor([1., 2., 4., 5.]),)
    """
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    dims = _dims(input, dim)
    steps = _spacings(input, spacing, dim, dims)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(
        [
            (_uneven if isinstance(s, Tensor) else _even)(input, d, s, edge_order)
            for d, s in zip(dims, steps, strict=True)
        ]
    )
