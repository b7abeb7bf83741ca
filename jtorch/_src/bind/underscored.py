"""Functions of ``torch`` whose names begin with an underscore, and that libraries call all the
same: written with public ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..composites.attention import choice
from ..facts.dtypes import BY_NAME
from ..facts.errors import not_offered
from ..facts.warned_once import warn_once
from .assertions import _assert_async, _assert_tensor_metadata
from .everything import PUBLIC, F, T

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "_addmm_activation", "_aminmax", "_assert_async", "_assert_tensor_metadata", "_cast_Byte",
    "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int",
    "_cast_Long", "_cast_Short", "_compute_linear_combination", "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo", "_debug_has_internal_overlap", "_fused_sdp_choice",
    "_grouped_mm", "_int_mm", "_segment_reduce", "_shape_as_tensor", "_unique", "_unique2",
]  # fmt: skip


def _addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: object = 1,
    alpha: object = 1,
    use_gelu: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The method of the same name."""
    found = self._addmm_activation(mat1, mat2, beta=beta, alpha=alpha, use_gelu=use_gelu)
    return found if out is None else out.resize_(found.shape).copy_(found)


def _aminmax(self: object, dim: int | None = None, keepdim: bool = False) -> object:
    """``aminmax``, under its name of old."""
    if dim is None or not keepdim:
        warn_once(
            "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. "
            "Use aminmax instead. This warning will only appear once per process."
        )
    return tuple(T.aminmax(self, dim=dim, keepdim=keepdim))


def _compute_linear_combination(
    input: Tensor, coefficients: Tensor, *, out: Tensor | None = None
) -> object:
    """Sums of the slices along the first dimension, each with the coefficients of one row:
    ``(n, *)``, ``(m, n)`` -> ``(m, *)``. They are added to ``out``."""
    if input.is_complex() and not coefficients.is_complex():
        coefficients = coefficients.to(input.dtype)
    found = T.tensordot(coefficients, input, dims=1)
    return found if out is None else out.add_(found)


def _debug_has_internal_overlap(self: Tensor) -> int:
    """Whether two elements of a tensor share memory: 0 no, 1 yes, 2 it would take too long to
    tell."""
    sizes = [(n, step) for n, step in zip(self.shape, self.stride(), strict=True) if n > 1]
    if self.numel() and any(not step for _, step in sizes):
        return 1
    expected = 1
    for n, step in sorted(sizes, key=lambda pair: pair[1]):
        if step != expected:
            return 2
        expected *= n
    return 0


def _fused_sdp_choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """What PyTorch computes ``scaled_dot_product_attention`` with on the CPU: 0 for the formula, 1
    for one kernel.

    Raises:
        RuntimeError: if ``sdpa_kernel`` leaves neither.
    """
    del is_causal, scale  # which both take
    return choice(query, key, value, attn_mask, dropout_p, enable_gqa)


def _shape_as_tensor(self: Any) -> Any:
    """The sizes as a tensor."""
    return T.tensor(list(self.shape), dtype=BY_NAME["int64"])


def _unique(self: object, sorted: bool = True, return_inverse: bool = False) -> Any:
    """The distinct elements, and the place of each element among them if that is asked for; else
    nothing."""
    return _unique2(self, sorted, return_inverse)[:2]


