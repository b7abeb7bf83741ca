"""The kernel of scaled dot product attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import broadcast_shapes, canonical_dim
from ._attention_blocks import blocks_of, by_blocks
from ._declare import Array, defvjp, op
from ._derivative_calls import unbroadcast
from ._derivatives import A, derivative
from ._facts import schemas
from ._kernel import cast
from ._matrix import cpp_name, product, unrounded
from ._nodes import Made
from ._numeric import scalar_name
from ._sizes import fewer

if TYPE_CHECKING:
    from ..engine.values import Aval


#: Above this many probabilities they are computed again in the backward pass instead of being kept.
_KEEP_AT_MOST = 1 << 26


def _check(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    enable_gqa: bool,
) -> None:
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{cpp_name(query)} key.dtype: {cpp_name(key)} and value.dtype: {cpp_name(value)} "
            "instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if query.dtype.kind in "biu":
        raise RuntimeError(f"expected scalar type Float but found {scalar_name(query.dtype)}")
    if query.dtype.kind == "c":
        raise NotImplementedError(
            f"\"softmax_lastdim_kernel_impl\" not implemented for '{scalar_name(query.dtype)}'"
        )
    if attn_mask is not None:
        if attn_mask.dtype not in (np.bool_, np.float32, query.dtype):
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {cpp_name(attn_mask)} and  query.dtype: {cpp_name(query)} "
                "instead."
            )
        if keep is None and attn_mask.ndim < 2 and fits_fused(query, key, value, None, enable_gqa):
            canonical_dim(-2, attn_mask.ndim, wrap_scalar=False)  # raises
        if is_causal and not fits_fused(query, key, value, attn_mask, enable_gqa):
            raise RuntimeError(BOTH)


BOTH = "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"


def fits_fused(
    query: Array | Aval,
    key: Array | Aval,
    value: Array | Aval,
    attn_mask: Array | Aval | None,
    enable_gqa: bool,
) -> bool:
    """Whether torch's fast kernel for the CPU, which allows a mask beside ``is_causal``, takes
    operands of these shapes."""
    shapes = [x.shape for x in (query, key, value)]
    if (
        not all(len(s) == 4 and 0 not in s for s in shapes)
        or len({s[0] for s in shapes}) > 1
        or len({s[3] for s in shapes}) > 1
    ):
        return False
    heads = [s[1] for s in shapes]
    if heads[1] != heads[2] or (heads[0] % heads[1] if enable_gqa else heads[0] != heads[1]):
        return False
    if attn_mask is None:
        return True
    full = (*query.shape[:3], key.shape[2])
    return attn_mask.ndim in (2, 4) and all(
        n in (1, m) for n, m in zip(attn_mask.shape, full[-attn_mask.ndim :], strict=True)
    )


def _repeated(x: Array, heads: int) -> Array:
    """Keys or values with each head repeated to make ``heads``."""
    if x.ndim < 3 or x.shape[-3] == heads:
        return x
    return jnp.repeat(x, heads // x.shape[-3], axis=-3)


def _gathered(g: Array, x: Array) -> Array:
    """The gradient of ``_repeated`` (and of broadcasting) with respect to ``x``."""
    if x.ndim >= 3 and g.shape[-3] != x.shape[-3] and x.shape[-3] != 1:
        g = g.reshape(*g.shape[:-3], x.shape[-3], g.shape[-3] // x.shape[-3], *g.shape[-2:]).sum(-3)
    return unbroadcast(g, x.shape, x.dtype)


def _check_inner(batch: tuple[int, ...], expected: int, given: int) -> None:
    if expected != given:
        n = math.prod(batch)
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {expected}] but "
            f"got: [{n}, {given}]."
        )


def _operands(
    query: Array, key: Array, value: Array, enable_gqa: bool
) -> tuple[Array, Array, Array]:
    """The three with equal leading dimensions.

    Raises:
        RuntimeError: if their shapes do not fit.
    """
    if enable_gqa and min(query.ndim, key.ndim, value.ndim) >= 3:
        heads = query.shape[-3]
        if (
            key.shape[-3] == 0
            or value.shape[-3] == 0
            or heads % key.shape[-3]
            or heads % value.shape[-3]
        ):
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in "
            )
        key, value = _repeated(key, heads), _repeated(value, heads)
    batch = broadcast_shapes(query.shape[:-2], key.shape[:-2])
    _check_inner(batch, query.shape[-1], key.shape[-1])
    batch = broadcast_shapes(batch, value.shape[:-2])
    _check_inner(batch, key.shape[-2], value.shape[-2])
    return tuple(
        x if x.shape[:-2] == batch else jnp.broadcast_to(x, batch + x.shape[-2:])
        for x in (query, key, value)
    )  # type: ignore[return-value]


def _factor(query: Array, scale: float | None) -> float:
    if scale is not None:
        return scale
    return 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 0.0


def _scores(
    query: Array,
    key: Array,
    attn_mask: Array | None,
    is_causal: bool,
    scale: float | None,
    first: Any = None,
) -> tuple[Array, Array | None]:
    """The masked scores in at least float32, and where attention is allowed (None: everywhere).
    ``first``: the number of the first row, if it is not the first."""
    scores = product(query, jnp.swapaxes(key, -1, -2), unrounded(query))
    scores = scores * np.asarray(_factor(query, scale), scores.dtype)
    allowed = None
    if is_causal:
        n, m = scores.shape[-2:]
        at = lax.broadcasted_iota(np.int32, (n, m), 0)
        if first is not None:
            at = at + first
        allowed = at >= lax.broadcasted_iota(np.int32, (n, m), 1)
        allowed = allowed.reshape((1,) * (scores.ndim - 2) + (n, m))
    if attn_mask is not None:
        shape = broadcast_shapes(scores.shape, attn_mask.shape)
        mask = attn_mask.reshape((1,) * (len(shape) - attn_mask.ndim) + attn_mask.shape)
        scores = jnp.broadcast_to(scores, shape)
        if attn_mask.dtype == np.bool_:
            # Added, as torch does it: choosing by a broadcast mask runs five times slower on CPU.
            mask = lax.optimization_barrier(
                jnp.where(mask, np.zeros((), scores.dtype), np.asarray(-np.inf, scores.dtype))
            )
        scores = scores + cast(mask, scores.dtype)
    if allowed is not None:
        scores = jnp.where(allowed, scores, np.asarray(-np.inf, scores.dtype))
    return scores, allowed


def _powers(scores: Array, maskable: bool) -> tuple[Array, Array, Array]:
    """The exponentials of scores beside the largest of their row, their sums, and the logarithms of
    what the sums would be of all.

    A row without any finite score has zeros, and 1 as their sum.
    """
    top = jnp.max(scores, -1, keepdims=True, initial=-np.inf)
    if maskable:
        # A row without any finite score; a comparison with -inf in the place of this maximum runs
        # five times slower on CPU.
        top = jnp.maximum(top, np.finfo(top.dtype).min)
    powers = jnp.exp(scores - top)
    total = jnp.sum(powers, -1, keepdims=True)
    if maskable:
        total = jnp.where(total == 0, np.ones((), total.dtype), total)
    return powers, total, top + jnp.log(total)


def _attention_fwd(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    keep: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Array, tuple[Array, ...]]:
    _check(query, key, value, attn_mask, keep, is_causal, enable_gqa)
    q, k, v = _operands(query, key, value, enable_gqa)
    blocks = _blocks(q, k, attn_mask)
    if blocks is not None:

        def compute(first: Any, whole: Any, divided: Any) -> Any:
            (k, v), (q, mask, keep) = whole, divided
            out, _, log_sums = _computed(q, k, v, mask, keep, is_causal, scale, first)
            return (out, log_sums), ()

        found, _ = by_blocks(blocks, compute, (k, v), (q, attn_mask, keep))
        out, log_sums = (x.reshape(*q.shape[:-1], x.shape[-1]) for x in found)
        return out, (log_sums,)
    out, probabilities, log_sums = _computed(q, k, v, attn_mask, keep, is_causal, scale)
    kept = fewer(probabilities.size, _KEEP_AT_MOST + 1) or probabilities.shape[-1] == 1
    return out, (probabilities if kept else log_sums,)


def _blocks(q: Array, k: Array, attn_mask: Array | None) -> Any:
    """How attention is divided; None where it is not, as for masks that have one leading dimension
    and not another, or more than the scores have."""
    blocks = blocks_of(q, k)
    if blocks is None or attn_mask is None:
        return blocks
    leading = (1,) * (q.ndim - attn_mask.ndim) + attn_mask.shape[:-2]
    fits = attn_mask.ndim >= 2 and attn_mask.shape[-2] in (1, q.shape[-2])
    alike = leading == q.shape[:-2] or math.prod(leading) == 1
    return blocks if fits and alike and attn_mask.shape[-1] in (1, k.shape[-2]) else None


def _computed(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    scale: float | None,
    first: Any = None,
) -> tuple[Array, Array, Array]:
    """The result, the probabilities, and the logarithms of sums."""
    scores, _ = _scores(q, k, attn_mask, is_causal, scale, first)
    powers, total, log_sums = _powers(scores, attn_mask is not None)
    probabilities = powers / total
    # divided last, as PyTorch's kernel does it, so that results are rounded once
    halves = unrounded(q) is not None
    weights = powers if halves else probabilities
    weights = cast(weights if keep is None else weights * cast(keep, weights.dtype), q.dtype)
    out = product(weights, v, unrounded(v))
    return cast(out / total, q.dtype) if halves else out, probabilities, log_sums


def _attention_rule(
    g: Array,
    residuals: tuple[Array],
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    keep: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Array | None, ...]:
    q, k, v = _operands(query, key, value, enable_gqa)
    blocks = _blocks(q, k, attn_mask)
    if blocks is not None:

        def compute(first: Any, whole: Any, divided: Any) -> Any:
            (k, v), (q, mask, keep, g, sums) = whole, divided
            grads = _gradients(g, sums, q, k, v, mask, keep, is_causal, scale, first)
            grad_q, grad_k, grad_v, grad_s = grads
            return ((grad_q,) if _no_gradient(mask) else (grad_q, grad_s)), (grad_k, grad_v)

        divided = (q, attn_mask, keep, g, residuals[0])
        (grad_q, *rest), (grad_k, grad_v) = by_blocks(blocks, compute, (k, v), divided)
        grad_q, grad_k, grad_v, *rest = (
            x.reshape(q.shape[:-2] + x.shape[-2:]) for x in (grad_q, grad_k, grad_v, *rest)
        )
        grad_s = rest[0] if rest else None
    else:
        grad_q, grad_k, grad_v, grad_s = _gradients(
            g, residuals[0], q, k, v, attn_mask, keep, is_causal, scale
        )
    grad_mask = None
    if attn_mask is not None and not _no_gradient(attn_mask):
        assert grad_s is not None  # `compute` gives it for such masks
        grad_mask = unbroadcast(grad_s, attn_mask.shape, attn_mask.dtype)
    return (
        unbroadcast(grad_q, query.shape, query.dtype),
        _gathered(grad_k, key),
        _gathered(grad_v, value),
        grad_mask,
        None,
    )


def _no_gradient(mask: Array | None) -> bool:
    return mask is None or mask.dtype == np.bool_


def _gradients(
    g: Array,
    probabilities: Array,
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    scale: float | None,
    first: Any = None,
) -> tuple[Array, Array, Array, Array]:
    """The gradients of queries, keys, values and scores."""
    if probabilities.shape[-1] != k.shape[-2]:  # they are logarithms of sums
        scores = _scores(q, k, attn_mask, is_causal, scale, first)[0]
        probabilities = jnp.exp(scores - probabilities)
    dropped = None if keep is None else cast(keep, probabilities.dtype)
    weights = cast(probabilities if dropped is None else probabilities * dropped, q.dtype)
    grad_v = jnp.swapaxes(weights, -1, -2) @ g
    grad_p = product(g, jnp.swapaxes(v, -1, -2), unrounded(g))
    if dropped is not None:
        grad_p = grad_p * dropped
    grad_s = probabilities * (grad_p - jnp.sum(grad_p * probabilities, -1, keepdims=True))
    scaled = cast(grad_s * np.asarray(_factor(q, scale), grad_s.dtype), q.dtype)
    return scaled @ k, jnp.swapaxes(scaled, -1, -2) @ q, grad_v, grad_s


def _node_of_attention(made: Made) -> str:
    mask = made.is_tensor("attn_mask") and made.needs[3]
    fused = made.avals[0].ndim == 4 and not made.is_tensor("keep") and not mask
    return "ScaledDotProductFlashAttentionForCpuBackward0" if fused else "UnsafeViewBackward0"


@op(
    namespace="_C",
    aten="_scaled_dot_product_attention_math",
    strides="attended",
    saves=("query", "key", "value"),
    node=_node_of_attention,
)
@schemas(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
    "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
)
def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    keep: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """``softmax(query @ key.T * scale + mask) @ value``.

    Shapes: query ``(*, H, L, E)``, key ``(*, H, S, E)``, value ``(*, H, S, V)`` give
    ``(*, H, L, V)``; leading dimensions broadcast. With ``enable_gqa`` key and value may have fewer
    heads, which are repeated.

    A bool mask is True where attention is allowed; rows that may attend to nothing give zeros.
    ``keep`` multiplies the probabilities: 0 or ``1 / (1 - p)`` for dropout.
    """
    return _attention_fwd(
        query, key, value, attn_mask, keep, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


defvjp(_attention, _attention_rule, fwd=_attention_fwd)
derivative(
    A._scaled_dot_product_flash_attention_for_cpu,
    results=(0,),
    query__key__value=lambda g, query, key, value, result, result1, dropout_p, is_causal, attn_mask, scale: (  # noqa: E501
        A._scaled_dot_product_flash_attention_for_cpu_backward.default(
            g,
            query,
            key,
            value,
            result,
            result1,
            dropout_p,
            is_causal,
            attn_mask=attn_mask,
            scale=scale,
        )
    ),
)
