"""Rules of elementwise operators, copies and factories."""

from __future__ import annotations

from typing import Any

import jtorch as torch

from ._dispatch import Call, Plan, Way, local, rule, whole
from ._utils import compute_local_shape
from .placement_types import Partial, Placement, Replicate, Shard

R = Replicate()
SUM, AVG, MAX, MIN = Partial("sum"), Partial("avg"), Partial("max"), Partial("min")
EVERY = (SUM, AVG, MAX, MIN)

#: How elementwise operators treat summands: ``(result, operands)`` for as many operands as are
#: tensors. What is not listed takes none.
_LINEAR: list[Way] = [([p], [p]) for p in (SUM, AVG)]
_RISING: list[Way] = [([MAX], [MAX]), ([MIN], [MIN])]
_FALLING: list[Way] = [([MIN], [MAX]), ([MAX], [MIN])]
_ADDED: list[Way] = [
    ([SUM], [SUM, SUM]), ([AVG], [AVG, AVG]), ([AVG], [AVG, R]), ([MAX], [MAX, R]),
    ([MIN], [MIN, R]), ([AVG], [R, AVG]),
]  # fmt: skip
_SCALED: list[Way] = [*_LINEAR, ([SUM], [SUM, R]), ([AVG], [AVG, R])]
_BOTH_RISING: list[Way] = [([p], q) for p in (MAX, MIN) for q in ([p, R], [R, p])]
_PARTS: dict[str, list[Way]] = {
    "add": _ADDED,
    "sub": _ADDED,
    "mul": [*_SCALED, ([SUM], [R, SUM]), ([AVG], [R, AVG])],
    "div": _SCALED,
    "neg": _LINEAR + _FALLING,
    "positive": [([p], [p]) for p in EVERY],
    "copy": [([p], [p, p]) for p in EVERY],
    "special_xlog1py": [([p], [p, R]) for p in (SUM, AVG)],
    "maximum": [*_BOTH_RISING, ([MAX], [MAX, MAX])],
    "minimum": [*_BOTH_RISING, ([MIN], [MIN, MIN])],
    "fmax": [*_BOTH_RISING, ([MAX], [MAX, MAX])],
    "fmin": [*_BOTH_RISING, ([MIN], [MIN, MIN])],
    "logaddexp": _BOTH_RISING,
    "logaddexp2": _BOTH_RISING,
    "erfc": _FALLING,
    "special_erfcx": _FALLING,
    # functions that nowhere fall, on all numbers and whatever their other arguments are
    **dict.fromkeys(
        """asinh atan ceil deg2rad erf exp exp2 expm1 floor hardsigmoid hardtanh rad2deg relu relu6
        round sgn sigmoid sign sinh tanh trunc hardshrink""".split(),
        _RISING,
    ),
}


@rule(
    "*elementwise", "copy", "where", "masked_fill", "native_dropout", "native_dropout_backward",
    "bernoulli", "normal", "uniform", "random", "exponential", "cauchy", "geometric", "log_normal",
    "_prelu_kernel", "_prelu_kernel_backward", "log_sigmoid_forward", "poisson",
    "log_sigmoid_backward", "__lshift__", "__rshift__", "__ilshift__", "__irshift__", "fill",
    "zero", "rand_like", "randn_like", "randint_like",
)  # fmt: skip
def elementwise(call: Call) -> list[Way]:
    """Any dimension of the results may be cut, and with it that of each operand which has it."""
    out = next(m for m in call.outs if m is not None)
    rank = len(out.shape)
    ways: list[Way] = []
    for d in range(rank):
        ins: list[Placement] = []
        for shape in call.shapes:
            mine = d - (rank - len(shape))
            ins.append(Shard(mine) if mine >= 0 and shape[mine] == out.shape[d] else R)
        ways.append(
            (
                [
                    Shard(d) if m is None or tuple(m.shape) == tuple(out.shape) else R
                    for m in call.outs
                ],
                ins,
            )
        )
    tensors = len([1 for i, _ in call.leaves if i not in call.schema.outs])
    parts = _PARTS.get(call.name.rstrip("_") if not call.name.startswith("__") else call.name, ())
    # rounded quotients of summands are not the summands of the rounded quotient
    if call.arg("rounding_mode") is not None:
        parts = ()
    for outs, ins in parts:
        if len(ins) == tensors:
            ways.append((outs * len(call.outs), [*ins, *outs * (len(call.leaves) - tensors)]))
    return ways


@rule(
    "detach",
    "alias",
    "lift_fresh",
    "contiguous",
    "_conj",
    "_neg_view",
    "resolve_conj",
    "pin_memory",
)
def same(call: Call) -> list[Way]:
    """The result lies as the operand does."""
    return [(s.placements[i], [s.placements[i]]) for s in call.specs for i in range(call.mesh.ndim)]


@rule("_to_copy")
def converted(call: Call) -> list[Way]:
    """As the operand; what is rounded to integers, or asked for truth, is summed first."""
    before, to = call.specs[0]._meta().dtype, call.arg("dtype")
    plain = to is None or to == before
    exact = not plain and (
        not to.is_floating_point and not to.is_complex and before.is_floating_point
    )
    found: list[Way] = []
    for p in call.specs[0].placements:
        stays = plain or (
            to != torch.bool and (not exact or getattr(p, "reduce_op", "") in ("max", "min"))
        )
        if not p.is_partial() or stays:
            found.append(([p], [p]))
    return found


@rule("clone")
def copied(call: Call) -> list[Way]:
    """As the operand; what is partial is summed first."""
    return [([p], [p]) for p in call.specs[0].placements if not p.is_partial()]


@rule("empty_like", "zeros_like", "ones_like", "full_like")
def alike(call: Call) -> list[Way]:
    """As the operand; what is partial is taken for whole, since each process fills its own."""
    return [
        ([p if call.name == "empty_like" or not p.is_partial() else R], [p])
        for p in call.specs[0].placements
    ]


@rule("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
def new(call: Call) -> list[Way]:
    """Whole, or as the operand where the shape is its own."""
    size = call.arg("size")
    found: list[Way] = []
    for p in call.specs[0].placements:
        if tuple(size) == tuple(call.shapes[0]) and (
            not p.is_partial() or call.name.startswith("new_empty")
        ):
            found.append(([p], [p]))
        found.append(([R], [p]))
    return found


@local("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
def new_local(call: Call, plan: Plan) -> None:
    """The part's shape, and for strided memory row-major strides of it in the order of the
    whole's."""
    spec = plan.outs[0]
    assert spec is not None
    size = list(compute_local_shape(spec.shape, spec.mesh, spec.placements))
    plan.values[call.schema.places["size"]] = size
    if call.name == "new_empty_strided":
        plan.values[call.schema.places["stride"]] = packed(size, call.arg("stride"))


def packed(size: list[int], stride: Any) -> list[int]:
    """Strides without gaps in the order of others."""
    found, step = [0] * len(size), 1
    for d in sorted(range(len(size)), key=lambda k: (stride[k], -k)):
        found[d] = step
        step *= max(size[d], 1)
    return found


@whole("is_same_size")
def is_same_size(call: Call) -> bool:
    """Shapes of the wholes."""
    return call.shapes[0] == call.shapes[1]


@whole("_local_scalar_dense")
def number(call: Call) -> Any:
    """The number that all processes agree on."""
    t = call.values[0]
    return t.full_tensor().item()
