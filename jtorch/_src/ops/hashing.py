"""Hashes of the bits of tensors."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._axes import reduced_dims
from ._declare import Array, op


@op(
    out=True,
    differentiable=False,
    aten="hash_tensor",
    out_dtype="Expected result to be of dtype uint64, but got {mine}",
)
def hash_tensor(
    input: Array, dim: int | tuple[int, ...] = (), *, keepdim: bool = False, mode: int = 0
) -> Array:
    """A hash of the elements over ``dim`` (all by default): the exclusive or of their bits, as
    64-bit numbers.

    Integers are widened to int64 first, floating-point numbers to float64. ``mode`` 0 is the only
    one there is.

    Shapes: input (*) -> (*) without ``dim``, or with size 1 there if ``keepdim``.
    Dtypes: any real one but uint16 to uint64 -> uint64.

    Raises:
        RuntimeError: for another ``mode``, or if all elements of none are asked for.
        IndexError: if a reduced dimension is empty.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.hash_tensor(torch.tensor([1, 2, 4]))
        tensor(7, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    kind = dtypes.from_np(input.dtype)
    dims = reduced_dims(input, dim)
    if input.size == 0 and not dim and dim != 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    for d in dims:
        if input.shape[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if kind.is_complex or kind in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
        raise NotImplementedError(f'"xor_sum_cpu" not implemented for {kind.scalar_name!r}')
    wide = input.astype(np.float64 if kind.is_floating_point else np.int64)
    bits = lax.bitcast_convert_type(wide, np.uint64)
    found = lax.reduce(bits, np.uint64(0), lax.bitwise_xor, dims)
    return jnp.expand_dims(found, dims) if keepdim and dims else found
