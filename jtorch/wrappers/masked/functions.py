"""Reductions and normalisations that leave out elements:
``torch.masked.sum(input, dim, mask=mask)`` and its siblings.

All take ordinary tensors and a mask (True: present), and return ordinary tensors. A MaskedTensor
may be given for ``input``; its own mask counts then. Sums, products and extremes take sparse
tensors in COO layout too, and with ``keepdim=True`` in CSR layout, means those in CSR; results are
of the layout of the input, and elements that are not specified are absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor

from . import layouts
from .masks import canonical_dim, filled, input_mask
from .tensor import is_masked_tensor

Dims = int | Sequence[int] | None
_SMALL_INTEGERS = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)


def _parts(input: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Data and mask of the input."""
    return (input.get_data(), input.get_mask()) if is_masked_tensor(input) else (input, mask)


def _plain(name: str, input: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Data and mask of an input that must be dense."""
    input, mask = _parts(input, mask)
    if input.layout is not torch.strided:
        raise ValueError(f"masked {name} expects strided tensor (got {input.layout} tensor)")
    return input, mask


def _sparse(
    name: str,
    input: Tensor,
    dim: Dims,
    keepdim: bool | None,
    dtype: torch.dtype,
    mask: Tensor | None,
    taken: str = "strided, sparse_coo or sparse_csr",
) -> Tensor:
    """A reduction of a sparse tensor.

    Raises:
        ValueError: for other layouts, and without a mask, where absent elements would count as
            zeros, but in sums.
    """
    layout = str(input.layout).removeprefix("torch.")
    if layout not in taken:
        raise ValueError(f"masked {name} expects {taken} tensor (got {input.layout} tensor)")
    if mask is None and name != "sum":
        raise ValueError(f"masked {name} expects explicit mask for {layout} tensor input")
    kept = filled(name, input, mask)
    return layouts.reduced(name, kept, canonical_dim(dim, input.dim()), bool(keepdim), dtype)


def _summed(input: Tensor) -> torch.dtype:
    """The dtype in which small integers are added up."""
    return torch.int64 if input.dtype in _SMALL_INTEGERS else input.dtype


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the present elements along dimensions; 0 where none is present.

    Shapes: ``mask`` broadcasts to ``input``.

    Examples:
        >>> import jtorch as torch
        >>> torch.masked.sum(torch.tensor([1, 2, 3]), mask=torch.tensor([True, False, True]))
        tensor(4)
    """
    input, mask = _parts(input, mask)
    dtype = dtype or _summed(input)
    if input.layout is not torch.strided:
        return _sparse("sum", input, dim, keepdim, dtype, mask)
    return torch.sum(
        filled("sum", input, mask), canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype
    )


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the present elements along dimensions; 1 where none is present."""
    input, mask = _parts(input, mask)
    if input.layout is not torch.strided:
        return _sparse("prod", input, dim, keepdim, dtype or _summed(input), mask)
    result = filled("prod", input, mask).to(dtype=dtype or _summed(input))
    for d in reversed(canonical_dim(dim, input.dim())):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def cumsum(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running sum along a dimension, to which absent elements add nothing."""
    input, mask = _plain("cumsum", input, mask)
    dtype = dtype or input.dtype
    return torch.cumsum(
        filled("sum", input, mask), canonical_dim(dim, input.dim())[0], dtype=dtype
    ).to(dtype=dtype)


def cumprod(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running product along a dimension, in which absent elements count as 1."""
    input, mask = _plain("cumprod", input, mask)
    dtype = dtype or input.dtype
    return torch.cumprod(
        filled("prod", input, mask), canonical_dim(dim, input.dim())[0], dtype=dtype
    ).to(dtype=dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest present element along dimensions; the dtype's lowest value where none is
    present."""
    input, mask = _parts(input, mask)
    if input.layout is not torch.strided:
        return _sparse("amax", input, dim, keepdim, dtype or input.dtype, mask)
    found = torch.amax(filled("amax", input, mask), canonical_dim(dim, input.dim()), bool(keepdim))
    return found.to(dtype=dtype or input.dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest present element along dimensions; the dtype's highest value where none is
    present."""
    input, mask = _parts(input, mask)
    if input.layout is not torch.strided:
        return _sparse("amin", input, dim, keepdim, dtype or input.dtype, mask)
    found = torch.amin(filled("amin", input, mask), canonical_dim(dim, input.dim()), bool(keepdim))
    return found.to(dtype=dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the largest present element along a dimension, or in the flattened tensor.

    Dtypes: that of the input, as in PyTorch, unless ``dtype`` is given.
    """
    input, mask = _plain("argmax", input, mask)
    return torch.argmax(filled("argmax", input, mask), dim, bool(keepdim)).to(
        dtype=dtype or input.dtype
    )


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the smallest present element along a dimension, or in the flattened tensor.

    Dtypes: that of the input, as in PyTorch, unless ``dtype`` is given.
    """
    input, mask = _plain("argmin", input, mask)
    return torch.argmin(filled("argmin", input, mask), dim, bool(keepdim)).to(
        dtype=dtype or input.dtype
    )


def _count(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements are present along dimensions."""
    present = (
        torch.ones_like(input, dtype=torch.int64) if mask is None else input_mask(input, mask=mask)
    )
    return torch.sum(present, dims, keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the present elements along dimensions; NaN where none is present.

    Raises:
        ValueError: if neither ``dtype`` nor the input's dtype is floating or complex.

    Differs from torch: the mask of a MaskedTensor counts, where PyTorch divides by the number of
    all elements.
    """
    input, mask = _parts(input, mask)
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {dtype}"
        )
    if input.layout is not torch.strided:
        return _sparse("mean", input, dim, keepdim, dtype, mask, "strided or sparse_csr")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, canonical_dim(dim, input.dim()), bool(keepdim), mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the present elements along a dimension; NaN where none is present.

    Raises:
        ValueError: if none is present and the dtype has no NaN.
    """
    input, mask = _plain("median", input, mask)
    dtype = dtype or input.dtype
    is_float = torch.is_floating_point(input)
    if not is_float:
        input = input.to(dtype=torch.float32)
    found = torch.nanmedian(
        filled("median", input, mask), canonical_dim(dim, input.dim())[0], keepdim
    ).values
    if is_float:
        return found
    if torch.isnan(found).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(dtype=dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of the exponentials of the present elements along dimensions."""
    input, mask = _plain("logsumexp", input, mask)
    found = torch.logsumexp(
        filled("logsumexp", input, mask), canonical_dim(dim, input.dim()), keepdim=keepdim
    )
    return found.to(dtype=dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: torch.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, where absent elements add nothing."""
    input, input_mask = _parts(input, input_mask)
    other, other_mask = _parts(other, other_mask)
    if not input.layout is other.layout is torch.strided:
        raise ValueError(
            f"masked logaddexp expects strided tensors (got {input.layout} tensor for input, "
            f"{other.layout} for other)"
        )
    found = torch.logaddexp(
        filled("logaddexp", input, input_mask), filled("logaddexp", other, other_mask)
    )
    return found.to(dtype=dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order ``ord`` of the present elements along dimensions."""
    input, mask = _plain("norm", input, mask)
    ord = 2.0 if ord is None else ord
    source = filled("norm", input, mask, ord)
    return torch.linalg.vector_norm(
        source, ord, canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype or input.dtype
    )


def _spread(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool | None,
    dtype: Any,
    mask: Tensor | None,
    root: bool,
) -> Tensor:
    """Variance or standard deviation."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    input, mask = _plain("std/var", input, mask)
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.float32
    dims = canonical_dim(dim, input.dim())
    count = _count(input, dims, True, mask)
    mean_ = torch.divide(sum(input, dims, keepdim=True, dtype=dtype, mask=mask), count)
    off = torch.subtract(input, mean_)
    total = sum(off * off.conj(), dims, keepdim=keepdim, dtype=dtype, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = count.to(dtype.to_real() if dtype.is_complex else dtype)
        count = torch.maximum(torch.subtract(count, float(correction)), count.new_zeros([]))
    found = torch.divide(total, count).to(dtype=dtype)
    return torch.sqrt(found) if root else found


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the present elements along dimensions, NaN where too few are present."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the present elements along dimensions, NaN where too few are
    present."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)


def softmax(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Softmax over the present elements along a dimension; 0 at absent ones, NaN where none is
    present."""
    input, mask = _plain("softmax", input, mask)
    dim_ = canonical_dim(dim, input.dim())[0]
    return torch.nn.functional.softmax(
        filled("amax", input, mask), dim_, dtype=dtype or input.dtype
    )


def log_softmax(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of ``softmax``."""
    input, mask = _plain("log_softmax", input, mask)
    dim_ = canonical_dim(dim, input.dim())[0]
    return torch.nn.functional.log_softmax(
        filled("amax", input, mask), dim_, dtype=dtype or input.dtype
    )


def softmin(
    input: Tensor, dim: int, *, dtype: torch.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Softmax of the negated present elements along a dimension."""
    input, mask = _plain("softmin", input, mask)
    dim_ = canonical_dim(dim, input.dim())[0]
    return torch.nn.functional.softmin(
        filled("amin", input, mask), dim_, dtype=dtype or input.dtype
    )


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: torch.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The input divided by the norm of its present elements along a dimension, at least ``eps``; 0
    at absent ones."""
    input, mask = _plain("normalize", input, mask)
    size = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return torch.divide(filled("sum", input, mask), torch.maximum(size, size.new_full([], eps)))
