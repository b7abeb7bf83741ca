"""The strides of results: the rules that ``strides=`` names in an op's declaration. Strides are
metadata; values are row-major.

A declaration says ``"rule"``, ``"rule:0,2"`` (only those of several results) or
``"rule if condition"``, in terms of the op's parameters. Pointwise families follow
``applying.keep_layout`` unless they name a rule; what names none has row-major results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import opt_einsum

from ...core import Tensor
from ..engine import Aval
from ..facts.layouts import (
    channels_last,
    channels_last_3d,
    column_strides,
    contiguous_format,
    contiguous_strides,
    format_strides,
    in_format,
    is_dense,
    suggested_format,
    suggests_channels_last,
)
from ..ops._kernel import caches
from ..ops.attention import fits_fused
from ..ops.views import view_strides
from .running import keep_layout, pointwise_strides, preserve_layout

_FORMATS = {4: channels_last, 5: channels_last_3d}


def _give(r: Tensor, strides: tuple[int, ...] | None) -> None:
    if strides is not None and strides != contiguous_strides(r._aval.shape):
        r._strides = strides


def columns(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Matrices one column after the other, as LAPACK writes them; the last two dimensions of a
    batch."""
    for r in results:
        if r._aval.ndim >= 2:
            _give(r, column_strides(r._aval.shape))


def first(results: Sequence[Tensor], tensors: Sequence[Tensor], dim: int) -> None:
    """Slices along a dimension one after the other, each row-major."""
    for r in results:
        shape = list(r._aval.shape)
        if 0 in shape:
            continue
        strides = list(contiguous_strides((shape.pop(dim), *shape)))
        strides.insert(dim % r._aval.ndim, strides.pop(0))
        _give(r, tuple(strides))


