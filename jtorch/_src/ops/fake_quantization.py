"""Rounding to a grid and back, as quantisation would, on ordinary tensors."""

from __future__ import annotations

import jax.numpy as jnp

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._declare import Array, defvjp, guard_range, op
from ._facts import schemas


def _checked(
    input: Array, zero_point: Array, quant_min: int, quant_max: int, of: Array, between: bool
) -> None:
    kind = dtypes.from_np(input.dtype)
    if not kind.is_floating_point:
        raise NotImplementedError(
            '"fake_quantize_tensor_cachemask_kernel_type_handling" not implemented for '
            f"{kind.scalar_name!r}"
        )
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if between:  # for zero points of floats PyTorch does not look
        return
    words = "`zero_point` must be between `quant_min` and `quant_max`."
    guard_range(zero_point, quant_min, quant_max, RuntimeError, words, nan=True, of=of)


def _steps(input: Array, scale: Array, zero_point: Array, between: bool = False) -> Array:
    """The unclipped positions on the grid. Scales are of single precision, as in PyTorch, and
    numbers of half are widened to it. With ``between`` the zero point may lie between steps."""
    wide = jnp.float64 if input.dtype.itemsize == 8 else jnp.float32
    inverse = (1 / scale.astype(jnp.float32)).astype(wide)
    if between:
        return jnp.round(zero_point.astype(wide) + input.astype(wide) * inverse)
    return jnp.round(input.astype(wide) * inverse) + jnp.round(zero_point.astype(wide))


def _quantised(
    input: Array,
    scale: Array,
    zero_point: Array,
    quant_min: int,
    quant_max: int,
    of: Array,
    between: bool = False,
) -> Array:
    _checked(input, zero_point, quant_min, quant_max, of, between)
    place = jnp.clip(_steps(input, scale, zero_point, between), quant_min, quant_max)
    zero = zero_point.astype(place.dtype)
    steps = place - (zero if between else jnp.round(zero))
    # the product is rounded once, to half too
    product = jnp.float64 if input.dtype.itemsize == 2 else place.dtype
    found = steps.astype(product) * scale.astype(jnp.float32).astype(product)
    return found.astype(input.dtype)


def _inside(
    input: Array,
    scale: Array,
    zero_point: Array,
    quant_min: int,
    quant_max: int,
    between: bool = False,
) -> Array:
    """Where nothing is clipped: kept for the gradient, as in PyTorch, so that operands may be
    written into."""
    place = _steps(input, scale, zero_point, between)
    return (place >= quant_min) & (place <= quant_max)


@op(
    namespace="_C",
    saves=(),
    aten="fake_quantize_per_tensor_affine.tensor_qparams",
    node="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0",
    underivable=dict.fromkeys(
        ("scale", "zero_point"), lambda: "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
    ),
)
def _fake_quantize(
    input: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int
) -> Array:
    """``fake_quantize_per_tensor_affine`` with tensors for scale and zero point."""
    return _quantised(
        input,
        scale.reshape((1,) * input.ndim),
        zero_point.reshape((1,) * input.ndim),
        quant_min,
        quant_max,
        zero_point,
    )


def _per_tensor_fwd(
    input: Array, scale: Array, zero_point: Array, quant_min: int, quant_max: int
) -> tuple[Array, tuple[Array]]:
    ones = (1,) * input.ndim
    inside = _inside(input, scale.reshape(ones), zero_point.reshape(ones), quant_min, quant_max)
    return _fake_quantize(input, scale, zero_point, quant_min, quant_max), (inside,)


def _rule(g: Array, kept: tuple[Array], *_: object) -> tuple[Array, None, None]:
    """The gradient goes through where nothing was clipped."""
    return jnp.where(kept[0], g, jnp.zeros((), g.dtype)), None, None


defvjp(_fake_quantize, _rule, fwd=_per_tensor_fwd)


def _along(x: Array, axis: int, ndim: int) -> Array:
    return x.reshape(tuple(-1 if d == axis else 1 for d in range(ndim)))


@op(
    method=False,
    saves=(),
    aten="fake_quantize_per_channel_affine",
    node="FakeQuantizePerChannelAffineCachemaskBackward0",
    underivable=dict.fromkeys(
        ("scale", "zero_point"), lambda: "fake_quantize_per_channel_affine_cachemask"
    ),
)
@schemas()
def fake_quantize_per_channel_affine(
    input: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> Array:
    """Rounds ``input`` to the grid that integers from ``quant_min`` to ``quant_max`` make with a
    scale and zero point for each channel. Zero points of floats are added before rounding.

    Shapes: input (*, C, *) with C at ``axis``, scale and zero_point (C) -> (*, C, *).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).
    Gradient: that of the identity where nothing was clipped, else 0.

    Raises:
        RuntimeError: if dtypes, sizes or bounds do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.fake_quantize_per_channel_affine(
        ...     torch.tensor([[0.3], [0.3]]), torch.tensor([0.5, 0.25]), torch.zeros(2), 0, 0, 255
        ... )
        tensor([[0.5000],
                [0.2500]])
    """
    for name, x, kinds in (
        ("Scale", scale, ("Float", "BFloat16")),
        ("Zero-point", zero_point, ("Int", "Float", "Half")),
    ):
        found = dtypes.from_np(x.dtype).scalar_name
        if found not in kinds:
            wanted = "Float or BFloat16" if name == "Scale" else "Int32, Float or Half"
            raise RuntimeError(f"{name} must be {wanted}, found {found}")
    at = canonical_dim(axis, input.ndim)
    for name, x in (("scale", scale), ("zero-point", zero_point)):
        if x.ndim != 1:
            raise RuntimeError(
                f"{name} should be a 1-D tensor"
                if name == "scale"
                else "zero point should be a 1-D tensor"
            )
    if scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.shape[0] != input.shape[at]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    return _quantised(
        input,
        _along(scale, at, input.ndim),
        _along(zero_point, at, input.ndim),
        quant_min,
        quant_max,
        zero_point,
        _between(zero_point),
    )


def _between(zero_point: Array) -> bool:
    """Whether the zero points of channels are floats, which are added before rounding."""
    return bool(jnp.issubdtype(zero_point.dtype, jnp.floating))


def _per_channel_fwd(
    input: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> tuple[Array, tuple[Array]]:
    at, n = canonical_dim(axis, input.ndim), input.ndim
    grids = _along(scale, at, n), _along(zero_point, at, n)
    found = fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)
    inside = _inside(input, *grids, quant_min, quant_max, _between(zero_point))
    return found, (inside,)


defvjp(fake_quantize_per_channel_affine, _rule, fwd=_per_channel_fwd)
