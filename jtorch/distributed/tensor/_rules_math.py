"""Rules of reductions, products of matrices, softmax, normalisation, sorting and convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._dispatch import Call, Plan, Way, local, rule
from ._utils import compute_local_shape
from .placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _is_shard_like,
    _NormPartial,
    _StridedShard,
)

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


R = Replicate()
SUM, AVG = Partial("sum"), Partial("avg")
Labels = Sequence[Any]


def ways_of(
    outs: Sequence[Labels], ins: Sequence[Labels], sums: dict[object, Placement] | None = None
) -> list[Way]:
    """Ways along dimensions that tensors have in common, told by labels as in ``einsum``; None is a
    dimension that is never cut.

    A label that no result has makes them ``sums[label]``, if it is there.
    """
    labels = dict.fromkeys(x for dims in (*outs, *ins) for x in dims if x is not None)
    found: list[Way] = []
    for x in labels:
        made = [_at(dims, x, (sums or {}).get(x)) for dims in outs]
        if all(p is not None for p in made) and (
            x in (sums or {}) or any(x in dims for dims in outs)
        ):
            found.append((made, [_at(dims, x, R) for dims in ins]))
    return found


def _at(dims: Labels, x: object, otherwise: object) -> Any:
    return Shard(list(dims).index(x)) if x in dims else otherwise


def numbered(n: int, without: Iterable[int] = ()) -> list[int | None]:
    """Labels of ``n`` dimensions of which some are never cut."""
    gone = set(without)
    return [None if d in gone else d for d in range(n)]


def follow(
    call: Call,
    image: Callable[..., object],
    partial: Callable[..., object] | None = None,
    first: int = 0,
) -> list[Way]:
    """Ways along the dimension that the operand is cut along already, ``image(dim)`` in the
    results, or summands as ``partial`` says."""
    found: list[Way] = []
    for p in call.specs[first].placements:
        if _is_shard_like(p):
            out = image(p.dim)
            if out is not None:
                made = p._moved(out) if isinstance(out, int) else out
                found.append((made, [p]))
        elif p.is_partial() and partial is not None:
            out = partial(p)
            if out is not None:
                found.append((out, [p]))
    return found


def dims_of(call: Call, name: str = "dim") -> list[int]:
    """The dimensions that a parameter names; all if it names none."""
    rank = len(call.shapes[0])
    given = call.arg(name)
    if given is None or (isinstance(given, list) and not given):
        return list(range(rank))
    return sorted(
        {d % rank if rank else 0 for d in (given if isinstance(given, list) else [given])}
    )


# ---- reductions ----------------------------------------------------------------------------------

#: What combines the results of parts. Others are computed where the reduced dimensions are whole.
_COMBINED = {
    "sum": "sum", "nansum": "sum", "count_nonzero": "sum",
    "any": "sum", "all": "product", "prod": "product", "mean": "avg", "max": "max", "amax": "max",
    "min": "min", "amin": "min",
}  # fmt: skip


def _reduced(
    call: Call, dims: list[int], keep: bool, combined: Placement | None, passes: Any = None
) -> list[Way]:
    """Ways of a reduction over ``dims``; ``passes(partial)`` says which summands may stay."""

    def image(d: int) -> object:
        if d in dims:
            return combined if _fair(call, d, combined) else None
        return d if keep else d - sum(k < d for k in dims)

    return follow(call, image, passes)


def _fair(call: Call, d: int, combined: Placement | None) -> bool:
    """Whether the results of parts make the whole's: means only of equal parts, and the greatest of
    no empty ones."""
    spec = call.specs[0]
    n, parts = spec.shape[d], spec.num_shards_map[d]
    if combined is None or any(
        isinstance(p, _StridedShard) and p.dim == d for p in spec.placements
    ):
        return combined is not None and combined.reduce_op != "avg"
    op = combined.reduce_op
    if op == "avg":
        return n % parts == 0
    return op not in ("max", "min") or n > -(-n // parts) * (parts - 1)


@rule(*_COMBINED)
def reduction(call: Call) -> list[Way]:
    """Whatever is cut stays cut; parts of what is reduced give summands."""
    if call.name in ("max", "min") and call.func._overloadname == "dim":
        return ordered(call)
    op = Partial(_COMBINED[call.name])
    # how many of the sums are not zero is not told by the summands
    linear = call.name != "count_nonzero"
    return _reduced(
        call,
        dims_of(call),
        bool(call.arg("keepdim")),
        op,
        lambda p: p if p == op and linear else None,
    )


@rule("linalg_vector_norm", "norm")
def norm(call: Call) -> list[Way] | None:
    """Norms of parts are combined by their powers."""
    order = call.arg("ord") if call.name == "linalg_vector_norm" else call.arg("p")
    order = 2 if order is None else order
    op = (
        Partial({float("inf"): "max", float("-inf"): "min", 0: "sum"}[order])
        if order in (0, float("inf"), float("-inf"))
        else _NormPartial(order)
    )
    return _reduced(call, dims_of(call), bool(call.arg("keepdim")), op)


@rule("aminmax")
def extremes(call: Call) -> list[Way]:
    """Parts of what is reduced give the least and the greatest of each."""
    dims, keep = dims_of(call), bool(call.arg("keepdim"))

    def image(d: int) -> object:
        if d in dims:
            return [Partial("min"), Partial("max")] if _fair(call, d, Partial("max")) else None
        return d if keep else d - sum(k < d for k in dims)

    return follow(call, image)


@rule("argmax", "argmin", "std", "var", "std_mean", "var_mean", "logsumexp", "nanmean", "trace")
def whole_reduction(call: Call) -> list[Way]:
    """What is reduced must be whole."""
    if call.name == "trace":
        return []
    return _reduced(call, dims_of(call), bool(call.arg("keepdim")), None)


@rule(
    "cumsum", "cumprod", "logcumsumexp", "_softmax", "_log_softmax", "_safe_softmax", "flip", "roll"
)
def along(call: Call) -> list[Way]:
    """Any dimension but those that it goes along."""
    dims = dims_of(call, "dims" if "dims" in call.schema.places else "dim")
    return follow(
        call,
        lambda d: None if d in dims else d,
        (lambda p: p) if call.name in ("flip", "roll") else None,
    )


@rule("_fft_r2c", "_fft_c2c", "_fft_c2r")
def spectra(call: Call) -> list[Way]:
    """Any dimension that is not transformed; transforms are linear."""
    dims = dims_of(call)
    return follow(
        call, lambda d: None if d in dims else d, lambda p: p if p in (SUM, AVG) else None
    )


@rule("glu")
def halves(call: Call) -> list[Way]:
    """Any dimension but the one that is halved."""
    dims = dims_of(call)
    return follow(call, lambda d: None if d in dims else d)


@rule("bucketize")
def placed_among(call: Call) -> list[Way]:
    """As elementwise, among boundaries that are whole."""
    labels = numbered(len(call.shapes[0]))
    return ways_of([labels], [labels, [None]])


@rule("multinomial")
def rows(call: Call) -> list[Way]:
    """Rows, which processes draw from on their own."""
    return follow(call, lambda d: d if d == 0 and len(call.shapes[0]) == 2 else None)


@rule("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(call: Call) -> list[Way]:
    """As ``along``, for gradients and results that are cut in the same way."""
    rank = len(call.shapes[0])
    labels = numbered(rank, dims_of(call))
    return ways_of([labels], [labels, labels])


@rule("median", "nanmedian", "mode", "kthvalue")
@rule("sort", "topk", "cummax", "cummin", spreads=True)
def ordered(call: Call) -> list[Way]:
    """Any dimension but the one that is ordered; a reduced one is gone from the results."""
    rank = len(call.shapes[0])
    dim = call.arg("dim")
    if dim is None and "dim" not in call.schema.places:
        return []
    dim = (-1 if dim is None else dim) % max(rank, 1)
    labels = numbered(rank, [dim])
    out = labels if len(call.outs[0].shape) == rank else labels[:dim] + labels[dim + 1 :]
    return ways_of([out] * len(call.outs), [labels])


# ---- products ------------------------------------------------------------------------------------

_PRODUCTS = {
    "mm": ("mn", "mk", "kn"), "bmm": ("bmn", "bmk", "bkn"), "mv": ("m", "mk", "k"),
    "dot": ("", "k", "k"), "vdot": ("", "k", "k"), "addmm": ("mn", "mk", "kn"),
    "baddbmm": ("bmn", "bmk", "bkn"), "addmv": ("m", "mk", "k"), "outer": ("mn", "m", "n"),
    "ger": ("mn", "m", "n"), "addr": ("mn", "m", "n"), "addbmm": ("mn", "bmk", "bkn"),
}  # fmt: skip


@rule(*_PRODUCTS)
def product(call: Call) -> list[Way]:
    """Along any dimension; a dimension that is summed over gives summands. Linear in each
    factor."""
    out, a, b = _PRODUCTS[call.name]
    inner = set(a) & set(b) - set(out)
    found = []
    for x in sorted(set(out + a + b), key="bkmn".index):
        found.append(([_at(out, x, SUM)], [_at(a, x, R), _at(b, x, R)]))
        assert (x in inner) == (x not in out)
    found += [([p], q) for p in (SUM, AVG) for q in ([p, R], [R, p])]
    if len(call.specs) == 2:
        return found
    rank = len(out)
    shape, result = call.shapes[0], call.outs[0].shape
    more: list[Way] = []
    for outs, ins in found:
        p: Any = outs[0]
        if isinstance(p, Shard):
            d = p.dim - (rank - len(shape))
            p = Shard(d) if d >= 0 and shape[d] == result[p.dim] else R
        more.append((outs, [p, *ins]))
    return more


# ---- normalisation -------------------------------------------------------------------------------


def _optional(call: Call, names: Sequence[str], labels: dict[str, Labels]) -> list[Labels]:
    """The labels of the operands that are there."""
    return [labels.get(n, ()) for n in names if call.place(n) is not None]


@rule("native_layer_norm", "_fused_rms_norm")
def layer_norm(call: Call) -> list[Way]:
    """The dimensions before those that are normalised."""
    rank = len(call.shapes[0])
    lead = rank - len(call.arg("normalized_shape"))
    x = [*range(lead), *[None] * (rank - lead)]
    return ways_of([x] * len(call.outs), [x, *_optional(call, ("weight", "bias"), {})])


@rule("native_layer_norm_backward", "_fused_rms_norm_backward")
def layer_norm_backward(call: Call) -> list[Way]:
    """Parts of the examples give summands of the parameters' gradients."""
    rank = len(call.shapes[0])
    lead = rank - len(call.arg("normalized_shape"))
    x = [*range(lead), *[None] * (rank - lead)]
    names = ("grad_out", "input", "mean", "rstd", "weight", "bias")
    ins = _optional(call, names, dict.fromkeys(names[:4], x))
    return ways_of([x, *[()] * (len(call.outs) - 1)], ins, dict.fromkeys(range(lead), SUM))


