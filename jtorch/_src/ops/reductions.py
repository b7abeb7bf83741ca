"""Sums, products and extrema over dimensions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.intervals import in_range
from ..facts import dtypes
from ..facts.devices import of_placement
from ..facts.errors import canonical_dims
from ..facts.layouts import strided
from ._axes import (
    accumulated,
    category,
    one_dim,
    positions,
    reduced_dims,
    restored,
    select_fwd,
    select_grad,
    squeezed,
    to_dtype,
)
from ._columns import in_columns
from ._declare import Array, Dtype, defvjp, op, reduction
from ._derivatives import A, D, derivative
from ._extrema import extremum
from ._facts import schemas
from ._hosted import INT64, REALS, hosted, reduced
from ._nodes import along
from ._numeric import is_complex, is_integral, quotient, scalar_name, unsupported, wide
from ._sizes import fewer, numbers

if TYPE_CHECKING:
    from ...core import Tensor
    from ..aten.recording import About


def _asked(x: Array) -> np.dtype | None:
    """The dtype in which to add up or multiply: without one JAX widens small integers; with one it
    does not widen halves on the way."""
    return np.dtype(x.dtype) if is_integral(x) else None


def _summed(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    if x.dtype == np.bool_:
        return jnp.any(x, axis=dims, keepdims=keepdim)
    if is_integral(x):
        return in_columns(functools.partial(jnp.sum, dtype=_asked(x)), x, dims, keepdim)
    return jnp.sum(x, axis=dims, keepdims=keepdim)


def _counted(hit: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """How many are true, as int64; counted in 32 bits, twice as many at a time."""
    narrow = np.dtype(np.int32 if fewer(hit.size, 2**31) else np.int64)
    return in_columns(functools.partial(jnp.sum, dtype=narrow), hit, dims, keepdim).astype(np.int64)


@reduction(
    saves=(),
    computes_out=True,
    aten="sum.dim_IntList",
    out_dtype="expected",
    node=along("Sum"),
    autocast="cuda float32",
    unsaid=("keepdim:dim",),
)
@schemas(
    ".dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor ; =IntList_out",
    "(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =out",
)
def sum(
    input: Array,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """Sums over ``dim``, or over everything.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the dtype to convert to before, and of the result.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: integers and bool are summed in int64, others keep theirs; ``dtype`` converts the input
    first.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.sum(x)
        tensor(10)
        >>> torch.sum(x, dim=1, keepdim=True)
        tensor([[3],
                [7]])
    """
    if input.dtype == np.bool_ and dtype is None:
        return _counted(input, reduced_dims(input, dim), keepdim)
    return _summed(accumulated(input, dtype), reduced_dims(input, dim), keepdim)


derivative(A.sum, self=lambda g, self_: A.expand.default(g, self_.shape))


def _sum_formula(g: Tensor, self_: About, dim: list[int], keepdim: bool) -> Tensor:
    return A.expand.default(D.unsqueezed(g, dim, self_.ndim, keepdim), self_.shape)


derivative(A.sum.dim_IntList, self=_sum_formula)


@reduction(saves=("input",), aten="nansum")
def nansum(
    input: Array,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """Sums over ``dim``, or over everything, taking NaN as zero.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: integers and bool are summed in int64, others keep theirs; ``dtype`` converts the input
    first.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: for complex tensors, or if a dimension is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
        tensor(3.)
    """
    if is_complex(input):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    kept = (
        jnp.where(jnp.isnan(input), jnp.zeros((), input.dtype), input)
        if category(input.dtype) == dtypes.FLOATING
        else input
    )
    return _summed(accumulated(kept, dtype), reduced_dims(input, dim), keepdim)


def _sum_of(g: object, self: Tensor, dim: object, keepdim: object) -> object:
    """The gradient of a sum, in the shape of its operand."""
    return A.expand.default(
        g if dim is None else D.unsqueezed(g, dim, self._aval.ndim, keepdim), list(self._aval.shape)
    )


def _nansum_formula(g: object, self: Any, dim: object, keepdim: bool) -> object:
    present = A.logical_not.default(A.isnan.default(self))
    return A.mul.Tensor(_sum_of(g, self, dim, keepdim), present)


derivative(A.nansum, self=_nansum_formula)


def _mean_dtype(input: Array, dtype: Dtype | None) -> np.dtype:
    found = input.dtype if dtype is None else dtype
    if category(found) < dtypes.FLOATING:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point "
            f"or complex dtype. Got: {scalar_name(found)}"
        )
    return np.dtype(found)


def _averaged(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    count = math.prod([x.shape[d] for d in dims])
    total = jnp.sum(wide(x), axis=dims, keepdims=keepdim)
    return to_dtype(quotient(total, count) if count else jnp.full_like(total, np.nan), x.dtype)


@reduction(saves=(), aten="mean.dim", node=along("Mean"), unsaid=("keepdim:dim",))
@schemas(
    "(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =dtype_out",
    ".dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; "
    "=out",
)
def mean(
    input: Array,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """Averages over ``dim``, or over everything.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the dtype to convert to before, and of the result.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: floating-point and complex ones, kept; ``dtype`` converts the input first.

    Raises:
        RuntimeError: for integers and bool, unless ``dtype`` is a floating-point type, or if a
            dimension is given twice.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
        >>> torch.mean(x)
        tensor(3.)
        >>> torch.mean(x, dim=0)
        tensor([2., 4.])
    """
    return _averaged(to_dtype(input, _mean_dtype(input, dtype)), reduced_dims(input, dim), keepdim)


derivative(A.mean, self=lambda g, self_: A.div.Scalar(A.expand.default(g, self_.shape), self_.size))
derivative(
    A.mean.dim,
    self=lambda g, self_, dim, keepdim: A.div.Scalar(
        _sum_formula(g, self_, dim, keepdim),
        math.prod(self_.shape[d] for d in D.dims_of(dim, self_.ndim)) if self_.ndim else 1,
    ),
)


@reduction(saves=("input",), aten="nanmean", node="DivBackward0", implicit=True)
def nanmean(
    input: Array,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Array:
    """Averages over ``dim`` the elements that are not NaN; where there is none, the result is NaN.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: real floating-point ones, kept; ``dtype`` converts the input first.

    Raises:
        RuntimeError: for integers, bool and complex tensors, or if a dimension is given twice.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0]))
        tensor(2.)
    """
    if category(input.dtype) < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{scalar_name(input.dtype)}"
        )
    if is_complex(input):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    dims = reduced_dims(input, dim)
    missing = jnp.isnan(input)
    kept = to_dtype(
        jnp.where(missing, jnp.zeros((), input.dtype), input), _mean_dtype(input, dtype)
    )
    # Sums of float32 vectorise as those of integers do not, and are exact up to there.
    count = jnp.sum(
        ~missing,
        axis=dims,
        keepdims=keepdim,
        dtype=np.float32 if fewer(input.size, 2**24 + 1) else np.int64,
    )
    total = jnp.sum(wide(kept), axis=dims, keepdims=keepdim)
    return to_dtype(total / count.astype(total.dtype), kept.dtype)


#: Of fewer elements the derivative of a product does without a look for zeros, which is a branch.
MANY_FACTORS = 1 << 12


@reduction(
    saves=("input",),
    computes_out=True,
    aten="prod.dim_int",
    out_dtype="expected",
    node=along("Prod"),
    autocast="float32",
    unsaid=("dim", "keepdim:dim"),
)
@schemas(
    "(Tensor self, *, ScalarType? dtype=None) -> Tensor ; =out",
    ".dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor ; "
    "=int_out",
)
def prod(
    input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: Dtype | None = None
) -> Array:
    """Multiplies over ``dim``, or over everything.

    Args:
        input: the tensor.
        dim: the dimension to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the dtype to convert to before, and of the result.

    Shapes: the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``.

    Dtypes: integers and bool are multiplied in int64, others keep theirs; ``dtype`` converts the
    input first.

    Gradient: right where elements are zero.

    Raises:
        IndexError: if ``dim`` is out of range.
        TypeError: for several dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.prod(torch.tensor([[1, 2], [3, 4]]), dim=1)
        tensor([ 2, 12])
    """
    if isinstance(dim, tuple):
        raise TypeError("prod(): argument 'dim' must be int, not tuple")
    x = accumulated(input, dtype)
    dims = reduced_dims(input, dim)
    if x.dtype == np.bool_:
        return jnp.all(x, axis=dims, keepdims=keepdim)
    return in_columns(functools.partial(jnp.prod, dtype=_asked(x)), x, dims, keepdim, rows=True)


def _prod_rule(
    g: Array,
    result: Array,
    input: Array,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> tuple[Array]:
    """The product by each element where none is zero, as PyTorch has it; else the products of the
    others."""

    def of_others(g: Array, result: Array, x: Array) -> Array:
        return jnp.conj(jax.vjp(lambda x: prod(x, dim, keepdim, dtype=dtype), x)[1](jnp.conj(g))[0])

    if (
        input.dtype.kind != "f"
        or not numbers(input.size)
        or fewer(input.size, MANY_FACTORS)
        or dtype not in (None, input.dtype)
    ):
        return (of_others(g, result, input),)
    dims = reduced_dims(input, dim)

    def by_each(g: Array, result: Array, x: Array) -> Array:
        return restored(g, dims, keepdim) * (restored(result, dims, keepdim) / x)

    return (lax.cond(jnp.any(input == 0), of_others, by_each, g, result, input),)


defvjp(prod, _prod_rule, saves=("input", "result"))


def _products_of_others(g: Tensor, x: Tensor, dim: int) -> object:
    """``g`` times, for each element along a dimension, the product of all the others: right with
    zeros, too."""
    n = x._aval.shape[dim]
    if not x._aval.size:
        return A.expand.default(g, list(x._aval.shape))
    if n == 1:
        return g
    shape = list(x._aval.shape)
    shape[dim] = 1
    one = A.ones.default(
        shape, dtype=g._aval.torch_dtype, layout=strided, device=of_placement(g._aval.device)
    )
    before = A.cumprod.default(A.cat.default([one, A.slice.Tensor(x, dim, 0, n - 1)], dim), dim)
    rest = A.flip.default(A.slice.Tensor(x, dim, 1, n), [dim])
    after = A.flip.default(A.cumprod.default(A.cat.default([one, rest], dim), dim), [dim])
    return A.mul.Tensor(g, D.conj(A.mul.Tensor(before, after)))


def _prod_formula(g: Any, self: Tensor, result: object) -> object:
    if not self._aval.ndim:
        return A.mul.Tensor(g, D.conj(A.div.Tensor(result, self)))
    found = _products_of_others(g, A.view.default(D.packed(self), [-1]), 0)
    return A.view.default(found, list(self._aval.shape))


derivative(A.prod, self=_prod_formula)


def _prod_dim_formula(g: Any, self: Tensor, dim: int, keepdim: bool, result: object) -> object:
    if not self._aval.ndim:
        return A.mul.Tensor(g, D.conj(A.div.Tensor(result, self)))
    d = dim % self._aval.ndim
    if not keepdim:
        g = A.unsqueeze.default(g, d)
        A.unsqueeze.default(result, d)  # PyTorch prepares it for the case without zeros
    return _products_of_others(g, self, d)


derivative(A.prod.dim_int, self=_prod_dim_formula)


# ---- extrema -------------------------------------------------------------------------------------


def _extremum(x: Array, dims: tuple[int, ...], keepdim: bool, largest: bool) -> Array:
    return (
        in_columns(jnp.max if largest else jnp.min, x, dims, keepdim)
        if is_integral(x)
        else extremum(x, dims, keepdims=keepdim, largest=largest)
    )


def _need_elements(
    name: str, input: Array, dim: int | tuple[int, ...] | None, dims: tuple[int, ...]
) -> None:
    if input.size:
        return
    if dim is None or dim == ():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for d in dims:
        if input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _same(input: Array, value: Array) -> Array:
    """Where ``input`` is ``value``, NaN being NaN."""
    if category(input.dtype) == dtypes.FLOATING:
        return (input == value) | (jnp.isnan(input) & jnp.isnan(value))
    return input == value


def shared_grad(
    g: Array, result: Array, input: Array, dims: tuple[int, ...], keepdim: bool, nan: bool
) -> tuple[Array]:
    """The gradient of an extremum, shared evenly among the elements that attain it."""
    value, g = restored(result, dims, keepdim), restored(g, dims, keepdim)
    hit = _same(input, value) if nan else input == value
    count = jnp.sum(hit, axis=dims, keepdims=True, dtype=np.int64).astype(g.dtype)
    return (
        jnp.where(hit, g / count, jnp.zeros((), g.dtype))
        if nan
        else hit.astype(g.dtype) * (g / count),
    )


@reduction(
    aten="amax",
    out_dtype="Expected the dtype for input and out to match, but got {its} for input's dtype and "
    "{mine} for out's dtype.",
)
def amax(input: Array, dim: int | tuple[int, ...] = (), keepdim: bool = False) -> Array:
    """The largest element over ``dim``, or of all.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is empty.
        keepdim: whether reduced dimensions stay, with size 1.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: real ones and bool, kept.

    Gradient: shared evenly among equal maxima.

    Raises:
        IndexError: if a dimension is out of range or empty.
        RuntimeError: for an empty input without ``dim``, or if a dimension is given twice.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.amax(torch.tensor([[1, 5], [3, 4]]), dim=1)
        tensor([5, 4])
    """
    if is_complex(input):
        raise unsupported("max_values_cpu", input)
    dims = reduced_dims(input, dim)
    _need_elements("amax", input, dim, dims)
    return _extremum(input, dims, keepdim, largest=True)


@reduction(
    aten="amin",
    out_dtype="Expected the dtype for input and out to match, but got {its} for input's dtype and "
    "{mine} for out's dtype.",
)
def amin(input: Array, dim: int | tuple[int, ...] = (), keepdim: bool = False) -> Array:
    """The smallest element over ``dim``, or of all.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: real ones and bool, kept.

    Gradient: shared evenly among equal minima.

    Raises:
        IndexError: if a dimension is out of range or empty.
        RuntimeError: for an empty input without ``dim``, or if a dimension is given twice.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.amin(torch.tensor([[1, 5], [3, 4]]), dim=1)
        tensor([1, 3])
    """
    if is_complex(input):
        raise unsupported("min_values_cpu", input)
    dims = reduced_dims(input, dim)
    _need_elements("amin", input, dim, dims)
    return _extremum(input, dims, keepdim, largest=False)


def _amax_rule(
    g: Array, result: Array, input: Array, dim: int | tuple[int, ...] = (), keepdim: bool = False
) -> tuple[Array]:
    return shared_grad(g, result, input, canonical_dims(dim, input.ndim), keepdim, nan=False)


defvjp(amax, _amax_rule, saves=("input", "result"))
defvjp(amin, _amax_rule, saves=("input", "result"))


def _amax_formula(g: object, self: Tensor, dim: object, keepdim: object, result: object) -> object:
    ndim = self._aval.ndim
    reduced = D.dims_of(dim, ndim)
    shape = [1 if d in reduced else n for d, n in enumerate(self._aval.shape)] if dim else []
    mask = A.eq.Tensor(result if keepdim or not ndim else A.view.default(result, shape), self)
    g = g if keepdim or not ndim else A.view.default(g, shape)
    return A.mul.Tensor(A.div.Tensor(g, A.sum.dim_IntList(mask, dim, True)), mask)


derivative(A.amax, A.amin, self=_amax_formula)


@reduction(returns="aminmax", fields=("min", "max"), aten="aminmax", out_dtype="expected")
def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest and the largest element along ``dim``, or of all.

    Shapes: twice the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``.

    Dtypes: real ones and bool, kept.

    Gradient: shared evenly among equal extrema.

    Raises:
        IndexError: if ``dim`` is out of range or empty.
        RuntimeError: for an empty input without ``dim``.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.aminmax(torch.tensor([3, 1, 2]))
        torch.return_types.aminmax(
        min=tensor(1),
        max=tensor(3))
    """
    if is_complex(input):
        raise unsupported("aminmax_cpu", input)
    dims = reduced_dims(input, dim)
    if input.size == 0:
        if dim is None:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                "identity."
            )
        if input.shape[dims[0]] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {dims[0]} to have non-zero size.")
    return _extremum(input, dims, keepdim, largest=False), _extremum(
        input, dims, keepdim, largest=True
    )


