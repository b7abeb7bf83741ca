"""Rules of views, joining, splitting, indexing and scattering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.aten.wrapping import follow as follow_shape

from ._dispatch import Call, Plan, Way, local, rule, whole
from ._rules_math import R, dims_of, follow, numbered, ways_of
from ._utils import compute_local_shape
from .placement_types import Partial, Placement, Replicate, Shard, _is_shard_like, _StridedShard

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


EVERY = tuple([Partial(op) for op in ("sum", "avg", "max", "min", "product")])


def _same(p: object) -> object:
    return p


# ---- views ---------------------------------------------------------------------------------------


@rule("t", "transpose", "permute", "unsqueeze", "squeeze", "movedim", "swapaxes", "swapdims")
def rearranged(call: Call) -> list[Way]:
    """Dimensions that take other places.

    Raises:
        NotImplementedError: in place: a distributed tensor keeps its shape.
    """
    if call.in_place:
        raise NotImplementedError(
            f"Operator {call.func} does not have a sharding strategy registered."
        )
    rank = len(call.shapes[0])
    order: list[Any] = list(range(rank))
    if call.name == "t":
        order.reverse()
    elif call.name == "permute":
        order = [d % rank for d in call.arg("dims")]
    elif call.name == "unsqueeze":
        order.insert(call.arg("dim") % (rank + 1), None)
    elif call.name == "squeeze":
        dims = dims_of(call) if "dim" in call.schema.places else range(rank)
        order = [d for d in order if d not in dims or call.shapes[0][d] != 1]
    elif rank:
        a, b = call.arg("dim0") % rank, call.arg("dim1") % rank
        order[a], order[b] = order[b], order[a]
    return follow(call, lambda d: order.index(d) if d in order else None, _same)


@local("squeeze")
def squeeze_local(call: Call, plan: Plan) -> None:
    """The dimensions that have one element in the whole: parts of others may have one, too."""
    shape = call.shapes[0]
    dims = dims_of(call) if "dim" in call.schema.places else range(len(shape))
    gone = [d for d in dims if shape[d] == 1]
    if any(
        n == 1 and d not in gone
        for d, n in enumerate(compute_local_shape(shape, call.mesh, plan.targets[0].placements))
    ):
        plan.run = lambda values: values[0].squeeze(gone)


@whole("squeeze_")
def squeezed(call: Call) -> object:
    """The tensor itself, which takes over the shape and the part of what ``squeeze`` gives."""
    t, *rest = call.values
    made = getattr(torch.ops.aten.squeeze, call.func._overloadname)(t.detach(), *rest)
    t._local_tensor, t._spec = made._local_tensor, made._spec
    follow_shape(t, made)
    return t


def segments(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Which dimensions of one shape became which of another with the same elements: runs of both
    that hold equally many."""
    found, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        a, b = ([i] if i < len(before) else []), ([j] if j < len(after) else [])
        m, n = math.prod(before[k] for k in a), math.prod(after[k] for k in b)
        i, j = i + len(a), j + len(b)
        while m != n:
            if m < n:
                m *= before[i]
                a.append(i)
                i += 1
            else:
                n *= after[j]
                b.append(j)
                j += 1
        found.append((a, b))
    return found


