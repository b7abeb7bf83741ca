"""Losses of ``nn.functional`` and other functions of several steps, as the operators that PyTorch
writes them with."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core import Tensor
from ..bind.everything import F, L, T
from ..facts import dtypes
from ..facts.dtypes import bool_
from ..facts.layouts import contiguous_format, preserve_format
from .by_names import reduction_of
from .formulas import full_like
from .functions import route
from .overloads import aten
from .routes_nn import _reduced, pairwise_distance
from .routes_shape import meshgrid, reshape
from .routes_tensor import is_wrapper

A = aten


# ---- losses --------------------------------------------------------------------------------------


@route(F.hinge_embedding_loss)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
) -> Any:
    """Where the target is not 1 the part within the margin, where it is not -1 the input."""
    nothing = A.zeros_like.default(input, memory_format=contiguous_format)
    inside = A.clamp_min_.default(A.sub_.Tensor(full_like(input, margin), input), 0)
    other = A.where.self(A.ne.Scalar(target, 1), inside, nothing)
    same = A.where.self(A.ne.Scalar(target, -1), input, nothing)
    return _reduced(A.add.Tensor(other, same), reduction_of(size_average, reduce, reduction))


#: 1e-12 as PyTorch adds it: a number of single precision.
_EPSILON = 9.999999960041972e-13


@route(F.cosine_embedding_loss)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
) -> Any:
    """One minus the cosine where the target is 1, what of it is above the margin where it is -1."""
    ndim = target._aval.ndim
    if ndim > 1 or input1._aval.ndim != ndim + 1 or input2._aval.ndim != ndim + 1:
        return NotImplemented

    def product(a: object, b: object) -> Tensor:
        return A.sum.dim_IntList(A.mul.Tensor(a, b), [ndim])

    dot = product(input1, input2)
    squares = [A.add.Scalar(product(x, x), _EPSILON) for x in (input1, input2)]
    cosine = A.div.Tensor(dot, A.sqrt_.default(A.mul.Tensor(*squares)))
    nothing = A.zeros_like.default(cosine, memory_format=contiguous_format)
    same = A.sub_.Tensor(full_like(cosine, 1), cosine)
    other = A.clamp_min_.default(A.sub.Scalar(cosine, margin), 0)
    same = A.where.self(A.eq.Scalar(target, 1), same, nothing)
    other = A.where.self(A.eq.Scalar(target, -1), other, nothing)
    return _reduced(A.add.Tensor(same, other), reduction_of(size_average, reduce, reduction))


@route(F.triplet_margin_loss)
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: object = None, reduce: object = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The difference of two distances and the margin, where it is above 0."""
    if margin <= 0 or len({t._aval.ndim for t in (anchor, positive, negative)}) != 1:
        return NotImplemented
    near = pairwise_distance(anchor, positive, float(p), eps)
    far = pairwise_distance(anchor, negative, float(p), eps)
    if swap:
        far = A.minimum.default(far, pairwise_distance(positive, negative, float(p), eps))
    found = A.clamp_min.default(A.sub.Tensor(A.add.Scalar(near, margin), far), 0)
    return _reduced(found, reduction_of(size_average, reduce, reduction))


@route(F.gaussian_nll_loss)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: object,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """Half of the logarithm of the variance and of the squared difference by it."""
    if (
        not isinstance(var, Tensor)
        or var._aval.shape != input._aval.shape
        or reduction not in ("none", "mean", "sum")
    ):
        return NotImplemented
    if is_wrapper(var) and A._local_scalar_dense.default(A.any.default(A.lt.Scalar(var, 0))):
        raise ValueError("var has negative entry/entries")
    var = A.clone.default(var)
    with no_grad():
        A.clamp_.default(var, eps)
    found = A.add.Tensor(
        A.log.default(var), A.div.Tensor(A.pow.Tensor_Scalar(A.sub.Tensor(input, target), 2), var)
    )
    found = A.mul.Tensor(found, 0.5)
    if full:
        found = A.add_.Tensor(found, 0.5 * math.log(2 * math.pi))
    return _reduced(found, reduction_of(None, None, reduction))


@route(F.poisson_nll_loss)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
    size_average: object = None, eps: float = 1e-8, reduce: object = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """``exp(input) - target * input``, or that of the logarithm; Stirling's terms for targets above
    1."""
    if log_input:
        product = A.mul.Tensor(target, input)
        found = A.sub.Tensor(A.exp.default(input), product)
    else:
        found = A.sub.Tensor(input, A.mul.Tensor(target, A.log.default(A.add.Scalar(input, eps))))
    if full:
        half = A.mul.Scalar(A.log.default(A.mul.Scalar(target, 2 * math.pi)), 0.5)
        stirling = A.add.Tensor(
            A.sub.Tensor(A.mul.Tensor(target, A.log.default(target)), target), half
        )
        found = A.add_.Tensor(found, A.masked_fill.Scalar(stirling, A.le.Scalar(target, 1), 0))
    return _reduced(found, reduction_of(size_average, reduce, reduction))


