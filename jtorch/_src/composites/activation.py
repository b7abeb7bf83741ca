"""Activation functions that draw random numbers."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.dual import NOT_YET, refuse_tangents
from ...autograd.names import named
from ...core import Tensor
from ...random import refuse_vmap
from ..bind.cores import composite, write
from ..bind.everything import _C, PUBLIC, F, T
from ..engine import META, SPECIAL
from ..facts.errors import must_be_tensor
from ..ops._facts import schemas
from ..ops.activation import IN_PLACE_LEAKY
from ..tensor.writing import check_inplace


@composite(operands=("input",))
@schemas(
    "(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
    "Generator? generator=None) -> Tensor ; _",
)
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """``input`` where positive, else times a slope in ``[lower, upper]``: random for each element
    in training, else the mean.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones.

    Raises:
        RuntimeError: if ``lower`` exceeds ``upper``.

    Example:
        >>> import jtorch as torch
        >>> torch.rrelu(torch.tensor([-12.0, 3.0]), lower=0.25, upper=0.75)
        tensor([-6.,  3.])
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("rrelu", "input", 1, input)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    refuse_vmap("aten::rrelu_with_noise")
    if not training:
        made = named(F.leaky_relu(input, (lower + upper) / 2), "RreluWithNoiseBackward0")
        made._strides = None  # which torch's kernel does not keep
        return made
    v = input._read()
    # its values are not known, so slopes are drawn for all elements
    if v.aval.device == META or v.trace is SPECIAL:
        noise = T.empty_like(input).uniform_(lower, upper, generator=generator)
    else:
        noise = _C._rrelu_slopes(input, lower, upper, generator)
    return _C.rrelu_with_noise(input, noise)


@composite(operands=("input",), aliases=("nn.functional.rrelu_",), dispatched="in parts")
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place form of ``rrelu``.

    Slopes and errors are those of ``rrelu``; the result is written into ``input``, which is
    returned.

    Shapes: that of ``input``.

    Raises:
        RuntimeError: if ``lower`` exceeds ``upper``, or ``input`` is a leaf that requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.rrelu_(torch.tensor([-12.0, 3.0]), 0.25, 0.75)
        tensor([-6.,  3.])
    """
    check_inplace(input)
    if isinstance(input, Tensor):
        refuse_vmap("aten::rrelu_with_noise_")
        refuse_tangents(
            f"rrelu_with_noise_ that does not support it {NOT_YET.partition(' or submit')[0]}.",
            input,
        )
    refusal = "" if training else IN_PLACE_LEAKY.refusal((lower + upper) / 2)
    return write(
        input, rrelu(input, lower, upper, training, generator), "RreluWithNoiseBackward1", refusal
    )


@composite(namespace="nn.functional", name="rrelu", operands=("input",), native=False)
def functional_rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """``rrelu``, written into ``input`` if ``inplace``.

    Shapes: that of ``input``.

    Raises:
        RuntimeError: if ``lower`` exceeds ``upper``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.rrelu(torch.tensor([-12.0, 3.0]), lower=0.25, upper=0.75)
        tensor([-6.,  3.])
    """
    return PUBLIC["rrelu_" if inplace else "rrelu"](input, lower, upper, training)
