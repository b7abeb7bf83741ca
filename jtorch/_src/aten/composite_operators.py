"""Operators that PyTorch writes with others before anybody is asked about them, and the functions
that do so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import hooks
from ..bind.cores import COMPOSITES
from ..bind.forms import paths_of
from ..ops._declare import OPS
from ..tensor.shape_env import visible
from ..tensor.symbols import exact
from .families import declaration
from .functions import ALIASES, DECOMPOSED, IN_PARTS, ROUTES, flat
from .kernels import kernel_of
from .overloads import OpOverload, aten
from .schema import texts_of

if TYPE_CHECKING:
    from ..facts.kinds import Function, Tree


#: Operators that PyTorch takes apart and that no public function has the name of.
_IMPLICIT = frozenset(
    ("cross_entropy_loss", "log_sigmoid", "mH", "mT", "mse_loss_nd", "nll_loss_nd", "numpy_T")
)
#: Of those that declarations tell, what are operators by themselves where they are called as such.
_KEPT = frozenset(("pixel_shuffle",))


@functools.cache
def _taken_apart() -> frozenset[str]:
    """Operators, or overloads of them, of which declarations and routes say that PyTorch takes them
    apart."""
    said = {
        name
        for record in (*OPS.values(), *COMPOSITES)
        for name in (
            (flat(path) for path in paths_of(record))
            if record.implicit is True
            else record.implicit or ()
        )
    }
    return frozenset([*DECOMPOSED, *[flat(path) for path in IN_PARTS], *said])


def is_composite(func: OpOverload) -> bool:
    """Whether an operator is written with others before it is dispatched."""
    if func._namespace != "aten" or func._schema.outs:
        return False
    name = func._opname
    if name.lstrip("_").startswith("upsample_") and func._overloadname == "vec":
        return True
    plain = name.rstrip("_") if not name.startswith("_") else name
    said = _taken_apart()
    return plain not in _KEPT and (
        name in _IMPLICIT
        or plain in _IMPLICIT
        or name in said
        or plain in said
        or f"{plain}.{func._overloadname}" in said
    )


def parts_of(func: OpOverload) -> Callable[..., object] | None:
    """The function that writes an operator with others, if PyTorch takes it apart before it is
    dispatched."""
    found = func.parts
    if found is False:
        found = func.parts = _parts(func)
    return found


def _parts(func: OpOverload) -> Function | None:
    hooks.lowering.get()  # which has all routes declared
    name = func._opname
    if func._namespace != "aten" or func._schema.outs:
        return None
    if name in DECOMPOSED:
        return DECOMPOSED[name]
    usual = ALIASES.get(name, name)
    if usual != name and texts_of(usual):
        return getattr(aten, usual)
    if not is_composite(func):
        return None
    record = declaration(func)
    if record is not None and ROUTES.keys().isdisjoint([*paths_of(record), record.name]):
        return None  # one kernel, which handlers would be told as such: the operator says more

    def parts(*args: object, **kwargs: object) -> Tree:
        return visible(kernel_of(func)(exact(func.complete(args, kwargs))))

    return parts


__all__ = ["is_composite", "parts_of"]