def _aminmax_rule(
    g: tuple[Array, Array],
    result: tuple[Array, Array],
    input: Array,
    *,
    dim: int | None = None,
    keepdim: bool = False,
) -> tuple[Array]:
    dims = canonical_dims(dim, input.ndim)
    (low,), (high,) = (
        shared_grad(gi, r, input, dims, keepdim, nan=False) for gi, r in zip(g, result, strict=True)
    )
    return (low + high,)


defvjp(aminmax, _aminmax_rule, saves=("input", "result"))


def _spread(g: object, value: object, self: Tensor, dim: object, keepdim: bool) -> Any:
    ndim = self._aval.ndim
    dims = None if dim is None else [dim]
    if ndim and not keepdim:
        reduced = D.dims_of(dims, ndim)
        shape = [1 if d in reduced else n for d, n in enumerate(self._aval.shape)]
        value, g = A.view.default(value, shape), A.view.default(g, shape)
    mask = A.eq.Tensor(self, value)
    return A.mul.Tensor(A.div.Tensor(g, A.sum.dim_IntList(mask, dims or [], True)), mask)


def _aminmax_formula(
    grads: Any, self: Any, dim: object, keepdim: bool, result: object, result1: object
) -> object:
    found = None
    for g, value in zip(grads, (result, result1), strict=True):
        if g is not None:
            part = _spread(g, value, self, dim, keepdim)
            found = part if found is None else A.add.Tensor(found, part)
    return found


