"""Fractional pooling: sizes from ratios, and random numbers where none are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, T
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Operand, Tree


def _sizes(
    n: int, input: Operand, kernel_size: Tree, output_size: Tree, output_ratio: object
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    kernel = (kernel_size,) * n if isinstance(kernel_size, int) else tuple(kernel_size)
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                f"fractional_max_pool{n}d requires specifying either an output_size or an "
                "output_ratio"
            )
        ratio: Any = (
            (output_ratio,) * n
            if isinstance(output_ratio, (int, float)) and n == 3
            else output_ratio
        )
        if n == 2 and len(ratio) > n:
            raise ValueError(
                f"fractional_max_pool{n}d requires output_ratio to either be a single Int or tuple "
                "of Ints."
            )
        output_size = [int(size * ratio[i]) for i, size in enumerate(input.shape[-n:])]
    return kernel, (output_size,) * n if isinstance(output_size, int) else tuple(output_size)


def _pool(
    n: int,
    input: Tensor,
    kernel_size: object,
    output_size: list[object] | Tensor | int | None,
    output_ratio: object,
    samples: object,
) -> Any:
    kernel, out = _sizes(n, input, kernel_size, output_size, output_ratio)
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = T.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    return getattr(_C, f"fractional_max_pool{n}d")(input, samples, kernel, out)


@composite(namespace="nn.functional", operands=("input", "_random_samples"), native=False)
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d`` that always returns the indices too.

    Shapes: input (N, C, H, W) or (C, H, W) -> two of (N, C, *output_size) or (C, *output_size).

    Dtypes: floating-point ones; indices are int64.

    Raises:
        ValueError: if neither size nor ratio is given.
        RuntimeError: if the windows are too large for the input.

    Example:
        >>> import jtorch as torch
        >>> samples = torch.full((1, 1, 2), 0.5)
        >>> x = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> values, places = torch.nn.functional.fractional_max_pool2d_with_indices(
        ...     x, 2, output_size=2, _random_samples=samples
        ... )
        >>> places
        tensor([[[[4, 5],
                  [7, 8]]]])
    """
    del return_indices  # torch's signature has it and ignores it
    return _pool(2, input, kernel_size, output_size, output_ratio, _random_samples)


@composite(namespace="nn.functional", operands=("input", "_random_samples"), native=False)
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool3d`` that always returns the indices too.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> two of (N, C, *output_size) or (C,
    *output_size).

    Dtypes: floating-point ones; indices are int64.

    Raises:
        ValueError: if neither size nor ratio is given.
        RuntimeError: if the windows are too large for the input.

    Example:
        >>> import jtorch as torch
        >>> samples = torch.full((1, 1, 3), 0.5)
        >>> x = torch.arange(8.0).reshape(1, 1, 2, 2, 2)
        >>> torch.nn.functional.fractional_max_pool3d_with_indices(
        ...     x, 1, output_size=1, _random_samples=samples
        ... )
        (tensor([[[[[7.]]]]]), tensor([[[[[7]]]]]))
    """
    del return_indices
    return _pool(3, input, kernel_size, output_size, output_ratio, _random_samples)


@composite(namespace="nn.functional", operands=("input", "_random_samples"), native=False)
@schemas(
    "(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, "
    "Tensor) ; =output:output,indices"
)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The maxima over windows of ``kernel_size`` at pseudo-random places, so many that
    ``output_size`` results (or ``output_ratio`` of the input's size) come out.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size).

    Dtypes: floating-point ones; indices are int64.

    Raises:
        ValueError: if neither size nor ratio is given.
        RuntimeError: if the windows are too large for the input.

    Example:
        >>> import jtorch as torch
        >>> samples = torch.full((1, 1, 2), 0.5)
        >>> x = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> torch.nn.functional.fractional_max_pool2d(x, 2, output_size=2, _random_samples=samples)
        tensor([[[[4., 5.],
                  [7., 8.]]]])
    """
    values, places = _pool(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, places) if return_indices else values


@composite(namespace="nn.functional", operands=("input", "_random_samples"), native=False)
@schemas(
    "(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, "
    "Tensor) ; =output:output,indices"
)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """As ``fractional_max_pool2d``, over volumes.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size).

    Dtypes: floating-point ones; indices are int64.

    Raises:
        ValueError: if neither size nor ratio is given.
        RuntimeError: if the windows are too large for the input.

    Example:
        >>> import jtorch as torch
        >>> samples = torch.full((1, 1, 3), 0.5)
        >>> x = torch.arange(8.0).reshape(1, 1, 2, 2, 2)
        >>> torch.nn.functional.fractional_max_pool3d(
        ...     x, 1, output_size=1, _random_samples=samples
        ... ).item()
        7.0
    """
    values, places = _pool(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, places) if return_indices else values