def _unique2(
    self: object, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The distinct elements, the place of each element among them, and how often each occurs; empty
    tensors for what is not asked for."""
    found, *asked = T.unique(self, sorted, True, True)
    return found, *[
        x if wanted else x.new_empty(0)
        for x, wanted in zip(asked, (return_inverse, return_counts), strict=True)
    ]


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> object:
    """Row numbers in rising order, as the places where the rows begin."""
    counts = self.bincount(minlength=size).cumsum(0)
    starts = T.cat([counts.new_zeros(1), counts])
    return starts.to(BY_NAME["int32" if out_int32 else "int64"])


def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False
) -> object:
    """Places where rows begin, and columns, as pairs of row and column."""
    if crow_indices.dim() != 1:
        raise not_offered(
            "torch._convert_indices_from_csr_to_coo of a batch", "convert its members one by one"
        )
    counts = crow_indices[1:] - crow_indices[:-1]
    rows = T.arange(len(counts), device=counts.device).repeat_interleave(counts)
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    return T.stack([x.to(BY_NAME["int32" if out_int32 else "int64"]) for x in pair])


#: What dtypes are called in C++.
_CPP = {"int32": "int", "int64": "long int", "float32": "float", "float64": "double"}


def _int_mm(self: Tensor, mat2: Tensor, *, out: Any = None) -> Any:
    """The product of matrices of int8 in int32.

    Raises:
        RuntimeError: for other dtypes, or shapes that do not fit, ``out`` included.
    """
    if self.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(
            f"Expected self and mat2 to be of dimension 2 but got {self.dim()} and {mat2.dim()}"
        )
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}"
        )
    for name, x in (("self", self), ("mat2", mat2)):
        if x.dtype not in (BY_NAME["int8"], BY_NAME["uint8"]):
            kind = _CPP.get(str(x.dtype)[6:], str(x.dtype)[6:])
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {name} dtype to be int8 or uint8 but got {kind}"
            )
    if out is not None:
        if out.dtype != BY_NAME["int32"]:
            raise RuntimeError(
                "int_mm_out_cpu: Expected result dtype to be of type kInt but got "
                f"{_CPP.get(str(out.dtype)[6:], str(out.dtype)[6:])}"
            )
        for d, n in enumerate((self.shape[0], mat2.shape[1])):
            if out.shape[d] != n:
                raise RuntimeError(
                    f"int_mm_out_cpu: Expected result.size({d}) to be {n} but got {out.shape[d]}"
                )
    if self.device.type == "cpu":
        found = _by_floats(self, mat2)
    else:
        found = T.matmul(self.to(BY_NAME["int32"]), mat2.to(BY_NAME["int32"]))
    return found if out is None else out.copy_(found)


def _by_floats(a: Tensor, b: Tensor) -> object:
    """The product in int32 by products of float32, for which processors have fast routines where
    XLA loops over integers.

    All sums of ``most`` products are whole numbers of at most 2**24 in magnitude, which float32 has
    exactly, in any order of adding.
    """
    largest = [255 if x.dtype is BY_NAME["uint8"] else 128 for x in (a, b)]
    most = (1 << 24) // (largest[0] * largest[1])
    inner, single, whole = a.shape[1], BY_NAME["float32"], BY_NAME["int32"]
    matmul, stop = T.matmul, inner - inner % most
    total = None
    if stop:
        left = a[:, :stop].to(single).reshape(a.shape[0], stop // most, most).transpose(0, 1)
        total = (
            matmul(left, b[:stop].to(single).reshape(stop // most, most, b.shape[1]))
            .to(whole)
            .sum(0, dtype=whole)
        )
    if stop < inner or total is None:
        rest = matmul(a[:, stop:].to(single), b[stop:].to(single)).to(whole)
        total = rest if total is None else total + rest
    return total


def _grouped_mm(
    self: object, mat2: object, offs: object = None, bias: object = None, out_dtype: object = None
) -> object:
    """``torch.nn.functional.grouped_mm``."""
    return F.grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def _caster(name: str, dtype: str) -> Callable[..., object]:
    def cast(self: Any, non_blocking: bool = False) -> Any:
        return self.to(BY_NAME[dtype], non_blocking=non_blocking)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"``Tensor.to(torch.{dtype})``."
    return cast


_cast_Byte, _cast_Char, _cast_Short = (
    _caster("_cast_Byte", "uint8"),
    _caster("_cast_Char", "int8"),
    _caster("_cast_Short", "int16"),
)
_cast_Int, _cast_Long = _caster("_cast_Int", "int32"), _caster("_cast_Long", "int64")
_cast_Half, _cast_Float = _caster("_cast_Half", "float16"), _caster("_cast_Float", "float32")
_cast_Double = _caster("_cast_Double", "float64")
_segment_reduce = PUBLIC["segment_reduce"]