derivative(A.aminmax, self=_aminmax_formula)


def _whole(name: str, input: Array, largest: bool) -> Array:
    _need_elements(name, input, None, ())
    if is_complex(input):
        raise unsupported(f"{name}_all", input)
    return _extremum(input, tuple(range(input.ndim)), False, largest)


@op(namespace="_C", out=True, aten="max", node="MaxBackward1")
def _max_all(input: Array) -> Array:
    """The largest element. Gradient: shared evenly among equal maxima."""
    return _whole("max", input, largest=True)


@op(namespace="_C", out=True, aten="min", node="MinBackward1")
def _min_all(input: Array) -> Array:
    """The smallest element. Gradient: shared evenly among equal minima."""
    return _whole("min", input, largest=False)


def _all_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return shared_grad(g, result, input, tuple(range(input.ndim)), False, nan=True)


defvjp(_max_all, _all_rule, saves=("input", "result"))
defvjp(_min_all, _all_rule, saves=("input", "result"))


def first_position(x: Array, value: Array, axis: int) -> Array:
    """The first place along ``axis`` where ``x`` is its extremum ``value`` (kept as size 1), or
    NaN.

    Two vectorised passes: XLA's reduction of (value, index) pairs is twenty times slower on CPUs.
    """
    hit = x == value
    if category(x.dtype) == dtypes.FLOATING:
        hit |= x != x
    index = positions(x, axis)
    end = jnp.full((), np.iinfo(index.dtype).max, index.dtype)
    return in_range(
        jnp.min(jnp.where(hit, index, end), axis=axis, keepdims=True).astype(np.int64),
        0,
        x.shape[axis] - 1,
    )


