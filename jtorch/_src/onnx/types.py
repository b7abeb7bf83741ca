"""Dtypes, shapes and data as ONNX has them."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

import jtorch as torch

DTYPES: dict[torch.dtype, Any] = {
    torch.bfloat16: ir.DataType.BFLOAT16,
    torch.bool: ir.DataType.BOOL,
    torch.complex128: ir.DataType.COMPLEX128,
    torch.complex64: ir.DataType.COMPLEX64,
    torch.float16: ir.DataType.FLOAT16,
    torch.float32: ir.DataType.FLOAT,
    torch.float64: ir.DataType.DOUBLE,
    torch.float8_e4m3fn: ir.DataType.FLOAT8E4M3FN,
    torch.float8_e4m3fnuz: ir.DataType.FLOAT8E4M3FNUZ,
    torch.float8_e5m2: ir.DataType.FLOAT8E5M2,
    torch.float8_e5m2fnuz: ir.DataType.FLOAT8E5M2FNUZ,
    torch.int8: ir.DataType.INT8,
    torch.int16: ir.DataType.INT16,
    torch.int32: ir.DataType.INT32,
    torch.int64: ir.DataType.INT64,
    torch.uint8: ir.DataType.UINT8,
    torch.uint16: ir.DataType.UINT16,
    torch.uint32: ir.DataType.UINT32,
    torch.uint64: ir.DataType.UINT64,
}
BACK = {v: k for k, v in DTYPES.items()}


def dtype_of(x: Any) -> Any:
    """The element type of what a node gives: complex numbers are pairs of real ones. None for what
    is no single value."""
    if isinstance(x, torch.Tensor):
        return DTYPES[x.dtype.to_real() if x.dtype.is_complex else x.dtype]
    if isinstance(x, (bool, torch.SymBool)):
        return ir.DataType.BOOL
    if isinstance(x, (int, torch.SymInt)):
        return ir.DataType.INT64
    return ir.DataType.FLOAT if isinstance(x, (float, torch.SymFloat)) else None


def shape_of(x: Any) -> Any:
    """The shape of what a node gives, with texts for sizes that vary."""
    if not isinstance(x, torch.Tensor):
        return ir.Shape([])
    sizes = [n if type(n) is int else str(n) for n in x.shape]
    return ir.Shape([*sizes, 2] if x.dtype.is_complex else sizes)


def array_of(x: torch.Tensor) -> np.ndarray:
    """The elements of a tensor."""
    x = x.detach()
    if x.dtype.is_complex:
        x = torch.view_as_real(x.resolve_conj())
    return np.asarray(x.cpu().jax())


def tensor_of(x: torch.Tensor, name: str) -> Any:
    """A tensor as ONNX's, with the elements that it has now."""
    return ir.Tensor(array_of(x), dtype=dtype_of(x), name=name)
