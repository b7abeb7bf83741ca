"""What a mask means to a reduction: the mask in its input's shape, the value that absent elements
are given, the mask of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor

from . import layouts
from .identities import identity

#: Layouts of inputs and masks.
LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)
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


# as torch's
def input_mask(
    input: Tensor,
    *args: object,  # noqa: ARG001
    mask: Tensor | None = None,
    **kwargs: object,  # noqa: ARG001
) -> Tensor:
    """The mask in the shape and the layout of its input, bool; coalesced in COO.

    Raises:
        ValueError: if there is none, or for inputs neither dense nor in COO or CSR layout.
        IndexError: if it has more dimensions than the input.
    """
    if input.layout not in LAYOUTS:
        raise ValueError(
            f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}"
        )
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if input.layout is torch.strided and mask.layout is not torch.strided:
        mask = mask.to_dense()
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of "
                "the input)"
            )
        if mask.layout is torch.strided:
            mask = torch.broadcast_to(mask, input.shape)
        else:
            mask = layouts.broadcast(mask, tuple(input.shape))
    if input.layout is torch.sparse_csr:
        mask = mask.to_sparse_csr()
    elif input.layout is torch.sparse_coo:
        if mask.layout is torch.strided:
            mask = mask.to_sparse(input.sparse_dim())
        mask = mask.to_sparse_coo().coalesce()
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


def where(mask: Tensor, input: Tensor, fill_value: Any) -> Tensor:
    """``input`` where the mask is True, ``fill_value`` elsewhere. Of sparse tensors, the elements
    that a mask of their layout has.

    Raises:
        ValueError: for other layouts.
    """
    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout not in LAYOUTS:
        raise ValueError(
            f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}"
        )
    return layouts.where(mask, input, fill_value)


def filled(op: str, input: Tensor, mask: Tensor | None, *args: object) -> Tensor:
    """``input`` with absent elements replaced by the identity of a reduction, or left out if it is
    sparse. No gradient reaches them, so that a NaN there stays there."""
    if mask is None:
        return input
    return where(input_mask(input, mask=mask), input, identity(op, input, *args))
