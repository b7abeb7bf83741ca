"""Products of matrices in few bits that are scaled, and of groups whose sizes are data."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Dtype, op
from ._facts import schemas

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
#: What dtypes are called in C++.
_CPP = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16"}


def _called(x: Array) -> str:
    name = str(x.dtype)
    return _CPP.get(name, name[0].upper() + name[1:])


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]


def _check_scales(a: Array, b: Array, scale_a: Array, scale_b: Array) -> None:
    """Refuses scales that are neither one for each matrix, nor one for each row and column.

    Raises:
        ValueError: for them.
    """
    rows, columns = (a.shape[0], 1), (1, b.shape[1])
    fits = (scale_a.size == scale_b.size == 1) or (
        scale_a.shape == rows and scale_b.shape == columns
    )
    kinds = all(str(x.dtype) in _FLOAT8 for x in (a, b)) and all(
        x.dtype == np.float32 for x in (scale_a, scale_b)
    )
    if fits and kinds:
        return
    found = [
        f"mat_{name}.dtype()={_called(x)}, scale_{name}.dtype()={_called(s)}, "
        f"scale_{name}.size()={list(s.shape)}"
        for name, x, s in (("a", a, scale_a), ("b", b, scale_b))
    ]
    raise ValueError(
        "Invalid scaling configuration.\n"
        "- For TensorWise scaling, a and b should be float8, scales should be float and "
        "singletons.\n"
        "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should "
        f"be {rows} and scale_b should be {columns}, and both should be contiguous.\n"
        f"Got {found[0]}, scale_a.stride()={_strides(scale_a.shape)}, {found[1]} and "
        f"scale_b.stride()={_strides(scale_b.shape)}"
    )


@op(method=False, out=True, aten="_scaled_mm")
@schemas(".")
def _scaled_mm(
    self: Array,
    mat2: Array,
    scale_a: Array,
    scale_b: Array,
    bias: Array | None = None,
    scale_result: Array | None = None,
    out_dtype: Dtype | None = None,
    use_fast_accum: bool = False,
) -> Array:
    """``(self * scale_a) @ (mat2 * scale_b) + bias`` for matrices of eight-bit floats, computed in
    float32 and rounded once. What is too large for eight bits becomes the largest number.

    Args:
        self, mat2: the matrices.
        scale_a, scale_b: one number for each matrix, or one for each row of ``self`` and each
            column of ``mat2``.
        bias: added to each row.
        scale_result: of no consequence, as in PyTorch on the CPU.
        out_dtype: the result's dtype; that of ``self`` if it is None.
        use_fast_accum: of no consequence, as in PyTorch on the CPU.

    Shapes: self (M, K), mat2 (K, N), scales of one element, or (M, 1) and (1, N), bias (N,) ->
    (M, N).
    Dtypes: float8 for the matrices, float32 for the scales; the bias may have another.

    Raises:
        RuntimeError: if shapes do not fit.
        ValueError: for other scales or dtypes.

    Differs from torch: matrices may lie in memory in any order, and there are gradients for the
    scales and the bias.

    Example:
        >>> import jtorch as torch
        >>> a = torch.tensor([[1.0, 2.0]]).to(torch.float8_e4m3fn)
        >>> half = torch.tensor(0.5)
        >>> torch._scaled_mm(a, a.t(), half, half, out_dtype=torch.float32)
        tensor([[1.2500]])
    """
    del scale_result, use_fast_accum
    if self.ndim != 2:
        raise RuntimeError("mat1 must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        shapes = " and ".join("x".join(map(str, x.shape)) for x in (self, mat2))
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({shapes})")
    if bias is not None and bias.size != mat2.shape[1]:
        raise RuntimeError(f"Bias must be size {mat2.shape[1]} but got {bias.size}")
    _check_scales(self, mat2, scale_a, scale_b)
    if scale_a.size == 1:
        scale_a, scale_b = scale_a.reshape(1, 1), scale_b.reshape(1, 1)
    found = lax.dot_general(
        self.astype(np.float32) * scale_a,
        mat2.astype(np.float32) * scale_b,
        (((1,), (0,)), ((), ())),
    )
    if bias is not None:
        found = found + bias.astype(np.float32).reshape(1, -1)
    dtype = jnp.dtype(self.dtype if out_dtype is None else out_dtype)
    if dtype.name in _FLOAT8:  # beyond the range is the largest number here
        largest = jnp.float32(jnp.finfo(dtype).max)
        found = jnp.clip(found, -largest, largest)
    return found.astype(dtype)


def check_grouped(a: Any, b: Any, offs: Any, bias: object, out_dtype: object) -> None:
    """Refuses operands of ``grouped_mm`` that do not fit, arrays or tensors.

    Raises:
        RuntimeError: for them.
    """
    for name, x in (("mat_a", a), ("mat_b", b)):
        if x.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if (offs is not None) != (a.ndim == 2 or b.ndim == 2):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype != a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is not None and (a.ndim == 3 or b.ndim == 3):
        groups = (a if a.ndim == 3 else b).shape[0]
        if groups != offs.shape[0]:
            raise RuntimeError(
                "batched dimension of the 3d matrix has to match the number of groups in offs"
            )


@op(namespace="_C", name="_grouped_mm", aten="_grouped_mm")
@schemas(".")
def _grouped_mm(
    self: Array,
    mat2: Array,
    offs: Array | None = None,
    bias: Array | None = None,
    out_dtype: Dtype | None = None,
) -> Array:
    """``nn.functional.grouped_mm`` wherever groups end: what is computed does not depend on
    ``offs``, so that it takes as long as one product with all rows for each group."""
    check_grouped(self, mat2, offs, bias, out_dtype)
    if offs is None:
        return _single(self, mat2, (((2,), (1,)), ((0,), (0,))))
    sizes = jnp.diff(offs, prepend=jnp.zeros((1,), offs.dtype)).astype(np.int32)
    if self.ndim == mat2.ndim == 2:
        cut = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
        return _ragged(self.T, mat2, sizes, cut)
    rows = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    if self.ndim == 2:
        return _ragged(self, mat2, sizes, rows)
    return _ragged(mat2.T, jnp.swapaxes(self, 1, 2), sizes, rows).T


def _ragged(a: Array, b: Array, sizes: Array, dims: lax.RaggedDotDimensionNumbers) -> Array:
    wide = jax.dtypes.canonicalize_dtype(np.promote_types(a.dtype, np.float32))
    return lax.ragged_dot_general(a, b, sizes, dims, preferred_element_type=wide).astype(a.dtype)


def _single(a: Array, b: Array, dims: lax.DotDimensionNumbers) -> Array:
    wide = jax.dtypes.canonicalize_dtype(np.promote_types(a.dtype, np.float32))
    return lax.dot_general(a, b, dims, preferred_element_type=wide).astype(a.dtype)
