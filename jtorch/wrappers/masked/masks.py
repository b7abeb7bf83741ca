"""What a mask means to a reduction: the mask in its input's shape, the value that absent elements
are given, the mask of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.errors import not_offered

REDUCTIONS = frozenset(
    ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std",
     "logsumexp")
)  # fmt: skip
NORMALIZATIONS = frozenset(("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"))


def canonical_dim(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` stands for, counted from the front and sorted; None and ``()``
    stand for all.

    Raises:
        IndexError: for a dimension that does not exist.
        RuntimeError: for one that is named twice.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    # a symbol of a trace stands for the number of its example, which becomes a guard
    for given in (dim,) if isinstance(dim, (int, torch.SymInt)) else dim:
        d = int(given) if isinstance(given, torch.SymInt) else given
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {d})"
            )
        found.append(d % ndim)
    return tuple(sorted(found))


def any_over(mask: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """Whether any element is True, along several dimensions."""
    for d in sorted(dims, reverse=True) if mask.dim() else ():
        mask = mask.any(dim=d, keepdim=keepdim)
    return mask


def identity(op: str, input: Tensor, *args: object) -> Tensor | None:
    """The value that changes nothing in a reduction of tensors like ``input``, as a 0-dim tensor;
    None if there is no such value.

    Raises:
        NotImplementedError: if the reduction is not defined on the dtype.
    """
    name, dtype, device = op.rsplit(".", 1)[-1], input.dtype, input.device

    def value(x: object, of: torch.dtype = dtype) -> Tensor:
        return torch.tensor(x, dtype=of, device=device)

    if name in ("sum", "cumsum"):
        return value(0)
    if name in ("prod", "cumprod"):
        return value(1)
    if name == "logsumexp" and dtype.is_complex:
        return value(complex(-torch.inf, 0))
    if name in ("amax", "argmax", "logaddexp", "logsumexp", "amin", "argmin"):
        lowest = not name.endswith("min")
        if dtype.is_floating_point:
            return value(-torch.inf if lowest else torch.inf)
        if dtype.is_signed or dtype is torch.uint8:
            limits = torch.iinfo(dtype)
            return value(limits.min if lowest else limits.max)
    elif name in ("mean", "var", "std"):
        return None
    elif name == "norm":
        if (args[0] if args else 2) == float("-inf"):
            if not dtype.is_floating_point:
                raise AssertionError(f"input must be floating point, got {dtype}")
            return value(torch.inf)
        return value(0)
    elif name == "median":
        return value(torch.nan, dtype if dtype.is_floating_point else torch.float32)
    raise NotImplementedError(f"identity of {name} on {dtype} input")


# as torch's
def input_mask(
    input: Tensor,
    *args: object,  # noqa: ARG001
    mask: Tensor | None = None,
    **kwargs: object,  # noqa: ARG001
) -> Tensor:
    """The mask in the shape of its input, bool.

    Raises:
        ValueError: if there is none.
        IndexError: if it has more dimensions than the input.
    """
    check_strided("_input_mask", input)
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.layout is not torch.strided:
        mask = mask.to_dense()
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of "
                "the input)"
            )
        mask = torch.broadcast_to(mask, input.shape)
    return mask.to(dtype=torch.bool)


def output_mask(op: Callable[..., object], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The mask of what the masked operation ``op`` returns: which results depend on any present
    element."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in NORMALIZATIONS:
        return input_mask(input, *args, **kwargs)
    if name not in REDUCTIONS:
        raise ValueError(
            f"_output_mask expected masked operation (got callable {op.__module__}.{name})"
        )
    if name == "norm":
        args = args[1:]
    dim = args[0] if args else kwargs.get("dim")
    return any_over(
        input_mask(input, *args, **kwargs),
        canonical_dim(dim, input.dim()),
        bool(kwargs.get("keepdim", False)),
    )


def where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """``input`` where the mask is True, ``fill_value`` elsewhere."""
    check_strided("_where", input)
    return torch.where(mask, input, fill_value)


def filled(op: str, input: Tensor, mask: Tensor | None, *args: object) -> Tensor:
    """``input`` with absent elements replaced by the identity of a reduction. No gradient reaches
    them, so that a NaN there stays there."""
    if mask is None:
        return input
    fill = identity(op, input, *args)
    assert fill is not None
    return where(input_mask(input, mask=mask), input, fill)


def check_strided(name: str, input: Tensor) -> None:
    """Refuses tensors that are not dense.

    Raises:
        NotImplementedError: for sparse tensors.
    """
    if input.layout is not torch.strided:
        raise not_offered(f"{name} of a {input.layout} tensor", "masks are dense")
