"""Public entrances of resizing and sampling that only translate arguments, and the deprecated
spellings of ``interpolate``."""

from __future__ import annotations

import warnings
from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import T, functional
from ..facts.warned_once import outside
from ..ops._sizes import surely

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def _aligned(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
            f"documentation of {name} for details.",
            UserWarning,
            stacklevel=outside(),
        )
        return False
    return align_corners


@composite(
    namespace="nn.functional", operands=("input", "grid"), native=False, autocast="cuda widest"
)
def grid_sample(
    input: Tensor,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Samples ``input`` at the places that ``grid`` names by coordinates in [-1, 1], x first; see
    ``torch.grid_sampler``.

    Shapes: input (N, C, H, W), grid (N, H', W', 2) -> (N, C, H', W'); with one dimension more for
    volumes.

    Raises:
        ValueError: for an unknown ``mode`` or ``padding_mode``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> torch.nn.functional.grid_sample(
        ...     x, torch.tensor([[[[-1.0, -1.0], [0.0, 0.0]]]]), align_corners=True
        ... )
        tensor([[[[1.0000, 2.5000]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    return T.grid_sampler(
        input, grid, _MODES[mode], _PADDINGS[padding_mode], _aligned("grid_sample", align_corners)
    )


@composite(namespace="nn.functional", operands=("theta",), native=False)
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid, for ``grid_sample``, of the affine maps ``theta`` applied to the places of an
    output of ``size``.

    Shapes: theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); theta (N, 3, 4), size (N, C, D, H,
    W) -> (N, D, H, W, 3).

    Raises:
        ValueError: if ``theta`` is of another shape or no floating-point type, or ``size`` not
            positive.

    Example:
        >>> import jtorch as torch
        >>> shift = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
        >>> torch.nn.functional.affine_grid(shift, (1, 1, 2, 2), align_corners=True)
        tensor([[[[-0.5000, -1.0000],
                  [ 1.5000, -1.0000]],
        <BLANKLINE>
                 [[-0.5000,  1.0000],
                  [ 1.5000,  1.0000]]]])
    """
    align = _aligned("grid_sample", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if any(surely(lambda s=s: s <= 0) for s in size):
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align and 1 in tuple(size[2:]):
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=outside(),
        )
    return T.affine_grid_generator(theta, tuple(size), align)


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        UserWarning,
        stacklevel=outside(),
    )


@composite(
    namespace="nn.functional", operands=("input",), native=False, asks="nobody", ignored=True
)
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``interpolate`` under its old name.

    Shapes: as ``interpolate``.

    Raises:
        ValueError: as ``interpolate``.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    _deprecated("upsample")
    return functional.interpolate(input, size, scale_factor, mode, align_corners)


@composite(
    namespace="nn.functional", operands=("input",), native=False, asks="nobody", ignored=True
)
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` with ``mode="nearest"``.

    Shapes: as ``interpolate``.

    Raises:
        ValueError: as ``interpolate``.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    _deprecated("upsample_nearest")
    return functional.interpolate(input, size, scale_factor, mode="nearest")


@composite(
    namespace="nn.functional", operands=("input",), native=False, asks="nobody", ignored=True
)
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` with ``mode="bilinear"`` and ``align_corners=True``.

    Shapes: input (N, C, H, W) -> (N, C, *size).

    Raises:
        ValueError: as ``interpolate``.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    _deprecated("upsample_bilinear")
    return functional.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
