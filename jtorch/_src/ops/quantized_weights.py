"""Products with weights that are kept in few bits, and how weights of four bits are packed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from ._declare import Array, op

_FLOATS = ("float32", "bfloat16", "float16")
_GROUPS = (32, 64, 128, 256)
#: What weights of four bits are shifted by, so that they have a sign.
_ZERO = 8


def _check_matrix(name: str, input: Array, scales: Array) -> None:
    if input.ndim != 2:
        raise RuntimeError(f"{name} : expect A to be 2D tensor.")
    if str(input.dtype) not in _FLOATS:
        raise RuntimeError(f"{name} : expect A to be either 32-bit or 16-bit float tensor.")
    if scales.dtype != input.dtype:
        wanted, found = (
            dtypes.from_np(input.dtype).scalar_name,
            dtypes.from_np(scales.dtype).scalar_name,
        )
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")


def _product(input: Array, weight: Array) -> Array:
    """``input @ weight.T``, added up in float32."""
    return jax.lax.dot_general(
        input, weight, (((1,), (1,)), ((), ())), preferred_element_type=np.float32
    )


@op(method=False, aten="_weight_int8pack_mm")
def _weight_int8pack_mm(input: Array, mat2: Array, scales: Array) -> Array:
    """``input @ (mat2 * scales[:, None]).T`` for a matrix ``mat2`` of int8, whose rows have a scale
    each.

    Added up in float32 whatever the dtype, and scaled then.

    Shapes: input (M, K), mat2 (N, K), scales (N,) -> (M, N).

    Dtypes: float32, bfloat16 or float16 for input and scales; int8 for mat2.

    Raises:
        RuntimeError: for other shapes and dtypes.

    Differs from torch: operands need not be contiguous, and there are gradients for input and
    scales.

    Example:
        >>> import jtorch as torch
        >>> weight = torch.tensor([[1, 2], [3, -4]], dtype=torch.int8)
        >>> torch._weight_int8pack_mm(torch.ones(1, 2), weight, torch.tensor([0.5, 0.25]))
        tensor([[ 1.5000, -0.2500]])
    """
    name = "_weight_int8pack_mm_cpu"
    _check_matrix(name, input, scales)
    if mat2.dtype != np.int8:
        raise RuntimeError(f"{name} : expect B to be int8 tensor.")
    if mat2.ndim != 2 or mat2.shape[1] != input.shape[1]:
        raise RuntimeError(f"{name} : expect B.size(1) == {input.shape[1]}")
    if scales.shape != (mat2.shape[0],):
        raise RuntimeError(f"{name} : expect scales to be 1d tensor with size {mat2.shape[0]}")
    found = _product(input.astype(np.float32), mat2.astype(np.float32))
    return (found * scales.astype(np.float32).reshape(1, -1)).astype(input.dtype)


@op(method=False, differentiable=False, aten="_convert_weight_to_int4pack_for_cpu")
def _convert_weight_to_int4pack_for_cpu(input: Array, innerKTiles: int) -> Array:
    """Packs a matrix of int32 from 0 to 15, two to a byte: the even columns in the lower half.

    Shapes: (N, K) -> (N, K / 2); N divisible by 16, K by 2. ``innerKTiles`` is of no consequence.

    Dtypes: int32 to uint8.

    Raises:
        RuntimeError: for other shapes and dtypes.

    Differs from torch: there the order of bytes depends on the processor that packs. What one has
    packed the other must not use; ``_weight_int4pack_mm_for_cpu`` gives the same numbers in both.

    Example:
        >>> import jtorch as torch
        >>> torch._convert_weight_to_int4pack_for_cpu(
        ...     torch.tensor([[1, 2]] * 16, dtype=torch.int32), 2
        ... )[0]
        tensor([33], dtype=torch.uint8)
    """
    name = "_convert_weight_to_int4pack_cpu"
    if input.ndim != 2:
        raise RuntimeError(f"{name} : expect weight to be 2D tensor.")
    if input.dtype != np.int32:
        raise RuntimeError(f"{name} : expect weight to be kInt.")
    if input.shape[0] % 16:
        raise RuntimeError(f"{name} : expect N to be dividable by 16")
    if input.shape[1] % 2:
        raise RuntimeError("_convert_weight_to_int4pack: expect K to be dividable by 2")
    low, high = input[:, 0::2].astype(np.uint8), input[:, 1::2].astype(np.uint8)
    return (high << np.uint8(4)) | (low & np.uint8(15))


@op(method=False, aten="_weight_int4pack_mm_for_cpu")
def _weight_int4pack_mm_for_cpu(
    input: Array, mat2: Array, qGroupSize: int, qScaleAndZeros: Array
) -> Array:
    """``input @ weight.T`` for a weight of four bits ``q``: in groups of ``qGroupSize`` columns it
    is ``(q - 8) * scale + zero``.

    Shapes: input (M, K), mat2 (N, K / 2) as ``_convert_weight_to_int4pack_for_cpu`` packs it,
    qScaleAndZeros (K / qGroupSize, N, 2) -> (M, N). The group has 32, 64, 128 or 256 columns.

    Dtypes: float32, bfloat16 or float16 for input, scales and zeros; uint8 for mat2.

    Raises:
        RuntimeError: for other shapes and dtypes.

    Differs from torch: operands need not be contiguous, and there are gradients for input, scales
    and zeros.

    Example:
        >>> import jtorch as torch
        >>> packed = torch._convert_weight_to_int4pack_for_cpu(
        ...     torch.full((16, 32), 9, dtype=torch.int32), 2
        ... )
        >>> scales = torch.tensor([0.5, 0.25]).expand(1, 16, 2)
        >>> torch._weight_int4pack_mm_for_cpu(torch.ones(1, 32), packed, 32, scales)[0, :2]
        tensor([24., 24.])
    """
    name = "_weight_int4pack_mm_cpu"
    _check_matrix(name, input, qScaleAndZeros)
    k, n = input.shape[1], mat2.shape[0]
    if mat2.dtype != np.uint8:
        raise RuntimeError(f"{name} : expect B to be uint8 tensor.")
    if qGroupSize not in _GROUPS:
        raise RuntimeError(f"{name}: expect qGroupSize to be 32, 64, 128 or 256, got {qGroupSize}")
    if k % qGroupSize:
        raise RuntimeError(
            f"{name}: expect K to be divisible by qGroupSize, got K:{k}, qGroupSize:{qGroupSize}"
        )
    if mat2.ndim != 2 or mat2.shape[1] * 2 != k:
        raise RuntimeError(f"{name} : expect B.size(1) == {k // 2}")
    if qScaleAndZeros.shape != (k // qGroupSize, n, 2):
        raise RuntimeError(f"{name}: expect qScaleAndZeros to be 3d tensor with sizes [:, {n}, 2]")
    pairs = jnp.stack([mat2 & np.uint8(15), mat2 >> np.uint8(4)], axis=-1).reshape(
        n, k // qGroupSize, qGroupSize
    )
    scale, zero = (
        jnp.swapaxes(qScaleAndZeros[:, :, i], 0, 1).astype(np.float32).reshape(n, -1, 1)
        for i in (0, 1)
    )
    weight = (pairs.astype(np.float32) - np.float32(_ZERO)) * scale + zero
    return _product(input.astype(np.float32), weight.reshape(n, k)).astype(input.dtype)
