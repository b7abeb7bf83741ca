"""Reductions whose public form chooses among several kernels: by whether there is a dimension, or a
second tensor."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.arguments import whole
from ..bind.cores import composite
from ..bind.everything import _C, PUBLIC, L, T
from ..facts.errors import must_be_tensor
from ..facts.warned_once import outside
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..engine.values import Aval
    from ..facts.kinds import Named


def invalid_combination(name: str, got: str) -> TypeError:
    return TypeError(f"{name}() received an invalid combination of arguments - got {got}")


def _extremum(
    name: str,
    pairwise: str,
    input: Tensor,
    dim: int | None,
    keepdim: bool,
    other: object,
    out: object,
) -> object:
    if isinstance(dim, Tensor):
        if other is not None:
            raise invalid_combination(name, "two tensors to compare with")
        other, dim = dim, None
    if other is not None:
        if dim is not None:
            raise invalid_combination(name, "both dim and other")
        return PUBLIC[pairwise](input, other, out=out)
    if dim is None:
        if keepdim:
            raise invalid_combination(name, "keepdim without dim")
        return getattr(_C, f"_{name}_all")(input, out=out)
    if isinstance(dim, (tuple, list)):
        raise invalid_combination(name, f"(Tensor, {type(dim).__name__})")
    return getattr(_C, f"_{name}_dim")(input, whole(name, "dim", dim), keepdim, out=out)


@composite(
    method=True,
    operands=("input", "dim", "other", "out"),
    implicit=("max.other",),
    unsaid=("dim", "keepdim:dim"),
)
@schemas(
    ".other(Tensor self, Tensor other) -> Tensor ; =out",
    "(Tensor self) -> Tensor ; =unary_out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; "
    "=dim_max:max,max_values",
)
def max(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None
) -> Any:
    """The largest element; along ``dim``, a named tuple of the largest ``values`` and ``indices``;
    with a second tensor, ``maximum``.

    Args:
        input: the tensor.
        dim: the dimension to reduce, or the other tensor of the elementwise form; None for all
            dimensions.
        keepdim: whether reduced dimensions stay, with size 1.
        other: the other tensor of the elementwise form.
        out: a tensor for the result; of the form with ``dim`` two of them, for values and indices.

    Shapes: () for all elements; along ``dim`` two of the input's shape without it, or with 1 there
    if ``keepdim``.

    Dtypes: real ones and bool; indices are int64.

    Gradient: along ``dim`` to the first of equal maxima, otherwise shared evenly.

    Raises:
        NotImplementedError, RuntimeError: for complex tensors.
        RuntimeError: if there is no element to choose.
        IndexError: if ``dim`` is out of range, or along an empty dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.max(torch.tensor([3, 1, 2]))
        tensor(3)
        >>> torch.max(torch.tensor([[1, 5], [4, 2]]), dim=1)
        torch.return_types.max(
        values=tensor([5, 4]),
        indices=tensor([1, 0]))
        >>> torch.max(torch.tensor([1, 5]), torch.tensor([3, 3]))
        tensor([3, 5])
    """
    return _extremum("max", "maximum", input, dim, keepdim, other, out)


@composite(
    method=True,
    operands=("input", "dim", "other", "out"),
    implicit=("min.other",),
    unsaid=("dim", "keepdim:dim"),
)
@schemas(
    ".other(Tensor self, Tensor other) -> Tensor ; =out",
    "(Tensor self) -> Tensor ; =unary_out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; "
    "=dim_min:min,min_indices",
)
def min(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None
) -> Any:
    """The smallest element; along ``dim``, a named tuple of the smallest ``values`` and
    ``indices``; with a second tensor, ``minimum``.

    Args:
        input: the tensor.
        dim: the dimension to reduce, or the other tensor of the elementwise form; None for all
            dimensions.
        keepdim: whether reduced dimensions stay, with size 1.
        other: the other tensor of the elementwise form.
        out: a tensor for the result; of the form with ``dim`` two of them, for values and indices.

    Shapes: () for all elements; along ``dim`` two of the input's shape without it, or with 1 there
    if ``keepdim``.

    Dtypes: real ones and bool; indices are int64.

    Gradient: along ``dim`` to the first of equal minima, otherwise shared evenly.

    Raises:
        NotImplementedError, RuntimeError: for complex tensors.
        RuntimeError: if there is no element to choose.
        IndexError: if ``dim`` is out of range, or along an empty dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.min(torch.tensor([3, 1, 2]))
        tensor(1)
        >>> torch.min(torch.tensor([[1, 5], [4, 2]]), dim=1)
        torch.return_types.min(
        values=tensor([1, 2]),
        indices=tensor([0, 1]))
    """
    return _extremum("min", "minimum", input, dim, keepdim, other, out)


def _middle(name: str, input: object, dim: int | None, keepdim: bool, out: object) -> object:
    if dim is None:
        if keepdim:
            raise invalid_combination(name, "keepdim without dim")
        return getattr(_C, f"_{name}_all")(input, out=out)
    return getattr(_C, f"_{name}_dim")(input, whole(name, "dim", dim), keepdim, out=out)


@composite(method=True, operands=("input", "out"), unsaid=("dim", "keepdim:dim"))
@schemas(
    "(Tensor self) -> Tensor ; =out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; "
    "=dim_values:values,indices",
)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower median of all elements; along ``dim``, a named tuple of the medians' ``values`` and
    ``indices``. NaN if there is one.

    Shapes: () for all elements; along ``dim`` two of the input's shape without it, or with 1 there
    if ``keepdim``.

    Dtypes: real ones; indices are int64.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.median(torch.tensor([5, 1, 2, 9]))
        tensor(2)
        >>> torch.median(torch.tensor([[1, 5, 3], [4, 2, 6]]), dim=1)
        torch.return_types.median(
        values=tensor([3, 4]),
        indices=tensor([2, 0]))
    """
    return _middle("median", input, dim, keepdim, out)


