"""Operations as modules, with a place for an observer, and dropout that drops nothing; quantised
layers are left out."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.refusals.names import names

_FORWARD = (
    "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
)


class FXFloatFunctional(nn.Module):
    """Operations as methods of a module, whose results nobody looks at: what ``torch.fx``
    replaces."""

    def _observed(self, value: object) -> object:
        return value

    def forward(self, x: Any) -> Any:
        """Is not meant to be called.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(_FORWARD)

    def add(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.add(x, y)``."""
        return self._observed(torch.add(x, y))

    def add_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """``torch.add(x, y)`` with a number, not observed."""
        return torch.add(x, y)

    def mul(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.mul(x, y)``."""
        return self._observed(torch.mul(x, y))

    def mul_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """``torch.mul(x, y)`` with a number, not observed."""
        return torch.mul(x, y)

    def cat(self, x: list[torch.Tensor], dim: int = 0) -> Any:
        """``torch.cat(x, dim)``."""
        return self._observed(torch.cat(x, dim=dim))

    def add_relu(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.relu(torch.add(x, y))``."""
        return self._observed(torch.relu(torch.add(x, y)))

    def matmul(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.matmul(x, y)``."""
        return self._observed(torch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operations as methods of a module, so that their results can be observed: they pass through
    ``activation_post_process``.

    Examples:
        >>> import jtorch as torch
        >>> f = torch.ao.nn.quantized.FloatFunctional()
        >>> f.add_relu(torch.tensor([-2.0, 2.0]), torch.ones(2))
        tensor([0., 3.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _observed(self, value: object) -> object:
        return self.activation_post_process(value)


class Dropout(nn.Dropout):
    """Dropout in a quantised model, which is never trained: gives its input."""

    def forward(self, input: Any) -> Any:
        """The input."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"


class MaxPool2d(nn.MaxPool2d):
    """Largest elements of windows, which need no other scale than their input's."""

    def _get_name(self) -> str:
        return "QuantizedMaxPool2d"


__all__ = [*names()["ao.nn.quantized"], "Dropout", "FXFloatFunctional", "FloatFunctional"]  # noqa: PLE0604  # pyright: ignore
__getattr__ = _refusals.missing(__name__)