@rule("native_group_norm")
def group_norm(call: Call) -> list[Way]:
    """Examples, which are the first dimension."""
    return ways_of([("n",), ("n",), ("n",)], [("n",), *_optional(call, ("weight", "bias"), {})])


@rule("native_group_norm_backward")
def group_norm_backward(call: Call) -> list[Way]:
    """Parts of the examples give summands of the parameters' gradients."""
    ins = _optional(
        call,
        ("grad_out", "input", "mean", "rstd", "weight"),
        dict.fromkeys(("grad_out", "input", "mean", "rstd"), ("n",)),
    )
    return ways_of([("n",), (), ()], ins, {"n": SUM})


@local("native_group_norm", "native_group_norm_backward")
def group_norm_local(call: Call, plan: Plan) -> None:
    """The number of examples of the part."""
    spec = plan.targets[call.place("input") or 0]
    plan.values[call.schema.places["N"]] = compute_local_shape(
        spec.shape, spec.mesh, spec.placements
    )[0]


@rule("native_batch_norm", "_native_batch_norm_legit", "native_batch_norm_backward")
def batch_norm(call: Call) -> list[Way]:
    """Channels; examples too where the statistics are given."""
    places = [call.schema.arguments[i].name for i, _ in call.leaves]
    big = ("grad_out", "input")
    ins = [(None, "c") if n in big else ("c",) for n in places]
    outs: Values = [(None, "c"), *[("c",)] * (len(call.outs) - 1)]
    return [w for w in ways_of(outs, ins) if all(_sized(call, w))]


