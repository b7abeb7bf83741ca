"""Sparse tensors as text, as torch prints them."""

from __future__ import annotations

from .._src.engine import numbers_of
from .._src.facts import dtypes, layouts
from .._src.tensor.printing import _grad_fn_name, add_suffixes, numbers
from ..core import Tensor
from ._tensor import BY_ROW, SparseTensor, nnz


def _part(label: str, t: Tensor, indent: int) -> str:
    """``indices=tensor(...)`` and its like."""
    head = f"{label}=tensor("
    if t.device.type == "meta":
        text = "..."
    else:
        text = numbers(numbers_of(t._read()), indent + len(head))
    if t.device.type == "meta" or t.numel() == 0:
        text += f", size={tuple(t.shape)}"
    return f"{head}{text})"


def describe(t: SparseTensor, contents: object = None) -> str:
    """The parts of a sparse tensor, its size, and what else a dense tensor tells."""
    prefix = "Parameter containing:\n" if getattr(t, "_is_param", False) else ""
    name = "tensor("
    indent = len(name)
    is_coo = t._kind is layouts.sparse_coo
    if is_coo:
        labels = ["indices"]
    else:
        labels = (
            ["crow_indices", "col_indices"]
            if t._kind in BY_ROW
            else ["ccol_indices", "row_indices"]
        )
    parts = [_part(label, i, indent) for label, i in zip(labels, t._at, strict=True)]
    parts.append(_part("values", t._vals.detach(), indent))
    body = (",\n" + " " * indent).join(parts) if contents is None else str(contents)
    suffixes = [] if t.device.type == "cpu" else [f"device='{t.device}'"]
    suffixes += [f"size={tuple(t._dims)}", f"nnz={nnz(t)}"]
    if t.dtype not in (
        dtypes.get_default_dtype(),
        dtypes.default_complex(),
        dtypes.int64,
        dtypes.bool_,
    ):
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={t._kind}")
    made_by = _grad_fn_name(t)
    if made_by is not None:
        suffixes.append(f"grad_fn=<{made_by}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    return prefix + add_suffixes(name + body, suffixes, indent, is_coo)