@route(F.multilabel_soft_margin_loss)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the classes of a logistic loss for each."""
    if not input._aval.ndim or input._aval.shape != target._aval.shape:
        return NotImplemented
    yes = A.mul.Tensor(target, A.log_sigmoid_forward.default(input)[0])
    no = A.rsub.Scalar(target, 1)
    no = A.mul.Tensor(no, A.log_sigmoid_forward.default(A.neg.default(input))[0])
    found = A.neg.default(A.add.Tensor(yes, no))
    if weight is not None:
        found = A.mul.Tensor(found, weight)
    last = input._aval.ndim - 1
    found = A.div.Tensor(A.sum.dim_IntList(found, [last]), input._aval.shape[last])
    return _reduced(found, reduction_of(size_average, reduce, reduction))


# ---- other functions of nn.functional ------------------------------------------------------------


@route(F.local_response_norm)
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divided by a power of the mean square over neighbouring channels."""
    shape = input._aval.shape
    if len(shape) < 3 or not input._aval.size:
        return NotImplemented
    found = A.unsqueeze.default(A.mul.Tensor(input, input), 1)
    before, after = size // 2, (size - 1) // 2
    if len(shape) == 3:
        found = A.constant_pad_nd.default(found, [0, 0, before, after], 0.0)
        found = A.squeeze.dim(A.avg_pool2d.default(found, [size, 1], [1, 1]), 1)
    else:
        found = A.view.default(found, [shape[0], 1, shape[1], shape[2], math.prod(shape[3:])])
        found = A.constant_pad_nd.default(found, [0, 0, 0, 0, before, after], 0.0)
        found = A.squeeze.dim(A.avg_pool3d.default(found, [size, 1, 1], [1, 1, 1]), 1)
        found = A.view.default(found, list(shape))
    return A.div.Tensor(
        input, A.pow.Tensor_Scalar(A.add.Tensor(A.mul.Tensor(found, alpha), k), beta)
    )


@route(F.one_hot)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """A comparison with the numbers of all classes; what is below ``__torch_dispatch__`` is not
    looked at."""
    if not is_wrapper(input) or input._aval.torch_dtype is not dtypes.int64 or not input._aval.size:
        return NotImplemented
    if num_classes == -1:
        num_classes = A._local_scalar_dense.default(A.max.default(input)) + 1
    classes = T.arange(num_classes, dtype=dtypes.int64, device=input.device)
    return A._to_copy.default(
        A.eq.Tensor(A.unsqueeze.default(input, -1), classes), dtype=dtypes.int64
    )


# ---- other functions -----------------------------------------------------------------------------


@route(T.cartesian_prod)
def cartesian_prod(*tensors: Any) -> Any:
    """A grid of all, seen as vectors and stacked."""
    given = list(
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    )
    if any(t._aval.ndim != 1 for t in given):
        return NotImplemented
    if len(given) == 1:
        return given[0]
    grid = meshgrid(given)
    return A.stack.default([reshape(t, [-1]) for t in grid], 1)


@route(T.msort)
def msort(input: Tensor, *, out: object = None) -> Any:
    """``sort.default`` along the first dimension."""
    return NotImplemented if out is not None else A.sort.default(input, 0)[0]


@route(T.isreal)
def isreal(input: Tensor) -> Tensor:
    """True everywhere for real tensors, else whether the imaginary part is 0."""
    if input._aval.torch_dtype.is_complex:
        return A.eq.Scalar(A.select.int(A.view_as_real.default(input), input._aval.ndim, 1), 0)
    return A.ones_like.default(input, dtype=bool_, memory_format=preserve_format)


@route(T.diagflat)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """``diag_embed`` of the elements as a vector."""
    return A.diag_embed.default(reshape(input, [-1]), *([offset] if offset else []))


@route(L.vander)
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The cumulative product of copies of ``x``, with ones before it."""
    n = x._aval.shape[-1] if N is None and x._aval.ndim else N
    if not x._aval.ndim or n is None or n <= 1 or not x._aval.torch_dtype.is_floating_point:
        return NotImplemented
    wide = A.expand.default(A.unsqueeze.default(x, -1), [*x._aval.shape, n - 1])
    powers = A.cumprod.default(wide, -1)
    ones = A.new_ones.default(powers, [*x._aval.shape, 1])
    return A.cat.default([ones, powers], -1)
