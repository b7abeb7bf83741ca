"""Kernels that meet ever new sizes: traced once with symbols in the place of those that vary, for
all sizes that follow. Floor 1.

A program that pads to the longest text of each batch, or whose graphs have other numbers of nodes
each time, calls the same kernels with sizes that never come again, and tracing a kernel takes
longer than running it on little. When calls of a *family* (that differ in sizes alone) have shown
which sizes vary together, its kernel is traced with JAX's symbolic sizes in their place. What that
shows holds for all sizes: JAX refuses to decide what depends on which they are, and such a kernel
is traced for each shape as before. The form must also give, for the sizes at hand, exactly the
recipe that tracing the kernel for them gives.

Where a kernel chooses by how large something is (``is_fewer``), the choice that the sizes at hand
lead to is taken and noted, and the form serves only sizes that lead to the same. Where JAX cannot
decide, tracing is tried once more with the sizes' order told.

JAX takes two sizes that it cannot compare for different ones. So a form serves no sizes of which
two that have different symbols are equal, or one equals a size that does not vary, nor very small
ones, which kernels may look for (1, or the three of a cross product).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import programs, tracing
from .guarded import Guarded
from .host.fitted import Pattern, fitted, shape_of, told
from .host.recipes import Recipe, packed, recipe_of, unpacked
from .host.sizes import sized, value_of
from .signalled import is_signalled
from .supposing import Choice, Unsupposed, environment, supposing
from .values import Aval, Several, aval_of, on_host
from .varying import Items, Varying, flat_of, pattern_of, symbols

if TYPE_CHECKING:
    from ..facts.kinds import Operands, Row
    from .calls import Call

#: Patterns of one family, forms of one pattern, and calls that are remembered until they show a
#: pattern.
PATTERNS, FORMS, LATEST = 16, 6, 48
#: So often JAX may be misled by the sizes at hand before a pattern is given up.
MISLED = 3
_NAMES = re.compile(r"\bjtorch_n(\d)\b")


class Family:
    """Calls that are the same but for sizes.

    Attributes:
        identity: what they are, the same in every process; None if there is no telling.
        made: the call for certain static numbers (of what is derived, for the avals that it is
            derived for).
        seen: the latest calls that were traced for their sizes.
        forms: by pattern, or by the form of what these are derived from, what serves sizes that
            match; None at the end where nothing else does.
        misled: how often JAX took equal sizes for different ones.
        derived: families of what is derived from these calls.
    """

    __slots__ = ("derived", "forms", "identity", "made", "misled", "seen")

    def __init__(self, identity: str | None, made: Callable[[Items], Call]) -> None:
        self.identity, self.made = identity, made
        self.seen: list[tuple[Any, tuple[int, ...]]] = []
        self.forms: dict[Any, list[Form | None]] = {}
        self.misled = 0
        self.derived: dict[object, Family] = {}


class Kin(NamedTuple):
    """To which family a call belongs, and which of it it is.

    Attributes:
        family: the family.
        items: the numbers and avals that it was made for.
        source: of what is derived from a call for certain operands, that call and its operands'
            avals.
        operands: of the same, its own operands' avals, by those of the operands and results that it
            is derived for.
    """

    family: Family
    items: Items
    source: tuple[Call, tuple[Aval, ...]] | None = None
    operands: Callable[[Sequence[Aval], Sequence[Aval]], tuple[Aval, ...]] | None = None


class Form:
    """What a kernel is for sizes of a pattern.

    Attributes:
        pattern: where the sizes are that vary.
        order: what JAX was told of them.
        single, outs, checks: what it gives.
        used: for each operand, whether that depends on it.
        choices: what sizes must lead to.
        recipe: what computes it.
        learnt: what the floor above learns of a call by tracing it.
        name: under which the form is kept; None if it is not.
    """

    __slots__ = (
        "checks",
        "choices",
        "learnt",
        "name",
        "order",
        "outs",
        "pattern",
        "recipe",
        "single",
        "used",
    )

    def __init__(
        self,
        pattern: Varying,
        order: tuple[str, ...],
        single: bool,
        outs: Operands,
        checks: Sequence[Any],
        used: tuple[bool, ...],
        choices: Sequence[Choice],
        recipe: Recipe,
    ) -> None:
        self.pattern, self.order, self.single, self.outs, self.checks = (
            pattern,
            order,
            single,
            outs,
            checks,
        )
        self.used, self.choices = used, choices
        self.recipe = Pattern(recipe)
        self.learnt: tuple[Any, Any] | None = None
        self.name: str | None = None

    def serves(self, sizes: Sequence[int]) -> bool:
        """Whether sizes lead to the same choices."""
        at = environment(sizes)
        return all([bool(value_of(condition, at)) is chosen for condition, chosen in self.choices])  # noqa: C419

    def symbolic(self, items: Items) -> tuple[Items, tuple[Aval, ...]]:
        """Items, and what the kernel gives for them, with symbols in the place of sizes."""
        found = symbols(self.order)
        at = environment(found)
        place = items[-1].device
        outs = tuple([aval_of(shape_of(shape, at), dtype, place) for shape, dtype in self.outs])
        return self.pattern.symbolic(items, found), outs


class Sized(NamedTuple):
    """What a kernel is for sizes of a pattern, beside those that it has in one call."""

    form: Form
    sizes: tuple[int, ...]

    def outs(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shapes and dtypes of the results."""
        at = environment(self.sizes)
        return [(shape_of(shape, at), dtype) for shape, dtype in self.form.outs]

    def checks(self) -> Row:
        """The checks on values."""
        if not self.form.checks:
            return ()
        at = environment(self.sizes)
        words = [str(n) for n in self.sizes]
        return tuple(
            [
                (kind, _NAMES.sub(lambda m: words[int(m[1])], text), fitted(span, at))
                for kind, text, span in self.form.checks
            ]
        )

    def teach(self, call: Call) -> None:
        """Tells a call what tracing it would have shown."""
        if self.form.learnt is not None:
            call.extra.single, call.extra.hidden = self.form.learnt

    def recipe(self) -> Recipe:
        """What computes them."""
        return self.form.recipe.fitted(environment(self.sizes))


