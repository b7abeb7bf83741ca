"""Functions that keep shapes in an exported graph; run as they are otherwise."""

from __future__ import annotations

from typing import Any

import jtorch as torch


def shape_as_tensor(x: object) -> torch.Tensor:
    """The sizes as a tensor."""
    return torch._shape_as_tensor(x)


def reshape_from_tensor_shape(x: Any, shape: Any) -> torch.Tensor:
    """``x`` with the sizes that a tensor holds."""
    return x.reshape(shape.tolist())
