"""Operators that ONNX lacks, and onnxscript has no function for, written with others: as stated
here, or as their kernels compute them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch._decomp.by_kernel import by_kernel

A = torch.ops.aten
PARTS: dict[Any, Callable[..., Any]] = {}


def _part(*operators: Any) -> Callable[[Any], Any]:
    def declare(body: Any) -> Any:
        PARTS.update(dict.fromkeys(operators, body))
        return body

    return declare


def by_formula(func: Any) -> Callable[..., Any]:
    """An operator as its kernel computes it; it stays where that has steps that are no operators
    (sorting, loops)."""
    found = by_kernel(func)

    def decomposed(*args: Any, **kwargs: Any) -> Any:
        try:
            return found(*args, **kwargs)
        except Exception:  # a kernel that only runs as part of its function: the operator is named
            return NotImplemented

    return decomposed


# ---- statistics --------------------------------------------------------------------------------


@_part(A.var_mean.correction)
def _var_mean(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = list(range(x.dim())) if dim is None or dim == [] else list(dim)
    count = math.prod([x.shape[d] for d in dims])
    left = count - (1 if correction is None else correction)
    mean = x.mean(dims, keepdim=True)
    apart = x - mean
    square = (apart * apart).sum(dims, keepdim=keepdim)
    return square / left, mean if keepdim else x.mean(dims)


@_part(A.var.correction)
def _var(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return _var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


# ---- pooling -----------------------------------------------------------------------------------


def _windows(n: Any, out: int) -> list[tuple[Any, Any]]:
    """Begin and end of the parts that adaptive pooling makes of ``n``."""
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


@_part(A._adaptive_avg_pool2d.default, A._adaptive_avg_pool3d.default)
def _adaptive_avg_pool(x: Any, output_size: Any) -> Any:
    rank = len(output_size)
    sizes = x.shape[-rank:]
    if all(type(n) is int and n % out == 0 for n, out in zip(sizes, output_size, strict=True)):
        kernel = [n // out for n, out in zip(sizes, output_size, strict=True)]
        return (A.avg_pool2d.default if rank == 2 else A.avg_pool3d.default)(x, kernel, kernel)
    for d, out in zip(range(-rank, 0), output_size, strict=True):
        means = [
            x.narrow(d, begin, end - begin).mean(d, keepdim=True)
            for begin, end in _windows(x.shape[d], out)
        ]
        x = torch.cat(means, d)
    return x


@_part(A.adaptive_max_pool2d.default, A.adaptive_max_pool3d.default)
def _adaptive_max_pool(x: Any, output_size: Any) -> Any:
    rank = len(output_size)
    sizes = list(x.shape[-rank:])
    values, places = [], []
    for window in itertools.product(
        *(_windows(n, out) for n, out in zip(sizes, output_size, strict=True))
    ):
        part = x
        for d, (begin, end) in zip(range(-rank, 0), window, strict=True):
            part = part.narrow(d, begin, end - begin)
        found, place = part.flatten(-rank).max(-1)
        at = torch.zeros_like(place)
        step, whole = 1, 1
        for n, (begin, end) in zip(reversed(sizes), reversed(window), strict=True):
            at = at + (place // step % (end - begin) + begin) * whole
            step, whole = step * (end - begin), whole * n
        values.append(found)
        places.append(at)
    shape = [*x.shape[:-rank], *output_size]
    return tuple(torch.stack(parts, -1).view(shape) for parts in (values, places))


# ---- places ------------------------------------------------------------------------------------


def _at(x: Any, dim: int, index: Any) -> Any:
    """Which of the places along ``dim`` are in ``index``, shaped as ``x`` is from there on."""
    n = x.shape[dim]
    index = torch.where(index < 0, index + n, index).reshape(-1)
    hit = (torch.arange(n).unsqueeze(1) == index).any(1)
    return hit.view([-1, *[1] * (x.dim() - 1 - dim % x.dim())])


def _scalar(value: Any, x: Any) -> Any:
    """A number as a tensor of ``x``'s dtype; tensors are converted."""
    if isinstance(value, torch.Tensor):
        return value.to(x.dtype)
    return torch.full((), value, dtype=x.dtype)


@_part(A.index_fill.int_Scalar, A.index_fill.int_Tensor)
def _index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    return torch.where(_at(x, dim, index), _scalar(value, x), x)


def _index_along(x: Any, dim: int, index: Any, like: Any) -> Any:
    shape = [1] * x.dim()
    shape[dim] = -1
    return index.view(shape).expand(like.shape)


@_part(A.index_add.default)
def _index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    added = source if alpha == 1 else source * alpha
    return x.scatter_add(dim, _index_along(x, dim, index, source), added)


@_part(A.index_copy.default)
def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    return x.scatter(dim, _index_along(x, dim, index, source), source)


@_part(A.masked_select.default)
def _masked_select(x: Any, mask: Any) -> Any:
    x, mask = torch.broadcast_tensors(x, mask)
    return x[mask]


@_part(A.take.default)
def _take(x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


# ---- elements ----------------------------------------------------------------------------------


@_part(A.trace.default)
def _trace(x: Any) -> Any:
    return x.diagonal().sum()


@_part(A.eye.default)
def _eye(n: int, **options: Any) -> Any:
    return _eye_m(n, n, **options)


@_part(A.eye.m)
def _eye_m(n: int, m: int, *, dtype: Any = None, **_: Any) -> Any:
    hit = torch.arange(n).unsqueeze(1) == torch.arange(m)
    return hit.to(torch.get_default_dtype() if dtype is None else dtype)


@_part(A.squeeze.dims)
def _squeeze(x: Any, dims: Any) -> Any:
    for d in sorted((d % x.dim() for d in dims), reverse=True):
        x = x.squeeze(d)
    return x


@_part(A.bucketize.Tensor)
def _bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    below = boundaries <= x.unsqueeze(-1) if right else boundaries < x.unsqueeze(-1)
    return below.to(torch.int32 if out_int32 else torch.int64).sum(
        -1, dtype=torch.int32 if out_int32 else torch.int64
    )


@_part(A.searchsorted.Tensor)
def _searchsorted(
    sequence: Any, x: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    if sorter is not None:
        return NotImplemented
    rows = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2)
    return _bucketize(x, rows, out_int32=out_int32, right=right or side == "right")


@_part(A.ldexp.Tensor)
def _ldexp(x: Any, other: Any) -> Any:
    return x * torch.exp2(other)


@_part(A.max_unpool2d.default)
def _max_unpool2d(x: Any, indices: Any, output_size: Any) -> Any:
    size = [*x.shape[:-2], *output_size]
    empty = x.new_zeros([*x.shape[:-2], output_size[0] * output_size[1]])
    return empty.scatter(-1, indices.flatten(-2), x.flatten(-2)).view(size)


@_part(A.affine_grid_generator.default)
def _affine_grid(theta: Any, size: Any, align_corners: bool) -> Any:
    axes = []
    for place, n in enumerate(reversed(size[2:])):
        steps = torch.arange(n, dtype=theta.dtype)
        ends = steps * (2.0 / (n - 1)) - 1.0 if n > 1 else steps
        axis = ends if align_corners else (steps * 2.0 + 1.0) / n - 1.0
        axes.append(axis.view([-1, *[1] * place]).expand(size[2:]))
    base = torch.stack([*axes, torch.ones_like(axes[0])], -1)
    rank = len(axes)
    found = base.view(1, -1, rank + 1) @ theta.transpose(1, 2)
    return found.view([size[0], *size[2:], rank])