@composite(method=True, operands=("input", "out"), unsaid=("dim", "keepdim:dim"))
@schemas(
    "(Tensor self) -> Tensor ; =out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) ; "
    "=dim_values:values,indices",
)
def nanmedian(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The lower median of the elements that are not NaN; along ``dim``, a named tuple of ``values``
    and ``indices``.

    Shapes: () for all elements; along ``dim`` two of the input's shape without it, or with 1 there
    if ``keepdim``.

    Dtypes: real ones; indices are int64.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.nanmedian(torch.tensor([5.0, float("nan"), 2.0]))
        tensor(2.)
    """
    return _middle("nanmedian", input, dim, keepdim, out)


derivative(
    A.max.dim,
    A.min.dim,
    A.median.dim,
    A.nanmedian.dim,
    results=(0,),
    self=lambda g, self_, dim, keepdim, result1: D.picked(g, self_, dim, result1, keepdim),
)


def _evenly_formula(g: object, self: object, result: object) -> object:
    missing = A.logical_and.default(A.isnan.default(self), A.isnan.default(result))
    mask = A.logical_or_.default(A.eq.Tensor(self, result), missing)
    share = A.div.Tensor(g, A.sum.default(mask))
    return A.mul.Tensor(mask, share)


derivative(A.max, A.min, A.median, A.nanmedian, self=_evenly_formula)


# ---- variance ------------------------------------------------------------------------------------


def _spread_options(
    name: str, input: Tensor, dim: Any, unbiased: bool | None, correction: float | None
) -> tuple[Any, float]:
    """``dim`` and the correction; ``std(input, unbiased)`` gives a bool where others give ``dim``.
    Warns of too few elements."""
    if isinstance(dim, bool):
        if unbiased is not None:
            raise invalid_combination(name, "unbiased twice")
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise invalid_combination(name, "both unbiased and correction")
        correction = 1 if unbiased else 0
    dim, correction = (
        (tuple(dim) if isinstance(dim, list) else dim),
        1 if correction is None else correction,
    )
    _check_freedom(name, input._aval, dim, correction)
    return dim, correction


def _check_freedom(name: str, aval: Aval, dim: tuple[int, ...] | None, correction: float) -> None:
    count = aval.size
    if dim is not None and type(count) is int and count and aval.ndim and dim != ():
        try:
            count = aval.shape[dim] if type(dim) is int else math.prod([aval.shape[d] for d in dim])
        except IndexError:  # which the operation raises
            return
    if type(count) is int and count <= correction:  # of symbolic sizes nothing is asked
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            stacklevel=outside(),
        )


@composite(
    method=True,
    operands=("input", "out"),
    implicit=("var.default", "var.dim"),
    unsaid=("unbiased",),
)
@schemas(
    "(Tensor self, bool unbiased=True) -> Tensor",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor ; =out",
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "Tensor ; =correction_out",
)
def var(
    input: Tensor, dim: int | tuple[int, ...] | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """The variance over ``dim``, or of everything: summed squared deviations over (count -
    ``correction``), by default 1.

    ``unbiased=False`` is the older spelling of ``correction=0``; ``var(input, unbiased)`` is
    understood too.

    Shapes: that of ``input`` without the dimensions ``dim`` (all by default), which are 1 with
    ``keepdim``.

    Dtypes: floating-point and complex ones; the variance of complex numbers is real.

    Raises:
        RuntimeError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.var(torch.tensor([1.0, 2.0, 3.0, 6.0]))
        tensor(4.6667)
        >>> torch.var(torch.tensor([[1.0, 3.0], [2.0, 6.0]]), dim=1, correction=0)
        tensor([1., 4.])
    """
    dim, correction = _spread_options("var", input, dim, unbiased, correction)
    return _C._var(input, dim, correction, keepdim, out=out)


def _var_formula(g: object, self: Tensor, dim: object, correction: Any, keepdim: object) -> object:
    ndim = self._aval.ndim
    correction = 1 if correction is None else correction
    n = math.prod(self._aval.shape[d] for d in D.dims_of(dim, ndim))
    left = n - correction
    scale = 2 / left if left else math.inf
    if dim is None or dim == [] or not ndim:
        centred = A.sub.Tensor(self, A.mean.default(self))
    else:
        g = D.unsqueezed(g, dim, ndim, keepdim)
        centred = A.sub.Tensor(self, A.mean.dim(self, dim, True))
    return A.mul.Tensor(A.mul.Scalar(g, scale), centred)


derivative(A.var.correction, self=_var_formula)


@composite(
    method=True,
    operands=("input", "out"),
    implicit=("std.default", "std.dim"),
    unsaid=("unbiased",),
)
@schemas(
    "(Tensor self, bool unbiased=True) -> Tensor",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor ; =out",
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "Tensor ; =correction_out",
)
def std(
    input: Tensor, dim: int | tuple[int, ...] | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """The standard deviation over ``dim``, or of everything: the root of ``var``.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        unbiased: whether to divide by one less than the number of elements; as ``correction`` of 1
            or 0.
        keepdim: whether reduced dimensions stay, with size 1.
        correction: what is taken from the number of elements in the divisor, 1 by default.

    Shapes: that of ``input`` without the dimensions ``dim`` (all by default), which are 1 with
    ``keepdim``.

    Dtypes: floating-point and complex ones; the deviation of complex numbers is real.

    Gradient: 0 where the elements are equal.

    Raises:
        RuntimeError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.std(torch.tensor([1.0, 3.0, 5.0]))
        tensor(2.)
    """
    dim, correction = _spread_options("std", input, dim, unbiased, correction)
    return _C._std(input, dim, correction, keepdim, out=out)


def _std_formula(
    g: object, self: Tensor, dim: object, correction: object, keepdim: object, result: object
) -> object:
    scaled = A.div.Tensor(g, A.mul.Scalar(result, 2))
    scaled = A.masked_fill_.Scalar(scaled, A.eq.Scalar(result, 0), 0)
    return _var_formula(scaled, self, dim, correction, keepdim)


derivative(A.std.correction, self=_std_formula)


@composite(operands=("input",), implicit=("var_mean.default", "var_mean.dim"), unsaid=("unbiased",))
@schemas(
    "(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "(Tensor, Tensor) ; =correction_out:out0,out1",
)
def var_mean(
    input: Tensor, dim: int | tuple[int, ...] | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> Any:  # fmt: skip
    """The variance and the mean over ``dim``, as ``var`` and ``mean`` give them.

    Shapes: two of the input's shape without the dimensions ``dim`` (all by default), which are 1
    with ``keepdim``.

    Dtypes: floating-point and complex ones; the variance of complex numbers is real.

    Raises:
        RuntimeError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.var_mean(torch.tensor([1.0, 3.0, 5.0]))
        (tensor(4.), tensor(3.))
    """
    dim, correction = _spread_options("var_mean", input, dim, unbiased, correction)
    return _C._var_mean(input, dim, correction, keepdim)


def _moments(grads: Any, self: Tensor, dim: object, keepdim: bool, found: object) -> object:
    """The gradient of a spread, with that of the mean that comes with it."""
    if grads[1] is not None:
        n = math.prod(self._aval.shape[d] for d in D.dims_of(dim, self._aval.ndim))
        part = A.div.Scalar(
            A.expand.default(
                D.unsqueezed(grads[1], dim, self._aval.ndim, keepdim), list(self._aval.shape)
            ),
            n,
        )
        found = part if found is None else A.add.Tensor(found, part)
    return found


def _var_mean_formula(
    grads: Any, self: Tensor, dim: object, correction: object, keepdim: bool
) -> object:
    return _moments(
        grads,
        self,
        dim,
        keepdim,
        None if grads[0] is None else _var_formula(grads[0], self, dim, correction, keepdim),
    )


derivative(A.var_mean.correction, self=_var_mean_formula)


@composite(operands=("input",), implicit=("std_mean.default", "std_mean.dim"), unsaid=("unbiased",))
@schemas(
    "(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
    "(Tensor, Tensor) ; =correction_out:out0,out1",
)
def std_mean(
    input: Tensor, dim: int | tuple[int, ...] | None = None, unbiased: bool | None = None,
    keepdim: bool = False, *, correction: float | None = None,
) -> Any:  # fmt: skip
    """The standard deviation and the mean over ``dim``, as ``std`` and ``mean`` give them.

    Shapes: two of the input's shape without the dimensions ``dim`` (all by default), which are 1
    with ``keepdim``.

    Dtypes: floating-point and complex ones; the deviation of complex numbers is real.

    Raises:
        RuntimeError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.std_mean(torch.tensor([1.0, 3.0, 5.0]))
        (tensor(2.), tensor(3.))
    """
    dim, correction = _spread_options("std_mean", input, dim, unbiased, correction)
    return _C._std_mean(input, dim, correction, keepdim)


def _std_mean_formula(
    grads: Any, self: Tensor, dim: object, correction: object, keepdim: bool, result: object
) -> object:
    return _moments(
        grads,
        self,
        dim,
        keepdim,
        None
        if grads[0] is None
        else _std_formula(grads[0], self, dim, correction, keepdim, result),
    )


derivative(A.std_mean.correction, self=_std_mean_formula)


# ---- norms ---------------------------------------------------------------------------------------


@composite(operands=("input", "out"), native=False, home="functional", autocast="cuda float32")
@schemas(
    ".Scalar(Tensor self, Scalar p=2) -> Tensor ; =Scalar_out",
    ".ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor ; =out",
    ".ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) "
    "-> Tensor ; =dtype_out",
    ".ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor ; "
    "=ScalarOpt_dtype_out",
)
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The ``p``-norm over ``dim`` or of all elements; ``"fro"`` is the 2-norm, ``"nuc"`` the
    nuclear norm of matrices.

    Args:
        input: the tensor.
        p: the order of the norm, ``"fro"`` or ``"nuc"``.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the dtype to compute in.

    Shapes: that of ``input`` without the dimensions ``dim`` (all by default), which are 1 with
    ``keepdim``.

    Dtypes: floating-point and complex ones -> the real type; ``dtype`` converts first.

    Raises:
        RuntimeError: for another string, and for more than two dimensions with ``"fro"`` or
            ``"nuc"``.

    Example:
        >>> import jtorch as torch
        >>> torch.norm(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor(5.)
        >>> torch.norm(torch.tensor([[3.0, 4.0], [1.0, -2.0]]), p=1, dim=1)
        tensor([7., 3.])
    """
    given: Named = {"dtype": dtype, "out": out}
    if not isinstance(input, Tensor):
        raise must_be_tensor("norm", "input", 1, input)
    if isinstance(p, str):
        if p == "fro" and (dim is None or isinstance(dim, int) or len(dim) <= 2):
            return L.vector_norm(input, 2, dim, keepdim, **given)
        return L.matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, **given)
    dims = range(input.ndim) if dim is None else dim
    return L.vector_norm(
        input,
        2.0 if p is None else p,
        dims if isinstance(dims, int) else tuple(dims),
        keepdim,
        **given,
    )