def _along(name: str, input: Array, dim: int, keepdim: bool, largest: bool) -> tuple[Array, Array]:
    x, axis = one_dim(input, dim, name)
    if is_complex(input):
        raise RuntimeError(f"{name}(): does not support complex input")
    value = _extremum(x, (axis,), True, largest)
    index = in_range(_place(x, axis=axis, largest=largest), 0, x.shape[axis] - 1)
    return squeezed(value, axis, input.ndim, keepdim), squeezed(index, axis, input.ndim, keepdim)


@op(
    namespace="_C", out=True, saves=(), returns="max", fields=("values", "indices"), aten="max.dim",
    node="MaxBackward0", out_dtype="expected",
)  # fmt: skip
def _max_dim(input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The largest elements along ``dim`` and the first places where they stand. Gradient: to those
    places."""
    return _along("max", input, dim, keepdim, largest=True)


@op(
    namespace="_C", out=True, saves=(), returns="min", fields=("values", "indices"), aten="min.dim",
    node="MinBackward0", out_dtype="expected",
)  # fmt: skip
def _min_dim(input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest elements along ``dim`` and the first places where they stand. Gradient: to those
    places."""
    return _along("min", input, dim, keepdim, largest=False)


def _dim_rule(
    g: tuple[Array, object], residuals: tuple[Array], input: Array, dim: int, keepdim: bool = False
) -> tuple[Array]:
    return select_grad(g[0], residuals[0], input, dim, keepdim)


defvjp(_max_dim, _dim_rule, fwd=select_fwd(_max_dim), saves=(), shown=(1,))
defvjp(_min_dim, _dim_rule, fwd=select_fwd(_min_dim), saves=(), shown=(1,))


def _by_numpy(axis: int, largest: bool) -> Callable[[np.ndarray], np.ndarray]:
    return functools.partial(
        np.ndarray.argmax if largest else np.ndarray.argmin, axis=axis, keepdims=True
    )  # type: ignore[return-value]


@hosted(_by_numpy, ns=2, dtypes=REALS, elementwise=False, shape=reduced, gives=INT64)
def _place(x: Array, *, axis: int, largest: bool) -> Array:
    """The first place along ``axis``, which is kept, of the extremum or of NaN."""
    return first_position(x, _extremum(x, (axis,), True, largest), axis)


def _arg(name: str, input: Array, dim: int | None, keepdim: bool, largest: bool) -> Array:
    if is_complex(input):
        raise RuntimeError(f"{name}(): does not support complex input")
    if input.dtype == np.bool_:
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        if input.size == 0:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        x = lax.reshape(input, (input.size,))
        index = in_range(_place(x, axis=0, largest=largest), 0, input.size - 1)
        return lax.reshape(index, (1,) * input.ndim if keepdim else ())
    x, axis = one_dim(input, dim, name)
    index = (
        in_range(_place(x, axis=axis, largest=largest), 0, x.shape[axis] - 1)
        if x.size
        else _place(x, axis=axis, largest=largest)
    )
    return squeezed(index, axis, input.ndim, keepdim)


@reduction(differentiable=False, aten="argmax", out_dtype="expected")
def argmax(input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The first place of the largest element along ``dim``, or in the flattened input; NaN counts
    as largest.

    Args:
        input: the tensor.
        dim: the dimension along which to look; None for the flattened tensor.
        keepdim: whether reduced dimensions stay, with size 1.

    Shapes: the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``; ()
    without ``dim``.

    Dtypes: real ones -> int64.

    Raises:
        IndexError: if ``dim`` is out of range or empty, or there are no elements.
        RuntimeError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 5], [7, 4]])
        >>> torch.argmax(x)
        tensor(2)
        >>> torch.argmax(x, dim=1)
        tensor([1, 0])
    """
    return _arg("argmax", input, dim, keepdim, largest=True)


@reduction(differentiable=False, aten="argmin", out_dtype="expected")
def argmin(input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The first place of the smallest element along ``dim``, or in the flattened input; NaN counts
    as smallest.

    Shapes: the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``; ()
    without ``dim``.

    Dtypes: real ones -> int64.

    Raises:
        IndexError: if ``dim`` is out of range or empty, or there are no elements.
        RuntimeError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.argmin(torch.tensor([[1, 5], [7, 4]]), dim=1)
        tensor([0, 1])
    """
    return _arg("argmin", input, dim, keepdim, largest=False)
