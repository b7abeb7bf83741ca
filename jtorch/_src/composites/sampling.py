"""Random numbers whose distributions tensors describe."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.dual import has_tangent, refuse_tangents
from ...autograd.grad_mode import MODE
from ...autograd.names import named
from ...core import Tensor
from ...random import examples, refuse_out, refuse_same, twister_of
from ..bind.cores import composite
from ..bind.everything import _C, T
from ..bind.factories import check_pinned
from ..draws import key_sampling as _key_sampling
from ..draws import sampling as _sampling
from ..draws.by_dtype import normal_draw, serial
from ..engine import limits
from ..facts import dtypes
from ..facts.errors import broadcast_shapes, check_long, must_be_tensor
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas
from ..tensor.running import write_out
from .filling import (
    blank,
    check_probabilities,
    drawn,
    drawn_by,
    from_key,
    is_example,
    is_traced,
    key_for,
    on_host,
    plain_numbers,
    sampled,
    strides_of,
    taken,
    whole_strides,
)
from .random_factories import blank_like, made_by, sizes_of, wanted_dtype

if TYPE_CHECKING:
    from ...random import Generator
    from ..draws.mt19937 import Twister


_FLOATING = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)


def _finished(name: str, node: str, made: Tensor, out: object, *parameters: object) -> object:
    """The result; it requires grad if a parameter does, whose gradient is zero, as in torch."""
    if out is not None:
        return write_out(made, out, name, asked=name in ("bernoulli", "multinomial"))
    tracked = [
        p
        for p in parameters
        if isinstance(p, Tensor) and ((p._rg and MODE.enabled) or has_tangent(p))
    ]
    return named(_C._drawn(made, tracked), node) if tracked else made


@composite(operands=("mean", "std", "out"), ignored=True, unsaid=("std",))
@schemas(
    ".Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor ; "
    "=Tensor_float_out",
    ".float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor ; "
    "=float_Tensor_out",
    ".Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor ; "
    "=Tensor_Tensor_out",
    ".float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None,
    out: Tensor | None = None,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:  # fmt: skip
    """Normal numbers with a ``mean`` and ``std`` each, numbers or tensors that broadcast; of two
    numbers as many as ``size`` says.

    Shapes: those of ``mean`` and ``std``, broadcast; or ``size``.

    Raises:
        RuntimeError: if a standard deviation is negative (unless JAX traces it).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.normal(torch.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
        >>> torch.normal(0.0, 1.0, (2,))
        tensor([-2.1788,  0.5684])
    """
    check_pinned(pin_memory, device)
    refuse_out(out)
    if size is not None:
        kind = wanted_dtype("normal", dtype, out, dtypes.get_default_dtype())
        draw = normal_draw(kind, float(mean), float(std))
        return made_by(
            "normal",
            sizes_of("normal", (tuple(size),)),
            draw,
            kind,
            generator,
            out,
            layout,
            device,
            requires_grad,
        )
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise must_be_tensor("normal", "mean", 1, mean)
    if isinstance(out, Tensor) and out.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(
            f"\"normal_kernel_cpu\" not implemented for '{out.dtype.scalar_name}'"
        )
    if isinstance(std, Tensor) and std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if (
        out is None
        and isinstance(mean, Tensor)
        and (made := _normal_of_each(mean, std, generator)) is not None
    ):
        return _finished(
            "normal",
            "NormalBackward3" if isinstance(std, Tensor) else "NormalBackward1",
            made,
            None,
            mean,
            std,
        )
    tensors = [t.detach() for t in (mean, std) if isinstance(t, Tensor)]
    shape = broadcast_shapes(*(t._aval.shape for t in tensors))
    twister_of(generator)
    refuse_same(*tensors)
    noise = blank(tensors[0], shape)
    if not isinstance(std, Tensor):
        return _finished(
            "normal",
            "NormalBackward1",
            noise.normal_(0, std, generator=generator) + tensors[0],
            out,
            mean,
        )
    unseen = is_example(tensors[-1]) or tensors[-1].is_meta or is_traced(tensors[-1])
    if not unseen and not (on_host(tensors[-1]) >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    kind = noise.dtype  # that of the first, whatever the other's is
    made = (noise.normal_(generator=generator) * tensors[-1]).to(kind) + (
        tensors[0] if isinstance(mean, Tensor) else mean
    )
    return _finished("normal", f"NormalBackward{len(tensors) + 1}", made, out, mean, std)


def _normal_of_each(
    mean: Tensor, std: Tensor | float, generator: Generator | None
) -> Tensor | None:
    """Normal numbers with a mean each, where nothing but the values of the parameters, of one
    dtype, is to be looked at."""
    kind = mean.dtype
    if kind not in (dtypes.float32, dtypes.float64):
        return None
    means, deviations = plain_numbers(mean), None
    if isinstance(std, Tensor):
        deviations = plain_numbers(std) if std.dtype is kind else None
        if deviations is None:
            return None
    if means is None:
        return None
    shape = means.shape if deviations is None else broadcast_shapes(means.shape, deviations.shape)
    twister = twister_of(generator)
    if deviations is not None and not (deviations >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    draw = normal_draw(kind, 0.0, 1.0 if deviations is not None else float(std))
    limits.check_size(shape, kind.itemsize)
    found = drawn(draw, twister, shape)
    with np.errstate(all="ignore"):
        if deviations is not None:
            found *= deviations
        found += means
    return drawn_by(mean, found)


derivative(
    A.normal.Tensor_Tensor,
    mean=lambda g, mean_: D.made_zeros(mean_.shape, g),
    std=lambda g, std_: D.made_zeros(std_.shape, g),
)


@composite(method=True, operands=("input", "out"), unsaid=("p",))
@schemas(
    "(Tensor self, *, Generator? generator=None) -> Tensor ; =out",
    ".p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    ".float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> "
    "Tensor(a!)",
    ".Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor ; _ =Tensor_out",
)
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None
) -> Any:
    """Ones with the probabilities that ``input`` holds (or all with ``p``), and zeros.

    Shapes: that of ``input``.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: if a probability is not between 0 and 1.
        NotImplementedError: for other dtypes, unless ``p`` is given.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.bernoulli(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0., 0., 1.])
    """
    if isinstance(p, Tensor):
        raise TypeError(
            "bernoulli() received an invalid combination of arguments - got (Tensor, Tensor)"
        )
    refuse_out(out)
    if p is not None:
        refuse_tangents("aten::bernoulli that does not support it.", input)
    if (
        p is None
        and out is None
        and input.dtype in _FLOATING
        and (chances := plain_numbers(input)) is not None
    ):
        twister = twister_of(generator)
        check_probabilities(chances)
        with twister.lock:
            found = _sampling.below_each(twister, chances.reshape(-1))
        made = drawn_by(input, found.astype(chances.dtype).reshape(chances.shape))
        return _finished("bernoulli", "BernoulliBackward0", made, None, input)
    source = input.detach()
    twister_of(generator)
    refuse_same(source)
    if isinstance(out, Tensor) and out.is_complex():
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_self_\" not implemented for '{out.dtype.scalar_name}'"
        )
    # drawn in the dtype that is wanted
    made = blank(out if isinstance(out, Tensor) else source, source.shape)
    made.bernoulli_(source if p is None else p, generator=generator)._written(0)
    node = "BernoulliBackward0" if p is None else "NotImplemented"
    return _finished("bernoulli", node, made, out, input)


derivative(
    A.bernoulli,
    A.normal_,
    A.uniform_,
    A.exponential_,
    A.geometric_,
    A.cauchy_,
    A.log_normal_,
    self=lambda g: D.zeros(g),
)
derivative(A.bernoulli.p, A.bernoulli_.float, self=lambda g: D.zeros(g))


def _categories(
    twister: Twister, p: np.ndarray, num_samples: int, replacement: bool, order: tuple[int, ...]
) -> np.ndarray:
    """Indices drawn for each row of ``p``; ``order`` are the strides of one example."""
    rows = p.reshape(math.prod(p.shape[:-1]), p.shape[-1])
    if not (np.isfinite(rows) & (rows >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (rows.sum(axis=1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples > 1:
        found = _sampling.categories(twister, rows, num_samples)
    else:
        # The largest of p / Exp(1) is drawn with probability p, the next from the rest likewise,
        # and so on.
        draw = serial(_sampling.exponential, 1.0)
        races = drawn(draw, twister, p.shape, order if len(order) == p.ndim else None).astype(
            p.dtype
        )
        races = (rows / races.reshape(rows.shape)).astype(np.float64)
        found = (
            races.argmax(1)[:, None]
            if num_samples == 1
            else np.argsort(-races, axis=1, kind="stable")[:, :num_samples]
        )
    return found.reshape(*p.shape[:-1], num_samples).astype(np.int64)


@composite(method=True, operands=("input", "out"))
@schemas(
    "(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> "
    "Tensor ; =out"
)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Tensor | None = None,
) -> Any:
    """Indices drawn with the probabilities, in whatever scale, that the rows of ``input`` hold.

    Args:
        input: weights that need not sum to 1, in one row or several.
        num_samples: how many indices to draw from each row.
        replacement: whether an index may be drawn again.
        generator: where random numbers come from; the default generator if it is None.

    Shapes: input (n) or (m, n) -> (num_samples) or (m, num_samples).

    Dtypes: floating-point ones -> int64.

    Raises:
        RuntimeError: if probabilities are negative, not finite or all zero, or there are too few to
            draw without replacement.

    Differs from torch: the probabilities are read on the host.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.multinomial(torch.tensor([0.0, 3.0, 1.0]), 4, replacement=True)
        tensor([2, 1, 1, 2])
    """
    refuse_out(out)
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{input.dtype.scalar_name}"
        )
    check_long(num_samples)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if isinstance(out, Tensor) and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    if input.is_meta:
        return _finished(
            "multinomial",
            "MultinomialBackward0",
            input.new_empty((*input.shape[:-1], num_samples), dtype=dtypes.int64),
            out,
        )
    if is_example(input):
        # Examples of one dimension are the rows of a matrix, drawn in the order of its memory;
        # those of two are put one after the other.
        order = (
            whole_strides(
                [level.size for level in examples()], input._aval.shape, strides_of(input)
            )
            if input.ndim == 1
            else ()
        )
    else:
        # Expanded dimensions have an order in a tensor like this one.
        order = strides_of(input) if input._strides is None else strides_of(blank_like(input))
    limits.check_size((*input.shape[:-1], num_samples), 8)
    made = sampled(
        lambda twister, p: _categories(twister, p, num_samples, replacement, order),
        lambda key, p: _key_sampling.categories(key, p, num_samples, replacement),
        generator,
        input,
    )
    return _finished("multinomial", "MultinomialBackward0", made, out)


@composite(namespace="_C", operands=("input",))
def _rrelu_slopes(
    input: Tensor, lower: float, upper: float, generator: Generator | None = None
) -> object:
    """Slopes in [lower, upper) for the elements of ``input`` that are not positive, drawn one after
    the other, and 1 for the others."""
    key = key_for(generator)
    if key is not None:
        dtype = input.dtype.np
        slopes = from_key(
            key,
            lambda key, shape: _key_sampling.uniform(key, shape, lower, upper, dtype),
            tuple(input.shape),
            dtype,
            None,
        )
        return T.where(input.detach() <= 0, slopes, T.ones((), dtype=input.dtype))
    values = on_host(input.detach())
    flat = np.ones(values.size, values.dtype)
    places = np.flatnonzero(values.reshape(-1) <= 0)
    twister = twister_of(generator)
    with twister.lock:
        drawn_slopes = _sampling.uniform(
            twister, places.size, float(lower), float(upper), np.dtype(np.float64)
        )
    flat[places] = drawn_slopes.astype(values.dtype)
    return taken(flat.reshape(values.shape), input.device)