def fitting(call: Call, avals: tuple[Aval, ...]) -> Sized | None:
    """What a call is for operands of all sizes; None where it must be traced for these."""
    kin = call.kin
    if kin is None:
        return None
    source = _source(kin, avals)
    if source is not None:
        return _serving(kin.family.forms.get(source.form, ()), source.sizes)
    if kin.family.forms:
        kinds, flat = flat_of((*kin.items, *avals))
        for pattern, forms in list(kin.family.forms.items()):
            if type(pattern) is Varying and (sizes := pattern.matched(kinds, flat)) is not None:
                found = _serving(forms, sizes)
                if found is not None:
                    return found
    return None


def _source(kin: Kin, avals: tuple[Aval, ...]) -> Sized | None:
    """What that is for all sizes from which a call is derived, if its operands are those that
    follow from that.

    None for derivatives of derivatives: the pattern of what these are of tells nothing of the
    operands that a derivative has beside.
    """
    if kin.source is None:
        return None
    call, its = kin.source
    if call.kin is None or call.kin.source is not None or kin.operands is None:
        return None
    found = fitting(call, its)
    if found is None:
        return None
    outs = kin.items[len(call.kin.items) + len(its) :]
    return found if kin.operands(its, outs) == avals else None


def _serving(forms: Sequence[Form | None], sizes: tuple[int, ...]) -> Sized | None:
    return next(
        (Sized(form, sizes) for form in forms if form is not None and form.serves(sizes)), None
    )


def met(call: Call, avals: tuple[Aval, ...]) -> None:
    """Remembers a call that was traced for its sizes, and has its family traced for all if enough
    have shown how these vary, or if that from which it is derived has been."""
    kin = call.kin
    if kin is None or not all(on_host(a.device) and type(a.device) is not Several for a in avals):
        return
    family = kin.family
    items = (*kin.items, *avals)
    kinds, flat = flat_of(items)
    if not all(type(n) is int for n in flat):
        return
    source = _source(kin, avals)
    if source is not None:
        forms = family.forms.setdefault(source.form, [])
        if _is_open(forms):
            _add(forms, call, avals, source)
        return
    if any(known == (kinds, flat) for known in family.seen):
        return
    pattern = next(
        (
            p
            for p, f in list(family.forms.items())
            if type(p) is Varying and _is_open(f) and p.matched(kinds, flat)
        ),
        None,
    )
    if pattern is None and len(family.seen) > 1 and len(family.forms) < PATTERNS:
        pattern = pattern_of(family.seen, kinds, flat)
    if pattern is not None:
        forms = family.forms.setdefault(pattern, [])
        sizes = pattern.matched(kinds, flat)
        if _is_open(forms) and sizes is not None:
            _add(forms, call, avals, _Found(pattern, sizes))
    family.seen.append((kinds, flat))
    if len(family.seen) > LATEST:
        del family.seen[0]


class _Found(NamedTuple):
    """A pattern, and the sizes of a call that it matches."""

    form: Varying
    sizes: tuple[int, ...]


def _is_open(forms: Sequence[Form | None]) -> bool:
    """Whether there may be further forms of a pattern."""
    return not forms or (forms[-1] is not None and len(forms) < FORMS)