def _sized(call: Call, way: Way) -> Iterable[bool]:
    for shape, p in zip(call.shapes, way[1], strict=True):
        yield not isinstance(p, Shard) or p.dim < len(shape)
    for meta, p in zip(call.outs, way[0], strict=True):
        yield meta is None or not isinstance(p, Shard) or p.dim < len(meta.shape)


# ---- convolution and pooling ---------------------------------------------------------------------


@rule("convolution")
def convolution(call: Call) -> list[Way]:
    """Examples, or channels of the result."""
    o = (None, "o") if call.arg("transposed") else ("o",)
    bias = [("o",)] if call.place("bias") is not None else []
    alone = call.arg("groups") == 1 and len(call.shapes[0]) == len(call.shapes[1])
    found = ways_of([("n", "o")], [("n",), o, *bias])
    return found if alone else found[:1] if len(call.shapes[0]) == len(call.shapes[1]) else []


@rule("convolution_backward")
def convolution_backward(call: Call) -> list[Way]:
    """Examples, which give summands of the gradients of weight and bias; or channels of the
    result."""
    mask = call.arg("output_mask")
    n: list[Any] = [Shard(0), SUM, SUM]
    ways: list[Way] = [
        ([p if m else None for p, m in zip(n, mask, strict=True)], [Shard(0), Shard(0), R])
    ]
    if call.arg("groups") == 1 and not call.arg("transposed"):
        o: list[Any] = [SUM, Shard(0), Shard(0)]
        ways.append(
            ([p if m else None for p, m in zip(o, mask, strict=True)], [Shard(1), R, Shard(0)])
        )
    return ways


