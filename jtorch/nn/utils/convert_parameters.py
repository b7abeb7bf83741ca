"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import jtorch as torch
from jtorch import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened, in one vector. Differentiable.

    Raises:
        TypeError: if they are on different devices.
    """
    found = list(parameters)
    _check_devices(found)
    return torch.cat([param.view(-1) for param in found])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Sets the data of the parameters to the slices of ``vec``."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    found = list(parameters)
    _check_devices(found)
    start = 0
    for param in found:
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end


def _check_devices(parameters: list[Tensor]) -> None:
    if len({str(param.device) for param in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