def positions(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Tables of positions, one column after the other without a gap."""
    for r in results:
        if r._aval.ndim == 2:  # else a column by itself
            _give(r, (1, r._aval.shape[0]))


def preserve(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """The strides of the first operand where they are dense, else its order of dimensions."""
    for r in results:
        if r._aval.shape == tensors[0]._aval.shape:
            preserve_layout(r, tensors[0])


def order(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """The first operand's order of dimensions, also where sizes differ."""
    source = tensors[0]
    for r in results:
        if r._aval.ndim == source._aval.ndim:
            strides = source._strides or contiguous_strides(source._aval.shape)
            _give(r, pointwise_strides(r._aval.shape, ((r._aval.shape, strides),)))


def pointwise(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """That of pointwise functions of all operands; results of fewer dimensions are sums."""
    for r in results:
        keep_layout(r, tensors)


def rows(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Row-major, although the op's family is not."""


def turned(
    results: Sequence[Tensor], tensors: Sequence[Tensor], k: int, dims: tuple[int, int]
) -> None:
    """Those of flipped copies (``preserve``), with two dimensions exchanged after an odd number of
    turns."""
    (r,) = results
    source = tensors[0]
    if k % 4 == 0 or r._aval.ndim < 2:
        return
    shape, found = source._aval.shape, source._strides
    if found is not None:
        found = pointwise_strides(shape, ((shape, found),))
    strides = list(found or contiguous_strides(shape))
    if k % 2:
        a, b = dims
        strides[a], strides[b] = strides[b], strides[a]
    _give(r, tuple(strides))


# ---- sums of products ----------------------------------------------------------------------------

_Laid = tuple[tuple[int, ...], tuple[int, ...]]


def contracted(
    results: Sequence[Tensor],
    tensors: Sequence[Tensor],
    labels: Sequence[Sequence[int]],
    output: Sequence[int],
) -> None:
    """Those of products of two operands at a time, which are summed by products of matrices where
    both have a label that is to go."""
    (r,) = results
    if len(tensors) < 2 or 0 in r._aval.shape:
        return
    key = (r._aval.shape, labels, output, tuple([(t._aval.shape, t._strides) for t in tensors]))
    if any(type(n) is not int for shape, _ in key[3] for n in shape):
        return
    strides = _contractions.get(key)
    if strides is None:
        strides = _contraction(
            labels,
            output,
            [(t._aval.shape, t._strides or contiguous_strides(t._aval.shape)) for t in tensors],
        )
        if len(_contractions) < _MOST_CONTRACTIONS:
            _contractions[key] = strides
    _give(r, strides)


#: The strides of sums of products, by all that they depend on.
_contractions: dict[Any, tuple[int, ...]] = {}
_MOST_CONTRACTIONS = 1024
caches.append(_contractions)


def _contraction(
    labels: Sequence[Sequence[int]], output: Sequence[int], operands: Sequence[_Laid]
) -> tuple[int, ...]:
    names = [*output, *sorted({n for term in labels for n in term}.difference(output))]
    left = [_aligned(names, term, *laid) for term, laid in zip(labels, operands, strict=True)]
    counts = {d: sum(shape[d] != 1 for shape, _ in left) for d in range(len(output), len(names))}
    for i, j in _pairs(labels, output, operands):
        b, a = left.pop(max(i, j)), left.pop(min(i, j))
        summed = []
        for d, count in counts.items():
            here = (a[0][d] != 1) + (b[0][d] != 1)
            if count == here and here:
                counts[d] = 0
                if here == 2:
                    summed.append(d)
                else:
                    a, b = _summed(a, d), _summed(b, d)
            elif here == 2:
                counts[d] -= 1
        left.append(_product(a, b, summed))
    ((shape, strides),) = left
    if len(names) > len(output):
        return view_strides(shape, strides, shape[: len(output)]) or contiguous_strides(
            shape[: len(output)]
        )
    return strides


def _pairs(
    labels: Sequence[Sequence[int]], output: Sequence[int], operands: Sequence[_Laid]
) -> list[tuple[int, int]]:
    """Which operands meet in each step; the product goes to the end."""
    if len(operands) == 2:
        return [(0, 1)]
    letters = {
        name: opt_einsum.get_symbol(i)
        for i, name in enumerate({n: None for term in labels for n in term})
    }
    terms = ["".join(letters[n] for n in term) for term in (*labels, output)]
    path, _ = opt_einsum.contract_path(
        f"{','.join(terms[:-1])}->{terms[-1]}", *[shape for shape, _ in operands], shapes=True
    )
    return [(step[0], step[-1]) for step in path if len(step) == 2]


def _aligned(
    names: Sequence[int], term: Sequence[int], shape: tuple[int, ...], strides: tuple[int, ...]
) -> _Laid:
    """An operand with one dimension for each label: diagonals where it has a label twice, 1 where
    it has none."""
    size = {
        n: (shape[term.index(n)], sum(s for m, s in zip(term, strides, strict=True) if m == n))
        for n in term
    }
    return tuple([size.get(n, (1, 1))[0] for n in names]), tuple(
        [size.get(n, (1, 1))[1] for n in names]
    )


def _summed(laid: _Laid, d: int) -> _Laid:
    shape, _ = laid
    if shape[d] == 1:
        return laid
    shape = (*shape[:d], 1, *shape[d + 1 :])
    return shape, contiguous_strides(shape)


def _product(a: _Laid, b: _Laid, summed: Sequence[int]) -> _Laid:
    """The product of two operands of as many dimensions: elementwise, or a batch of products of
    matrices that is permuted."""
    dims = range(len(a[0]))
    shape = tuple([1 if d in summed else max(a[0][d], b[0][d]) for d in dims])
    if not summed:
        return shape, pointwise_strides(shape, (a, b)) or contiguous_strides(shape)
    kept = [d for d in dims if d not in summed]
    both = [d for d in kept if a[0][d] != 1 and b[0][d] != 1]
    first = [d for d in kept if a[0][d] != 1 and b[0][d] == 1]
    second = [d for d in kept if a[0][d] == 1]
    if first and second and second[-1] < first[0]:
        # PyTorch exchanges the operands where nothing is to be permuted then
        first, second = second, first
    order = [*both, *first, *summed, *second]
    made = contiguous_strides(tuple([shape[d] for d in order]))
    return shape, tuple([made[order.index(d)] for d in dims])


# ---- images --------------------------------------------------------------------------------------


def _is_image(t: Tensor) -> bool:
    return (
        t._strides is not None
        and suggested_format(t._aval.shape, t._strides) is not contiguous_format
    )


def _give_format(results: Sequence[Tensor]) -> None:
    for r in results:
        shape = r._aval.shape
        if len(shape) in _FORMATS:
            _give(r, format_strides(shape, _FORMATS[len(shape)]))


def image(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels last if the first operand is."""
    if _is_image(tensors[0]):
        _give_format(results)


def normalized(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels last if the first operand is, or lies in memory as if it were: dimensions of size 1
    may have any stride."""
    shape, strides = tensors[0]._aval.shape, tensors[0]._strides
    if _is_image(tensors[0]) or (
        len(shape) in _FORMATS
        and strides is not None
        and in_format(shape, strides, _FORMATS[len(shape)])
    ):
        _give_format(results)


def images(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels last if all operands are."""
    if all(_is_image(t) for t in tensors):
        _give_format(results)


def padded(results: Sequence[Tensor], tensors: Sequence[Tensor], pad: Sequence[object]) -> None:
    """Of what is only cropped, those that a copy of the part has; else channels last if the operand
    is."""
    if all(type(n) is int and n <= 0 for n in pad):
        source = tensors[0]._strides
        for r in results:
            if source is not None and is_dense(r._aval.shape, source):
                _give(r, source)
            else:
                order(results, tensors)
    else:
        image(results, tensors)


def padded_so(
    results: Sequence[Tensor], tensors: Sequence[Tensor], pad: Sequence[object], mode: str
) -> None:
    """As the mode pads."""
    if mode == "constant":
        padded(results, tensors, pad)
    elif mode != "circular":
        image(results, tensors)


def volumes(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels last if the first operand is, or is one volume with the channels innermost."""
    image(results, tensors)
    shape, strides = tensors[0]._aval.shape, tensors[0]._strides
    if len(shape) != 4 or strides is None or strides == contiguous_strides(shape):
        return
    if in_format((1, *shape), (shape[0] * strides[0], *strides), channels_last_3d):
        for r in results:
            whole = (1, *r._aval.shape)
            _give(r, format_strides(whole, channels_last_3d)[1:])


def weighted(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels last if the image or the weight is; a single image is one of a batch without that
    dimension."""
    (r,) = results
    if _is_image(tensors[0]) or _is_image(tensors[1]):
        shape = r._aval.shape
        if len(shape) in _FORMATS and len(shape) == tensors[1]._aval.ndim:
            _give_format(results)
        elif len(shape) + 1 == tensors[1]._aval.ndim:
            whole = (1, *shape)
            _give(r, format_strides(whole, _FORMATS[len(whole)])[1:])


def _is_signal(t: Tensor) -> bool:
    """Whether the channels of (batches of) signals are innermost, when they are looked at as images
    of height 1."""
    shape, strides = t._aval.shape, t._strides
    if strides is None or len(shape) not in (2, 3):
        return False
    if len(shape) == 2:
        shape, strides = (1, *shape), (shape[0] * strides[0], *strides)
    n, c, w = shape
    return suggests_channels_last(
        (n, c, 1, w), (strides[0], strides[1], w * strides[2], strides[2])
    )


def _give_signal(results: Sequence[Tensor]) -> None:
    for r in results:
        shape = r._aval.shape
        c, w = shape[-2:]
        _give(r, (c * w, 1, c)[-len(shape) :])


def signal(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels innermost if those of the first operand, a batch of signals, are."""
    if tensors[0]._aval.ndim == 3 and _is_signal(tensors[0]):
        _give_signal(results)


def filtered(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
    """Channels innermost if those of the weight are: PyTorch makes the signals contiguous."""
    if _is_signal(tensors[1]):
        _give_signal(results)


def resized(results: Sequence[Tensor], tensors: Sequence[Tensor], mode: str) -> None:
    """As the image is, but for what ``mode="area"`` computes by adaptive pooling."""
    ndim = tensors[0]._aval.ndim
    if ndim == 3 and mode == "area":
        signal(results, tensors)
    elif mode != "area" or ndim == 4:
        image(results, tensors)


# ---- attention -----------------------------------------------------------------------------------


def attended(
    results: Sequence[Tensor],
    tensors: Sequence[Tensor],
    attn_mask: Tensor | None,
    keep: object,
    enable_gqa: bool,
) -> None:
    """Those of the queries where torch's fast kernel computes the result, which makes it like them;
    else row-major."""
    query, key, value = tensors[:3]
    if keep is not None or (isinstance(attn_mask, Tensor) and attn_mask.requires_grad):
        return
    if any(t._strides is not None and t._strides[-1] != 1 for t in (query, key, value)):
        return
    mask = attn_mask._aval if isinstance(attn_mask, Tensor) else None
    if fits_fused(query._aval, key._aval, value._aval, mask, enable_gqa):
        preserve(results, tensors)


# ---- Fourier transforms --------------------------------------------------------------------------


def _transformed(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: Sequence[int],
    sized: dict[int, int],
    last: bool,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides after one transform: batches in the order of their strides, then what is
    transformed, ``last`` at the end."""
    if not dims:
        return shape, strides

    def by_stride(d: int) -> int:
        return -strides[d]

    batch = sorted([d for d in range(len(shape)) if d not in dims], key=by_stride)
    inner = [*sorted(dims[:-1], key=by_stride), dims[-1]] if last else sorted(dims, key=by_stride)
    sizes = tuple([sized.get(d, n) for d, n in enumerate(shape)])
    found = [0] * len(shape)
    step = 1
    for d in reversed([*batch, *inner]):
        found[d] = step
        step *= sizes[d] if d in batch else max(sizes[d], 1)
    return sizes, tuple(found)


#: The strides of transforms' results, by all that they depend on; None for row-major ones.
_transforms: dict[Any, tuple[int, ...] | None] = {}
_MOST_TRANSFORMS = 1024
caches.append(_transforms)


def _are_numbers(given: object) -> bool:
    """Whether sizes or dimensions can be a part of a key: there are lists, and tensors among
    them."""
    return (
        given is None
        or type(given) is int
        or (type(given) is tuple and set(map(type, given)) == {int})
    )


def _fourier(
    r: Tensor, t: Tensor, n: int | None, dim: tuple[int, ...] | int | None, kind: str
) -> None:
    key = (r._aval, t._aval, t._strides, n, dim, kind)
    if _are_numbers(n) and _are_numbers(dim):
        try:
            strides = _transforms[key]
        except KeyError:
            strides = _fourier_strides(*key)
            if len(_transforms) < _MOST_TRANSFORMS:
                _transforms[key] = strides
    else:
        strides = _fourier_strides(*key)
    if strides is not None:
        r._strides = strides


def _fourier_strides(
    made: Aval, aval: Aval, own: tuple[int, ...] | None, n: Any, dim: Any, kind: str
) -> tuple[int, ...] | None:
    result, shape = made.shape, aval.shape
    ndim = len(shape)
    if not ndim or 0 in result:
        return None
    count = len(n) if isinstance(n, (tuple, list)) else 1
    if dim is None:
        dim = range(ndim) if n is None else range(ndim - count, ndim)
    dims = [d % ndim for d in ((dim,) if isinstance(dim, int) else dim)]
    if not dims:
        return None
    end = dims[-1]
    strides = own or contiguous_strides(shape)
    whole = result[end] // 2 + 1 if kind == "to real" else result[end]
    if kind.startswith("from real") and n is not None:
        whole = n[-1] if isinstance(n, (tuple, list)) else n
    given = tuple(
        [whole if d == end else result[d] if d in dims else m for d, m in enumerate(shape)]
    )
    if kind.startswith("from real") and n is None:
        given = tuple([shape[end] if d == end else m for d, m in enumerate(given)])
    if any(a > b for a, b in zip(given, shape, strict=True)):  # padding copies
        strides = contiguous_strides(given)
    if own is not None and (
        aval.dtype.kind not in "fc" or (aval.dtype.kind == "f" and kind in ("complex", "to real"))
    ):
        # It was converted first.
        strides = pointwise_strides(shape, ((shape, strides),)) or contiguous_strides(shape)
    sized = {end: result[end]}
    if kind == "to real":
        given, strides = _transformed(given, strides, dims[:-1], {}, False)
        _, strides = _transformed(given, strides, [end], sized, False)
    elif kind == "from real, inverse":
        given, strides = _transformed(given, strides, [end], sized, False)
        _, strides = _transformed(given, strides, dims[:-1], {}, False)
    else:
        _, strides = _transformed(given, strides, dims, sized, kind == "from real")
    return None if strides == contiguous_strides(result) else strides


def _fourier_rules() -> dict[str, tuple[Callable[..., None], str]]:
    def made(kind: str) -> tuple[Callable[..., None], Callable[..., None]]:
        def along(results: Sequence[Tensor], tensors: Sequence[Tensor], n: Any, dim: Any) -> None:
            # One dimension of a real tensor is transformed as it is, by the transform for real
            # input.
            _fourier(results[0], tensors[0], n, dim, "" if kind == "complex" else kind)

        def over(
            results: Sequence[Tensor],
            tensors: Sequence[Tensor],
            s: int | None,
            dim: tuple[int, ...] | int | None,
        ) -> None:
            _fourier(results[0], tensors[0], s, dim, kind)

        return along, over

    found = {}
    for name, kind in {
        "fft": "complex",
        "rfft": "from real",
        "irfft": "to real",
        "ihfft": "from real, inverse",
    }.items():
        along, over = made(kind)
        found |= {name: (along, ""), f"{name}n": (over, "")}
    return found


#: When a rule has anything to say: as long as all operands are contiguous, most do not.
_FIRST = "_ts[0]._strides is not None"
_EITHER = "_ts[0]._strides is not None or _ts[1]._strides is not None"
RULES: dict[str, tuple[Callable[..., None], str]] = {
    "columns": (columns, ""), "first": (first, ""), "positions": (positions, ""),
    "preserve": (preserve, _FIRST), "order": (order, _FIRST), "pointwise": (pointwise, _EITHER),
    "rows": (rows, ""), "turned": (turned, ""), "image": (image, _FIRST),
    "normalized": (normalized, _FIRST), "images": (images, _FIRST), "volumes": (volumes, _FIRST),
    "padded": (padded, _FIRST), "padded_so": (padded_so, _FIRST), "weighted": (weighted, _EITHER),
    "signal": (signal, _FIRST), "filtered": (filtered, "_ts[1]._strides is not None"),
    "resized": (resized, _FIRST), "attended": (attended, _FIRST), "contracted": (contracted, ""),
    **_fourier_rules(),
}  # fmt: skip


def is_of_strided(declared: str) -> bool:
    """Whether what an op's declaration says has no effect as long as all its operands are
    contiguous."""
    function, guard = RULES[declared.partition(" if ")[0].partition(":")[0]]
    return bool(guard) or function is rows


def code(declared: str, names: dict[str, object], operands: str = "_ts") -> list[str]:
    """Lines that give the result ``_r`` of an op its strides, where its declaration says
    ``declared``."""
    rule, _, condition = declared.partition(" if ")
    name, _, numbers = rule.partition(":")
    function, guard = RULES[name]
    if function is rows:
        return []
    names["_lay"] = function
    mine = function.__code__
    more = "".join(f", {p}={p}" for p in mine.co_varnames[2 : mine.co_argcount])
    if numbers:
        chosen = f"({', '.join(f'_r[{n}]' for n in numbers.split(','))},)"
    else:
        chosen = "_r if isinstance(_r, tuple) else (_r,)"
    line = f"_lay({chosen}, {operands}{more})"
    tests = [f"({test})" for test in (guard, condition) if test]
    return [f"if {' and '.join(tests)}:", f"    {line}"] if tests else [line]