@rule(
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool2d_backward",
    "_adaptive_avg_pool2d_backward", "max_pool2d_with_indices_backward",
    "adaptive_max_pool2d_backward", "upsample_nearest1d", "upsample_nearest2d",
    "upsample_bilinear2d", "upsample_nearest3d", "upsample_bicubic2d", "upsample_linear1d",
    "upsample_trilinear3d", "pixel_shuffle", "pixel_unshuffle", "upsample_nearest1d_backward",
    "upsample_nearest2d_backward", "upsample_bilinear2d_backward", "upsample_bicubic2d_backward",
    "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
)  # fmt: skip
def spatial(call: Call) -> list[Way]:
    """Examples and channels; means are linear."""
    x = (
        ("n", "c")
        if len(call.shapes[0]) == 4 - ("1d" in call.name) + ("3d" in call.name)
        and "shuffle" not in call.name
        else ("n",)
    )
    found = ways_of([x] * len(call.outs), [x] * len(call.specs))
    if "avg" in call.name and len(call.specs) == 1:
        found += [([p], [p]) for p in (SUM, AVG)]
    return found


@local(
    "upsample_nearest1d_backward",
    "upsample_nearest2d_backward",
    "upsample_bilinear2d_backward",
    "upsample_bicubic2d_backward",
)
def spatial_backward_local(call: Call, plan: Plan) -> None:
    """The sizes of the part that was enlarged."""
    grad = plan.targets[0]
    part = compute_local_shape(grad.shape, grad.mesh, grad.placements)
    plan.values[call.schema.places["input_size"]] = [*part[:2], *call.arg("input_size")[2:]]


_SQUARE = (
    "cholesky", "cholesky_inverse", "linalg_matrix_exp", "linalg_cholesky_ex", "linalg_inv_ex",
    "linalg_eig", "_linalg_det", "linalg_lu", "_linalg_slogdet", "linalg_lu_factor_ex",
    "_linalg_eigh", "_linalg_svd", "linalg_qr",
)  # fmt: skip


@rule(*_SQUARE)
def matrices(call: Call) -> list[Way]:
    """The dimensions before those of the matrices."""
    lead = list(range(len(call.shapes[0]) - 2))
    return ways_of([lead] * len(call.outs), [lead] * len(call.specs))
