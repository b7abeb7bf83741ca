"""Joining and splitting dimensions."""

from __future__ import annotations

from jtorch import Tensor

from ..._src.facts.size import Size
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions ``start_dim`` to ``end_dim`` into one.

    Args:
        start_dim: the first dimension that is flattened.
        end_dim: the last one.
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """``(N, *)`` -> ``(N, prod(*))`` by default."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension ``dim`` into ``unflattened_size``.

    Args:
        dim: the dimension that is divided: its number, or name.
        unflattened_size: the sizes that it is divided into.
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Size | list[int] | tuple[int, ...]) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, input: object) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}"
            )
        for idx, elem in enumerate(input):
            if not isinstance(elem, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(elem).__name__} at pos {idx}"
                )

    def forward(self, input: Tensor) -> Tensor:
        """``(*, S, *)`` -> ``(*, *unflattened_size, *)``."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