def _viewed(shape: Sequence[int], after: Sequence[int], parts: list[int], p: Any) -> object:
    """How a cut dimension lies after a view; None if it must be whole for that."""
    if not math.prod(shape):
        return None
    for a, b in segments(shape, after):
        if p.dim not in a:
            continue
        a, b = (
            [k for k in a if shape[k] != 1 or k == p.dim],
            [k for k in b if after[k] != 1] or b[:1],
        )
        if len(a) == len(b) == 1:
            return p._moved(b[0])
        n = parts[p.dim]
        inside = math.prod(shape[k] for k in a[: a.index(p.dim)])
        if isinstance(p, _StridedShard):
            step = 1
            for k in b:
                if step == p.split_factor * inside and after[k] % n == 0:
                    return Shard(k)
                step *= after[k]
            return None
        if shape[p.dim] % n:
            return None
        step = 1
        for k in b:
            if step == inside:
                return Shard(k) if after[k] % n == 0 else None
            if inside % step == 0 and step * after[k] > inside:
                return _StridedShard(k, split_factor=inside // step) if len(a) > 1 else None
            step *= after[k]
        return None
    return None


@rule("view", "_unsafe_view", "reshape", "_reshape_alias", "flatten", "view_copy")
def view(call: Call) -> list[Way]:
    """Dimensions that stay, and the outermost of those that are joined or split."""
    spec, out = call.specs[0], call.outs[0]
    if call.name == "view" and call.func._overloadname == "dtype":
        return [(p, [p]) for p in spec.placements if not p.is_partial()]
    assert out is not None
    found: list[Way] = []
    for p in spec.placements:
        after = _viewed(spec.shape, out.shape, spec.num_shards_map, p) if _is_shard_like(p) else p
        if after is not None:
            found.append((after, [p]))
    return found


@local("view", "_unsafe_view", "reshape", "view_copy", "expand", "_reshape_alias")
def view_local(call: Call, plan: Plan) -> None:
    """The shape of the part."""
    spec = plan.outs[0]
    place = call.schema.places.get("size", call.schema.places.get("shape"))
    if spec is None or place is None:
        return
    size = list(compute_local_shape(spec.shape, spec.mesh, spec.placements))
    if call.name == "expand":
        lead = len(size) - len(call.shapes[0])
        size = [
            n if k < lead or spec.shape[k] != call.shapes[0][k - lead] else -1
            for k, n in enumerate(size)
        ]
    plan.values[place] = size


@rule("expand")
def expand(call: Call) -> list[Way]:
    """Dimensions that are not expanded."""
    shape, out = call.shapes[0], call.outs[0]
    assert out is not None
    lead = len(out.shape) - len(shape)
    return follow(call, lambda d: d + lead if out.shape[d + lead] == shape[d] else None, _same)


@rule("view_as_real", "view_as_complex")
def pairs(call: Call) -> list[Way]:
    """All dimensions but that of the pairs."""
    last = len(call.shapes[0]) - (call.name == "view_as_complex")
    return follow(
        call,
        lambda d: d if d < last else None,
        lambda p: p if p.reduce_op in ("sum", "avg") else None,
    )


@rule("slice", "select", "narrow", "unfold", "diagonal")
def cut(call: Call) -> list[Way]:
    """All dimensions but the one that something is cut from."""
    rank = len(call.shapes[0])
    if call.name == "diagonal":
        return []
    dim = (call.arg("dim") if call.arg("dim") is not None else call.arg("dimension")) % max(rank, 1)
    if call.name == "select":
        return follow(call, lambda d: None if d == dim else d - (d > dim), _same)
    out = call.outs[0]
    assert out is not None
    everything = call.name in ("slice", "narrow") and out.shape[dim] == call.shapes[0][dim]
    return follow(call, lambda d: d if d != dim or everything else None, _same)


@local("slice", "narrow")
def cut_local(call: Call, plan: Plan) -> None:
    """Where everything is taken, everything of the part is."""
    dim = call.arg("dim") % len(call.shapes[0])
    if any(_is_shard_like(p) and p.dim == dim for p in plan.targets[0].placements):
        places = call.schema.places
        if call.name == "slice":
            plan.values[places["start"]] = plan.values[places["end"]] = None
        else:
            plan.values[places["length"]] = compute_local_shape(
                call.shapes[0], call.mesh, plan.targets[0].placements
            )[dim]


@rule("slice_backward", "select_backward")
def cut_backward(call: Call) -> list[Way]:
    """The gradient of a piece, put into zeros."""
    dim = call.arg("dim") % len(call.arg("input_sizes"))
    if call.name == "select_backward":
        return follow(call, lambda d: d + (d >= dim), _same)
    return follow(call, lambda d: None if d == dim else d, _same)


@local("slice_backward", "select_backward")
def cut_backward_local(call: Call, plan: Plan) -> None:
    """The shape of the part of the whole."""
    spec = plan.outs[0]
    assert spec is not None
    plan.values[call.schema.places["input_sizes"]] = list(
        compute_local_shape(spec.shape, spec.mesh, spec.placements)
    )


@rule("slice_scatter", "select_scatter")
def put_back(call: Call) -> list[Way]:
    """All dimensions but the one that is written to."""
    rank = len(call.shapes[0])
    labels = numbered(rank, [call.arg("dim") % rank])
    dim = labels.index(None)
    piece = labels if call.name == "slice_scatter" else labels[:dim] + labels[dim + 1 :]
    return ways_of([labels], [labels, piece])


@rule("constant_pad_nd", "tril", "triu", "repeat", "diag_embed")
def padded(call: Call) -> list[Way]:
    """Dimensions that stay as they are."""
    rank = len(call.shapes[0])
    if call.name == "constant_pad_nd":
        gone = {rank - 1 - k // 2 for k, n in enumerate(call.arg("pad")) if n}
        zero = call.arg("value") == 0
        return follow(
            call,
            lambda d: None if d in gone else d,
            lambda p: p if zero and p.reduce_op in ("sum", "avg") else None,
        )
    if call.name in ("tril", "triu"):
        return follow(call, lambda d: d if d < rank - 2 else None)
    if call.name == "repeat":
        times = call.arg("repeats")
        lead = len(times) - rank
        return follow(call, lambda d: d + lead if times[d + lead] == 1 else None, _same)
    return []


# ---- joining and splitting -----------------------------------------------------------------------


@rule("cat")
def cat(call: Call) -> list[Way]:
    """As one of the tensors lies, but whole along the dimension that they are joined along."""
    rank = max(len(s) for s in call.shapes)
    dim = call.arg("dim") % max(rank, 1)
    if any(len(s) != rank for s in call.shapes):
        return []
    placements = dict.fromkeys(p for s in call.specs for p in s.placements)
    return [
        ([p], [p] * len(call.specs)) for p in placements if not (_is_shard_like(p) and p.dim == dim)
    ]


@rule("stack")
def stack(call: Call) -> list[Way]:
    """As the tensors lie."""
    dim = call.arg("dim") % (len(call.shapes[0]) + 1)
    found: list[Way] = []
    for p in dict.fromkeys(p for s in call.specs for p in s.placements):
        out = p._moved(p.dim + (p.dim >= dim)) if _is_shard_like(p) else p
        found.append((out, [p] * len(call.specs)))
    return found


@rule(
    "split",
    "split_with_sizes",
    "unbind",
    "chunk",
    "tensor_split",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsafe_chunk",
)
def split(call: Call) -> list[Way]:
    """All dimensions but the one that is split."""
    dim = call.arg("dim") % max(len(call.shapes[0]), 1)
    gone = call.name == "unbind"
    return follow(call, lambda d: None if d == dim else d - (gone and d > dim), _same)


# ---- indexing ------------------------------------------------------------------------------------


@rule("index_select")
def index_select(call: Call) -> list[Way]:
    """Dimensions that are not indexed, and that of the index."""
    rank = len(call.shapes[0])
    x = numbered(rank, [call.arg("dim") % rank] if rank else [])
    found = ways_of([x], [x, ()])
    if rank:
        found.append(([Shard(call.arg("dim") % rank)], [R, Shard(0)]))
    return found + [([p], [p, R]) for p in EVERY]


def _index_labels(call: Call) -> tuple[Values, Values, list[Values]] | None:
    """Labels of what is indexed, of the result, and of the indices."""
    given = call.arg("indices")
    shapes = {
        k: call.shapes[j]
        for j, (i, k) in enumerate(call.leaves)
        if i == call.schema.places["indices"]
    }
    at = [k for k, t in enumerate(given) if t is not None]
    if not at or any(
        call.specs[j]._meta().dtype.itemsize == 1 for j, (_, k) in enumerate(call.leaves) if k in at
    ):
        return None  # indexed by truth
    rank = len(call.shapes[0])
    most = max(len(shapes[k]) for k in at)
    inner = [f"i{d}" for d in range(most)]
    sizes = [
        max(shapes[k][d - most] if most - d <= len(shapes[k]) else 1 for k in at)
        for d in range(most)
    ]
    labels = [
        [
            x if shapes[k][d] == n else None
            for d, (x, n) in enumerate(
                zip(inner[-len(shapes[k]) :], sizes[-len(shapes[k]) :], strict=True)
            )
        ]
        if len(shapes[k])
        else []
        for k in at
    ]
    x = numbered(rank, at)
    rest = [d for d in range(rank) if d not in at]
    if at == list(range(at[0], at[-1] + 1)):
        out = [d for d in rest if d < at[0]] + inner + [d for d in rest if d > at[0]]
    else:
        out = inner + rest
    return x, out, labels


@rule("index", "_unsafe_index")
def index(call: Call) -> list[Way]:
    """Dimensions that are not indexed, and those of the indices."""
    found = _index_labels(call)
    if found is None:
        return []
    x, out, labels = found
    return ways_of([out], [x, *labels]) + [
        ([p], [p, *[R] * len(labels)]) for p in (Partial("sum"), Partial("avg"))
    ]


@rule("index_put", "_index_put_impl")
def index_put(call: Call) -> list[Way]:
    """Dimensions that are not indexed."""
    found = _index_labels(call)
    if found is None:
        return []
    x, out, labels = found
    shape = call.shapes[call.place("values") or 0]
    inner = [d if isinstance(d, int) else None for d in out][len(out) - len(shape) :]
    values = [
        d if d is not None and n == call.shapes[0][d] else None
        for d, n in zip(inner, shape, strict=True)
    ]
    ways = ways_of([x], [x, *[[None] * len(d) for d in labels], values])
    return [*ways, ([Partial("sum")], [Partial("sum"), *[R] * len(labels), Partial("sum")])]


@rule(
    "gather",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_copy",
    "index_fill",
    "index_reduce",
    "take_along_dim",
)
def along_dim(call: Call) -> list[Way]:
    """Dimensions, of one size everywhere, that it does not go along."""
    shapes = call.shapes
    rank = len(shapes[0])
    if not rank or call.arg("dim") is None:
        return []
    dim = call.arg("dim") % rank
    found: list[Way] = []
    for d in range(rank):
        if d == dim:
            continue
        ins: list[Placement] = []
        for s in shapes:
            if len(s) == rank and s[d] == shapes[0][d]:
                ins.append(Shard(d))
            elif len(s) == rank:
                break
            else:
                ins.append(Replicate())
        else:
            found.append(([Shard(d)], ins))
    if call.name == "gather" and len(shapes[1]) == rank:
        found.append(([Shard(dim)], [R, Shard(dim)]))
    return found
