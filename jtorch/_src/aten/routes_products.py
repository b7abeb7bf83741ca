"""Products and convolutions inside ``vmap`` and forward derivatives, as operators on the tensors
outside.

Each has a function of operands of which some hold all examples: their first dimensions are those of
``Examples.levels``, the outermost first. A product is linear in each factor, so that its derivative
is the same product with a tangent in the place of the factor.
"""

from __future__ import annotations

import dataclasses
import math
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..engine import Aval
from ..engine.calls import shapes_of
from ..engine.values import default_device
from ..ops._kernel import T as GIVEN
from .functions import ROUTES
from .overloads import aten
from .routes_math import matmul
from .routes_shape import reshape

if TYPE_CHECKING:
    from ..engine.calls import Call
    from ..facts.kinds import Decorator, Function, TensorLike


A = aten


@dataclasses.dataclass
class Examples:
    """Operands of which each has the dimensions of some of ``levels`` before its own; ``own`` are
    the numbers of their own dimensions."""

    levels: int
    flags: list[tuple[bool, ...]]
    tensors: list[Tensor]

    def rank(self, i: int) -> int:
        """The number of an operand's own dimensions."""
        return self.tensors[i]._aval.ndim - sum(self.flags[i])

    def whole(self, i: int, rank: int | None = None) -> Tensor:
        """An operand with all levels, those that it has not being of size 1, and its own dimensions
        filled up to ``rank`` from the front.

        One without examples stays what it is.
        """
        t, flags = self.tensors[i], self.flags[i]
        missing = 0 if rank is None else rank - self.rank(i)
        if not any(flags) or (all(flags) and not missing):
            return t
        sizes = iter(t._aval.shape)
        lead = [next(sizes) if f else 1 for f in flags]
        return _reshaped(t, [*lead, *[1] * missing, *sizes])

    def sizes(self) -> list[int]:
        """How many examples there are at each level."""
        found = [1] * self.levels
        for t, flags in zip(self.tensors, self.flags, strict=True):
            at = 0
            for level, f in enumerate(flags):
                if f:
                    found[level] = t._aval.shape[at]
                    at += 1
        return found


def _reshaped(t: object, shape: Sequence[int]) -> Any:
    return reshape(t, list(shape))


#: By the name of a function: what computes it for examples, given those, and the arguments as for
#: one example (tensors by their number). It may return ``NotImplemented``.
RULES: dict[str, Callable[..., object]] = {}
#: Which arguments are added and no factors, by the name of the function.
ADDED: dict[str, str] = {"addmm": "input", "addmv": "input", "baddbmm": "input"}


def _rule(name: str) -> Decorator:
    def declare(body: Callable[..., object]) -> Callable[..., object]:
        RULES[name] = body
        return body

    return declare


def _product(x: Examples, one: int, two: int) -> Tensor:
    """``matmul`` of operands by their numbers."""
    ranks = x.rank(one), x.rank(two)
    rank = max(*ranks, 2)
    a, b = x.tensors[one], x.tensors[two]
    if ranks[0] == 1:
        a = A.unsqueeze.default(a, -2)
    if ranks[1] == 1:
        b = A.unsqueeze.default(b, -1)
    x = dataclasses.replace(x, tensors=[*x.tensors])
    x.tensors[one], x.tensors[two] = a, b
    made = matmul(x.whole(one, rank), x.whole(two, rank))
    if ranks[1] == 1:
        made = A.squeeze.dim(made, -1)
    return A.squeeze.dim(made, -1 if ranks[1] == 1 else -2) if ranks[0] == 1 else made


@_rule("matmul")
def _of_two(x: Examples, input: int, other: int) -> Tensor:
    return _product(x, input, other)


def _added(name: str) -> None:
    def run(
        x: Examples,
        input: int | None,
        one: int | None,
        two: int | None,
        *,
        beta: object = 1,
        alpha: object = 1,
    ) -> Any:
        made = None
        if one is not None and two is not None:
            made = _product(x, one, two)
            made = made if alpha == 1 else A.mul.Scalar(made, alpha)
        if input is None or (made is not None and beta == 0):
            return made
        bias = (
            x.whole(input, None if made is None else made._aval.ndim - x.levels)
            if any(x.flags[input])
            else x.tensors[input]
        )
        bias = bias if beta == 1 else A.mul.Scalar(bias, beta)
        return bias if made is None else A.add.Tensor(made, bias)

    RULES[name] = run