def _add(forms: list[Form | None], call: Call, avals: tuple[Aval, ...], of: _Found | Sized) -> None:
    """Adds the form that serves the sizes of a call, which are of a pattern; None if there is
    none."""
    kin = call.kin
    assert kin is not None
    shown = of.form.told() if isinstance(of.form, Varying) else of.form.name
    while len(forms) < FORMS:
        key = (
            None
            if shown is None
            else programs.key_of("sized", kin.family.identity, shown, len(forms))
        )
        fact = programs.remembered(key)
        if fact is None:
            break
        form = (
            _recalled(fact, key, of.form if isinstance(of.form, Varying) else of.form.pattern)
            if fact
            else None
        )
        forms.append(form)
        if form is None or form.serves(of.sizes):
            return
    else:
        return
    try:
        found = _tried(call, avals, of)
    except Unsupposed:  # by chance: other sizes may show more
        kin.family.misled += 1
        if kin.family.misled > MISLED:
            forms.append(None)
        return
    forms.append(found)
    if key is not None:
        kept = found and _kept(found)
        if found is None or kept is not None:
            programs.remember(key, kept or ())
            if found is not None:
                found.name = key


def _tried(call: Call, avals: tuple[Aval, ...], of: _Found | Sized) -> Form | None:
    """The form for the sizes of a call, if there is one."""
    try:
        orders = [(), of.form.order(of.sizes)] if isinstance(of.form, Varying) else [()]
        for order in orders:
            found = _traced(call, avals, of, order)
            if found is not None:
                return found if _holds(found, of.sizes, call, avals) else None
    except Exception as error:  # sizes decide
        if is_signalled(error) or type(error) is Unsupposed:
            raise
    return None


def _traced(
    call: Call, avals: tuple[Aval, ...], of: _Found | Sized, order: tuple[str, ...]
) -> Form | None:
    kin = call.kin
    assert kin is not None
    if isinstance(of.form, Varying):
        pattern = of.form
        found = pattern.symbolic((*kin.items, *avals), symbols(order))
        given, operands = found[: len(kin.items)], found[len(kin.items) :]
    else:
        assert kin.source is not None
        assert kin.operands is not None
        pattern, order = of.form.pattern, of.form.order
        base, its = kin.source
        assert base.kin is not None
        given, outs = of.form.symbolic((*base.kin.items, *its))
        operands = kin.operands(given[len(base.kin.items) :], outs)
        given = (*given, *outs)
    same = kin.family.made(given) if given else call
    with supposing(of.sizes) as choices:
        traced = tracing.attempted(same, operands)
    if traced is None:
        return None
    closed, out = traced
    checks: Any = ()
    if isinstance(out, Guarded):
        out, checks = out.outs, out.checks
    single = not isinstance(out, (tuple, list))
    outs = [(tuple([sized(n) for n in x.shape]), x.dtype) for x in ((out,) if single else out)]
    checks = [(kind, text, span and tuple([sized(x) for x in span])) for kind, text, span in checks]
    made = (*choices, *[(text, True) for text in order if isinstance(of.form, Varying)])
    form = Form(pattern, order, single, outs, checks, tracing.used(closed), made, recipe_of(closed))
    form.learnt = None if same.extra is None else (same.extra.single, same.extra.hidden)
    return form


def _holds(form: Form, sizes: tuple[int, ...], call: Call, avals: tuple[Aval, ...]) -> bool:
    """Whether a form gives what tracing a call for its own sizes does, values of sizes by
    themselves or not."""
    closed, out = tracing.traced(call, avals)
    checks: Any = ()
    if isinstance(out, Guarded):
        out, checks = out.outs, out.checks
    single = not isinstance(out, (tuple, list))
    outs = [(tuple(x.shape), x.dtype) for x in ((out,) if single else out)]
    found = Sized(form, sizes)
    if (
        single != form.single
        or outs != found.outs()
        or tuple(checks) != found.checks()
        or tracing.used(closed) != form.used
    ):
        return False
    wanted = told(recipe_of(closed))
    if told(found.recipe()) == wanted:
        return True
    form.recipe.alone = True
    return told(found.recipe()) == wanted


def _kept(form: Form) -> Any:
    """A form as it is kept; None if a part of it has no name."""
    checks = tuple(
        [(programs.name_of_type(kind), text, packed(span)) for kind, text, span in form.checks]
    )
    if any(name is None for name, *_ in checks):
        return None
    outs = tuple([(packed(shape), dtype.name) for shape, dtype in form.outs])
    return (
        form.order,
        form.single,
        outs,
        checks,
        form.used,
        tuple(form.choices),
        form.learnt,
        form.recipe.alone,
        packed(form.recipe.recipe),
    )


def _recalled(fact: Row, name: str | None, pattern: Varying) -> Form:
    order, single, outs, checks, used, choices, learnt, alone, recipe = fact
    named_checks = [
        (programs.type_named(kind), text, unpacked(span)) for kind, text, span in checks
    ]
    described = [(unpacked(shape), np.dtype(kind)) for shape, kind in outs]
    form = Form(pattern, order, single, described, named_checks, used, choices, unpacked(recipe))
    form.name, form.learnt, form.recipe.alone = name, learnt, alone
    return form
