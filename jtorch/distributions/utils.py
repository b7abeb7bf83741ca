"""What all distributions share: broadcasting of parameters, probabilities and logits, lazy
attributes, triangles as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import jtorch as torch
from jtorch import Tensor
from jtorch.overrides import is_tensor_like
from jtorch.types import _Number

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


euler_constant: Final[float] = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape. Numbers get the dtype and device of the first
    tensor, or the default dtype.

    Raises:
        ValueError: for anything else.
    """
    tensors = [is_tensor_like(v) for v in values]
    if not all(known or isinstance(v, _Number) for known, v in zip(tensors, values, strict=True)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    if all(tensors):
        return torch.broadcast_tensors(*values)
    first = next((v for v in values if isinstance(v, Tensor)), None)
    like: Named = (
        {"dtype": torch.get_default_dtype()}
        if first is None
        else {"dtype": first.dtype, "device": first.device}
    )
    return torch.broadcast_tensors(
        *(v if known else torch.tensor(v, **like) for known, v in zip(tensors, values, strict=True))
    )


def _all_numbers(*values: object) -> bool:
    """Whether a distribution with these arguments has no batch: all are numbers."""
    return all(isinstance(v, _Number) for v in values)


def _batch_of(parameter: Tensor, *given: object) -> torch.Size:
    """The batch shape of a distribution whose parameters, broadcast, look like ``parameter``."""
    return torch.Size() if _all_numbers(*given) else parameter.size()


def _standard_normal(
    shape: Sequence[int], dtype: torch.dtype | None, device: torch.device | str | int | None
) -> Tensor:
    """Standard normal numbers."""
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1) if dim else value


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of log odds (``is_binary``), or along the last axis of log probabilities up
    to a constant."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities with 0 and 1 moved inside, by the machine epsilon of their dtype.

    Examples:
        >>> import jtorch as torch
        >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5, 1.0]))
        tensor([1.1921e-07, 5.0000e-01, 1.0000e+00])
    """
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (``is_binary``) or log probabilities, finite everywhere."""
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


T = TypeVar("T")
R = TypeVar("R")


class lazy_property(Generic[T, R]):
    """A method that is called when its name is first read as an attribute; afterwards its value is
    the attribute."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        self.wrapped: Callable[[T], R] = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(
        self, instance: None, obj_type: object = None
    ) -> _lazy_property_and_property[T, R]: ...

    @overload
    def __get__(self, instance: T, obj_type: object = None) -> R: ...

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        # whoever reads it first must not decide whether it has a gradient
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[T, R], property):
    """What a class shows for a lazy attribute: documentation tools take it for a property,
    validation for what it is."""

    def __init__(self, wrapped: Callable[[T], R]) -> None:
        property.__init__(self, wrapped)


def _below(n: int, diag: int, device: torch.device | int | str | None) -> Tensor:
    """Which elements of an n x n matrix are on the diagonal ``diag`` or below it."""
    along = torch.arange(n, device=device)
    return along < along.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices on and below a diagonal, row by row, as vectors.

    Raises:
        ValueError: if the matrix has no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with these elements on and below a diagonal, row by row, and zeros above it.

    Raises:
        ValueError: if no matrix has as many elements there.
    """
    size, twice = vec.shape[-1], 1 + 2 * diag
    # A matrix of n rows has n (n + 1) / 2 + diag n - |diag| (diag + 1) / 2 of them, which is solved
    # for n.
    n = (-twice + (twice**2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    rows = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + torch.Size((rows, rows)))
    mat[..., _below(rows, diag, vec.device)] = vec
    return mat