@composite(
    namespace="Tensor", name="norm", operands=("self",), native=False, autocast="cuda float32"
)
def _norm_method(
    self: Tensor,
    p: float | str | None = "fro",
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """See ``torch.norm``.

    Args:
        p: the order of the norm, ``"fro"`` or ``"nuc"``.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the dtype to compute in.

    Shapes: that of the tensor without the dimensions ``dim`` (all by default), which are 1 with
    ``keepdim``.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([3.0, 4.0]).norm()
        tensor(5.)
    """
    return T.norm(self, p, dim, keepdim, dtype=dtype)


# ---- areas ---------------------------------------------------------------------------------------


def _area(kernel: str, name: str, y: Tensor, x: object, dx: float, dim: int) -> Tensor:
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{kernel}: Currently, we only support dx as a real number.")
    if x is None:
        return getattr(_C, f"_{kernel}_dx")(y, 1 if dx is None else dx, dim)
    if dx is not None or not isinstance(x, Tensor):
        raise invalid_combination(
            name, "both x and dx" if dx is not None else f"(Tensor, {type(x).__name__})"
        )
    return getattr(_C, f"_{kernel}_x")(y, x, dim)


@composite(operands=("y", "x"), implicit=True, unsaid=("x", "dx"))
@schemas(
    ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    ".dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
)
def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The area under ``y`` along ``dim`` by the trapezoid rule, over the points ``x`` or points
    ``dx`` (by default 1) apart.

    Shapes: y (*, n, *) -> (*, *) without ``dim``; ``x`` is (n), or broadcasts with ``y``.

    Raises:
        RuntimeError: if ``x`` does not fit, or for bool.

    Example:
        >>> import jtorch as torch
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 5.0]))
        tensor(5.)
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 5.0]), torch.tensor([0.0, 2.0, 3.0]))
        tensor(6.5000)
    """
    return _area("trapezoid", "trapezoid", y, x, dx, dim)


@composite(operands=("y", "x"), implicit=True, unsaid=("x", "dx"))
@schemas(
    ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    ".dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
)
def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Another name of ``trapezoid``.

    Shapes: as ``trapezoid``.

    Raises:
        RuntimeError: as ``trapezoid``.

    Example:
        >>> import jtorch as torch
        >>> torch.trapz(torch.tensor([1.0, 2.0, 5.0]))
        tensor(5.)
    """
    return _area("trapezoid", "trapz", y, x, dx, dim)


@composite(operands=("y", "x"), implicit=True, unsaid=("x", "dx"))
@schemas(
    ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    ".dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The running areas under ``y`` along ``dim`` by the trapezoid rule; see ``trapezoid``.

    Shapes: y (*, n, *) -> (*, n - 1, *).

    Raises:
        RuntimeError: if ``x`` does not fit, or for bool.

    Example:
        >>> import jtorch as torch
        >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 5.0]))
        tensor([1.5000, 5.0000])
    """
    return _area("cumulative_trapezoid", "cumulative_trapezoid", y, x, dx, dim)
