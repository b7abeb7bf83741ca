"""Products of scaled matrices, by the names of their scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import T
from ..facts.dtypes import bfloat16
from ..facts.errors import not_offered

if TYPE_CHECKING:
    from ..facts.dtypes import dtype

#: Numbers of the recipes that scale whole matrices, or rows and columns.
_OFFERED = (0, 1)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


@composite(
    namespace="nn.functional",
    operands=("mat_a", "mat_b", "scale_a", "scale_b", "bias"),
    native=False,
    ignored=True,
)
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: dtype | None = bfloat16,
    contraction_dim: Any = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of eight-bit floats that are scaled: ``(mat_a * scale_a) @ (mat_b
    * scale_b) + bias``, computed in float32 and rounded once.

    Args:
        mat_a, mat_b: the matrices.
        scale_a, scale_b: their scales, or lists of one.
        scale_recipe_a, scale_recipe_b: what a scale stands for: ``ScalingType.TensorWise`` (one for
            the matrix) or ``RowWise`` (one for each row of ``mat_a`` and column of ``mat_b``).
        swizzle_a, swizzle_b: ``SwizzleType.NO_SWIZZLE`` or None.
        bias: added to each row.
        output_dtype: the result's dtype; that of ``mat_a`` if it is None.
        contraction_dim, use_fast_accum: of no consequence, as in PyTorch on the CPU.

    Shapes: mat_a (M, K), mat_b (K, N), scales of one element, or (M, 1) and (1, N), bias (N,) ->
    (M, N).
    Dtypes: float8 for the matrices, float32 for the scales.

    Raises:
        ValueError: if scales or shapes do not fit, or there is a swizzle.
        NotImplementedError: for scales of blocks.

    Example:
        >>> import jtorch as torch
        >>> F = torch.nn.functional
        >>> a = torch.tensor([[1.0, 2.0]]).to(torch.float8_e4m3fn)
        >>> half, whole = torch.tensor(0.5), F.ScalingType.TensorWise
        >>> F.scaled_mm(a, a.t(), half, whole, half, whole)
        tensor([[1.2500]], dtype=torch.bfloat16)
    """
    del contraction_dim, use_fast_accum
    if mat_a.dim() == mat_b.dim() == 2 and mat_a.shape[1] != mat_b.shape[0]:
        shapes = " and ".join("x".join(map(str, x.shape)) for x in (mat_a, mat_b))
        raise ValueError(f"mat_a and mat_b shapes cannot be multiplied ({shapes})")
    recipes = [r.value for r in (*_listed(scale_recipe_a), *_listed(scale_recipe_b))]
    if any(s is not None and s.value for s in (*_listed(swizzle_a), *_listed(swizzle_b))):
        raise ValueError("CPU does not support swizzle.")
    scales = [_listed(scale_a), _listed(scale_b)]
    if any(r not in _OFFERED for r in recipes) or any(len(s) != 1 for s in scales):
        raise not_offered(
            "torch.nn.functional.scaled_mm with scales of blocks",
            "XLA has no kernel for them; multiply by the scales and use matmul",
        )
    if len(set(recipes)) > 1 or (scales[0][0].numel() == 1) != (recipes[0] == 0):
        of_rows = [(mat_a.shape[0], 1), (1, mat_b.shape[1])]
        if [tuple(s[0].shape) for s in scales] != of_rows or recipes != [1, 1]:
            raise ValueError(
                "Invalid scaling configuration: scales of whole matrices have one element, those "
                f"of rows and columns are {of_rows[0]} and {of_rows[1]}"
            )
    return T._scaled_mm(mat_a, mat_b, scales[0][0], scales[1][0], bias=bias, out_dtype=output_dtype)
