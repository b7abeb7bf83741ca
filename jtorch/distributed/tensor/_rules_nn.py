"""Rules of embeddings, losses and attention, and of what reads or compares tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .. import _done_collectives as funcol
from ._dispatch import DISPATCHER, Call, Plan, Way, local, rule, whole
from ._dtensor_spec import DTensorSpec
from ._redistribute import redistribute_local_tensor
from ._rules_math import R, ways_of
from ._utils import compute_local_shape_and_global_offset
from .placement_types import Partial, Replicate, Shard, _is_shard_like, _MaskPartial

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


SUM, AVG = Partial("sum"), Partial("avg")


# ---- embeddings ----------------------------------------------------------------------------------


@rule("embedding")
def embedding(call: Call) -> list[Way]:
    """Columns of the table, its rows, which give summands, or the indices."""
    rank = len(call.shapes[1])
    rows = _MaskPartial(offset_shape=call.shapes[0], offset_dim=0)
    return [
        ([Shard(rank)], [Shard(1), R]),
        ([rows], [Shard(0), rows]),
        *[([Shard(d)], [R, Shard(d)]) for d in range(rank)],
    ]


@local("embedding")
def embedding_local(_call: Call, plan: Plan) -> None:
    """A part of the rows answers the indices that are its own; zeros stand for others."""
    target = plan.targets[0]
    if not any(_is_shard_like(p) and p.dim == 0 for p in target.placements):
        return
    shape, offset = compute_local_shape_and_global_offset(
        target.shape, target.mesh, target.placements
    )

    def run(values: Values) -> Any:
        weight, indices = values[0], values[1]
        mine = indices - offset[0]
        inside = (mine >= 0) & (mine < shape[0])
        if not shape[0]:
            return weight.new_zeros((*indices.shape, shape[1]))
        rows = torch.ops.aten.embedding.default(
            weight, torch.where(inside, mine, torch.zeros_like(mine))
        )
        return torch.where(inside.unsqueeze(-1), rows, torch.zeros_like(rows))

    plan.run = run


@rule("embedding_dense_backward")
def embedding_backward(call: Call) -> list[Way]:
    """Columns, or summands of the rows."""
    last = len(call.shapes[0]) - 1
    found: list[Way] = [([Shard(1)], [Shard(last), R])]
    found += [([SUM], [Shard(d), Shard(d)]) for d in range(len(call.shapes[1]))]
    return [*found, ([SUM], [SUM, R])]


# ---- losses --------------------------------------------------------------------------------------


@rule("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(call: Call) -> list[Way]:
    """Examples: means of equal parts, or summands."""
    x: list[Any] = list(range(len(call.shapes[0])))
    channel = 1 if len(x) >= 2 else 0
    x[channel] = None
    target = x[:channel] + x[channel + 1 :]
    ins = [x, target, *([()] if call.place("weight") is not None else [])]
    if call.arg("reduction") == 0:
        return [
            ([out[0], R], rest)
            for out, rest in ways_of([target], ins)
            if rest[0] in call.specs[0].placements
        ]
    combined = AVG if call.arg("reduction") == 1 else SUM
    ways = ways_of([(), ()], ins, {d: SUM for d in target if d is not None})
    return [([combined, SUM], rest) for _, rest in ways if rest[0] in call.specs[0].placements]


@local("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_local(call: Call, plan: Plan) -> None:
    """A part's share of a mean: parts may be of different sizes, or have different weights."""
    spec = plan.targets[1]
    cut = [d for d, p in enumerate(spec.placements) if p.is_shard()]
    if call.arg("reduction") != 1 or not cut:
        return
    place = call.schema.places["reduction"]

    def run(values: list[object]) -> Any:
        total, weight = call.func(*[2 if i == place else x for i, x in enumerate(values)])
        everything = weight
        for d in cut:
            everything = funcol.all_reduce(everything, "sum", (spec.mesh, d))
        return total * spec.num_shards / everything, weight

    plan.run = run


@rule("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(call: Call) -> list[Way]:
    """Examples, with the whole number of them."""
    names = [call.schema.arguments[i].name for i, _ in call.leaves]
    x: list[Any] = list(range(len(call.shapes[1])))
    channel = 1 if len(x) >= 2 else 0
    x[channel] = None
    target = x[:channel] + x[channel + 1 :]
    grad = target if call.arg("reduction") == 0 else ()
    places = {"self": x, "target": target, "grad_output": grad}
    return ways_of([x], [places.get(n, ()) for n in names])


@rule(
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
)
def pairwise_loss(call: Call) -> list[Way]:
    """As elementwise; means of equal parts, or summands."""
    shape = call.shapes[0]
    reduction = call.arg("reduction")
    found: list[Way] = []
    for d, n in enumerate(shape):
        if any(tuple(s) != tuple(shape) for s in call.shapes):
            continue
        out: Any = (
            Shard(d)
            if reduction == 0
            else SUM
            if reduction == 2
            else AVG
            if not n % call.mesh.size()
            else None
        )
        if out is not None:
            found.append(([out], [Shard(d)] * len(call.shapes)))
    return found


@rule(
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "binary_cross_entropy_backward",
)
def pairwise_loss_backward(call: Call) -> list[Way]:
    """As elementwise where nothing is averaged over."""
    shape = call.shapes[1]
    return [
        ([Shard(d)], [Shard(d) if tuple(s) == tuple(shape) else R for s in call.shapes])
        for d in range(len(shape))
    ]


@local(
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "binary_cross_entropy_backward",
)
def pairwise_loss_backward_local(call: Call, plan: Plan) -> None:
    """Where a mean was taken, that of the whole."""
    if call.arg("reduction") == 1:
        place, total = call.schema.places["reduction"], math.prod(call.shapes[1])
        plan.run = lambda values: call.func(
            values[0] / total, *[2 if i == place else x for i, x in enumerate(values)][1:]
        )


# ---- attention -----------------------------------------------------------------------------------


@rule("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math")
def attention(call: Call) -> list[Way]:
    """Examples and heads."""
    mask = call.place("attn_mask")
    ins: list[Any] = [("b", "h")] * 3
    if mask is not None:
        shape = call.shapes[mask]
        full = [None] * (4 - len(shape)) + [
            x if n != 1 else None
            for x, n in zip(("b", "h", None, None)[4 - len(shape) :], shape, strict=True)
        ]
        ins.append(full[4 - len(shape) :])
    alike = all(s[:2] == call.shapes[0][:2] for s in call.shapes[:3])
    return ways_of([("b", "h")] * len(call.outs), ins) if alike else []


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(call: Call) -> list[Way]:
    """Examples and heads."""
    if call.place("attn_mask") is not None:
        return []
    return ways_of([("b", "h")] * 3, [("b", "h")] * len(call.specs))


# ---- reading -------------------------------------------------------------------------------------


@whole("equal")
def equal(call: Call) -> bool:
    """Whether all parts are equal, in all processes."""
    a, b = call.values
    if call.shapes[0] != call.shapes[1]:
        return False
    goal = tuple([Replicate() if p.is_partial() else p for p in call.specs[0].placements])
    mine = []
    for t, spec in zip((a, b), call.specs, strict=True):
        mine.append(
            redistribute_local_tensor(
                DISPATCHER.local_of(t), spec, DTensorSpec(spec.mesh, goal, spec.tensor_meta)
            )
        )
    same = torch.tensor([int(torch.equal(*mine))])
    if call.mesh.get_coordinate() is None:
        return True
    for d in range(call.mesh.ndim):
        same = funcol.all_reduce(same, "min", (call.mesh, d))
    return bool(same.item())