for _name in ADDED:
    _added(_name)


@_rule("_C._einsum")
def _(
    x: Examples, operands: Sequence[int], labels: Sequence[Sequence[int]], output: Sequence[int]
) -> object:
    letters = string.ascii_letters
    own = max([0, *[1 + n for row in (*labels, output) for n in row]])
    if own + x.levels > len(letters):
        return NotImplemented
    terms = []
    for i, row in zip(operands, labels, strict=True):
        terms.append(
            "".join(
                [letters[own + level] for level, f in enumerate(x.flags[i]) if f]
                + [letters[n] for n in row]
            )
        )
    sizes = {letters[own + level] for level in range(x.levels)}
    if not all(any(s in t for t in terms) for s in sizes):
        return NotImplemented
    equation = (
        f"{','.join(terms)}->{''.join(letters[own : own + x.levels])}"
        f"{''.join(letters[n] for n in output)}"
    )
    return ROUTES["einsum"](equation, *[x.tensors[i] for i in operands])


def _convolution(name: str, n: int) -> None:
    def run(
        x: Examples, input: int | None, weight: int | None, bias: int | None = None,
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        conv = ROUTES[name]
        if input is None or weight is None:  # the tangent of the bias alone
            return NotImplemented
        if not any(map(any, x.flags)):
            added = None if bias is None else x.tensors[bias]
            return conv(
                x.tensors[input], x.tensors[weight], added, stride, padding, dilation, groups
            )
        if x.rank(input) != n + 2 or not (any(x.flags[input]) or any(x.flags[weight])):
            return NotImplemented
        lead = x.sizes()
        count = math.prod(lead)
        way = _of_images if not any(x.flags[weight]) else _of_filters
        made = way(
            x,
            input,
            weight,
            lead,
            lambda images, filters, g: conv(images, filters, None, stride, padding, dilation, g),
            groups,
        )
        if made is NotImplemented:
            return made
        if bias is not None:
            each = any(x.flags[bias])
            rows = _flat(x, bias, lead, count) if each else x.tensors[bias]
            made = A.add.Tensor(
                made,
                _reshaped(
                    rows, [count, 1, rows._aval.shape[-1], *[1] * n] if each else [-1, *[1] * n]
                ),
            )
        return made if len(lead) == 1 else _reshaped(made, [*lead, *made._aval.shape[1:]])

    RULES[name], ADDED[name] = run, "bias"


def _of_images(
    x: Examples, input: int, weight: int, lead: list[int], conv: Function, groups: int
) -> object:
    """Examples of the input alone are more images."""
    images = _flat(x, input, lead, math.prod(lead))
    shape = images._aval.shape
    made = conv(_reshaped(images, [shape[0] * shape[1], *shape[2:]]), x.tensors[weight], groups)
    return (
        made
        if made is NotImplemented
        else A.view.default(made, [*shape[:2], *made._aval.shape[1:]])
    )


def _of_filters(
    x: Examples, input: int, weight: int, lead: list[int], conv: Function, groups: int
) -> object:
    """Examples of the weight are more output channels, in groups of their own where the input
    differs, or has groups."""
    count = math.prod(lead)
    images, filters = x.tensors[input], _flat(x, weight, lead, count)
    outputs = filters._aval.shape[1]
    if any(x.flags[input]):
        images = A.transpose.int(_flat(x, input, lead, count), 0, 1)
    elif groups != 1:
        shape = images._aval.shape
        images = A.expand.default(A.unsqueeze.default(images, 1), [shape[0], count, *shape[1:]])
    if images._aval.ndim == filters._aval.ndim:
        shape, groups = images._aval.shape, count * groups
        images = _reshaped(images, [shape[0], shape[1] * shape[2], *shape[3:]])
    made = conv(images, _reshaped(filters, [count * outputs, *filters._aval.shape[2:]]), groups)
    if made is NotImplemented:
        return made
    return A.transpose.int(
        _reshaped(made, [made._aval.shape[0], count, outputs, *made._aval.shape[2:]]), 0, 1
    )


def _flat(x: Examples, i: int, lead: list[int], count: int) -> Tensor:
    """All levels of an operand as its first dimension."""
    t = x.whole(i)
    own = list(t._aval.shape[x.levels :])
    return t if x.levels == 1 else _reshaped(A.expand.default(t, [*lead, *own]), [count, *own])


for _n in (1, 2, 3):
    _convolution(f"conv{_n}d", _n)


# ---- calls of transformations --------------------------------------------------------------------


def products(
    call: Call,
    tensors: Sequence[Tensor],
    numbers: Sequence[object],
    arguments: Callable[..., object],
) -> Any:
    """A call for all examples, or of a tangent, as operators; ``NotImplemented`` if it is no
    product."""
    expected = shapes_of(call, tuple([t._aval for t in tensors]), default_device()).outs
    if not isinstance(expected, Aval) and len(expected) != 1:
        return NotImplemented
    made = _parts(call, [*tensors], [()] * len(tensors), numbers, arguments)
    if made is NotImplemented or made is None:
        return NotImplemented
    shape = (expected if isinstance(expected, Aval) else expected[0]).shape
    if made._aval.shape != shape:
        made = A.expand.default(made, list(shape))
    return made if isinstance(expected, Aval) else [made]


def _parts(
    call: Call,
    tensors: list[Tensor],
    flags: list[tuple[bool, ...]],
    numbers: Sequence[Any],
    arguments: Function,
    varied: frozenset[int] = frozenset(),
) -> TensorLike:
    """``varied``: the operands that are tangents. None where the derivative with respect to them is
    zero."""
    while (examples := getattr(call.fn, "of_examples", None)) is not None:
        call, mine = examples
        flags = [(*f, m) for f, m in zip(flags, mine, strict=True)]
    if (tangents := getattr(call.fn, "of_tangents", None)) is not None:
        inner, mine = tangents
        return _derivative(inner, mine, tensors, flags, numbers, arguments, varied)
    info = call.extra
    # products whose operands have fixed ranks
    rule = RULES.get(info.op.path) or (_of_two if info.op.ranks else None)
    if (
        rule is None
        or len(info.layout) != len(info.op.params)
        or (info.op.fwd is not None and info.tracked is None)
    ):
        return NotImplemented
    args, kwargs = arguments(info.op, info.layout, list(range(len(tensors))), numbers)
    if varied:
        names = [p.name for p in info.op.params]
        added = ADDED.get(info.op.path)
        place = dict(zip(names, args, strict=False)).get(added) if added else None
        alone = place is not None and place in varied
        if alone and len(varied) > 1:
            return None
        dropped = {
            n
            for n, entry in zip(names, info.layout, strict=True)
            if entry is GIVEN and (n != added) is alone
        }
        args = tuple([None if n in dropped else x for n, x in zip(names, args, strict=False)])
    return rule(Examples(len(flags[0]) if flags else 0, flags, tensors), *args, **kwargs)


def _derivative(
    call: Call,
    mine: Sequence[bool],
    tensors: list[Tensor],
    flags: list[tuple[bool, ...]],
    numbers: Sequence[object],
    arguments: Callable[..., object],
    varied: frozenset[int],
) -> Any:
    """The tangent of a product: the sum of those with one operand's tangent each; of them those
    that what is varied is part of."""
    n = len(mine)
    made = None
    for at, i in enumerate([i for i, m in enumerate(mine) if m], n):
        if not all(v != i if v < n else v == at for v in varied):
            continue
        operands, theirs = [*tensors[:n]], [*flags[:n]]
        operands[i], theirs[i] = tensors[at], flags[at]
        term = _parts(
            call,
            operands,
            theirs,
            numbers,
            arguments,
            frozenset([i, *[v for v in varied if v < n]]),
        )
        if term is NotImplemented:
            return term
        if term is not None:
            made = term if made is None else A.add.Tensor(made, term)
    return made
