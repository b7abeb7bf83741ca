"""Which fake tensors have data that is known, and what becomes of it when memory is written to
(``fake_tensor.py``)."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._src.aten.calling import run
from .._src.aten.state import Below, Kernel, modes_off
from .._src.facts.devices import META
from .._src.facts.size import SYMBOLIC, Size
from .._src.facts.tags import Tag
from .._src.tensor.cells import Storage
from .._src.tensor.untyped_storage import storage_of
from ..core import Tensor

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.facts.kinds import Tree


__all__ = ["Constants", "leaves", "mapped", "may_be_known"]


class Constants:
    """The fake tensors of a mode whose data is known, by the memory that holds it."""

    def __init__(self) -> None:
        self._known = weakref.WeakKeyDictionary()

    def note(self, fake: Tensor) -> Any:
        """Takes note of a fake tensor that has just been given its ``constant``."""
        fake.known_in = memory = storage_of(fake.constant)._storage
        self._known.setdefault(memory, []).append(weakref.ref(fake))
        return fake

    def forget(self, memory: Storage) -> None:
        """Memory was changed in a way that is not known: none of those that look at it are
        constants any more."""
        for seen in self._known.pop(memory, ()):
            fake = seen()
            if fake is not None:
                fake.constant = None

    def written(self, func: Any, values: list[object]) -> None:
        """An operator is about to write what is not known."""
        for i in func._schema.writes:
            for x in leaves(values[i]):
                if getattr(x, "constant", None) is not None:
                    self.forget(x.known_in)

    def answer(
        self, func: Any, values: list[object], tensors: list[Tensor], make: Callable[..., object]
    ) -> tuple[Any] | None:
        """What an operator gives if all its tensors are known, and its results too.

        ``make`` gives the fake tensor of a new constant, in the memory of another if it is a view.
        A tensor that was written to is given back.
        """
        if (
            any(getattr(t, "constant", None) is None for t in tensors)
            or Tag.nondeterministic_seeded in func.tags
        ):
            return None
        if not tensors and not _numbers_for_tensors(func, values):
            return None
        if any(type(x) in SYMBOLIC for x in leaves(values)):
            return None
        given = mapped(lambda x: x.constant if isinstance(x, Tensor) else x, values)
        targets = [x for i in func._schema.writes for x in leaves(values[i])]
        shapes = [(x.constant._aval.shape, x.constant._strides) for x in targets]
        with Below(), Kernel(), modes_off():
            out = run(func, given)
        results = [t for t in leaves(out) if isinstance(t, Tensor)]
        moved = shapes != [(x.constant._aval.shape, x.constant._strides) for x in targets]
        if moved or not all(map(may_be_known, results)):
            for x in targets:
                self.forget(x.known_in)
            for t in results:
                self.forget(storage_of(t)._storage)
            return None
        originals = {id(t.constant): t for t in tensors}
        memory = tensors[0]._al.storage if tensors and func._schema.is_view else None
        return (
            mapped(
                lambda t: (
                    originals[id(t)]
                    if id(t) in originals
                    else make(t, memory)
                    if isinstance(t, Tensor)
                    else t
                ),
                out,
            ),
        )


def may_be_known(t: Tensor) -> bool:
    """Whether the data of a tensor is worth knowing: that of one number is, as in PyTorch."""
    return t._aval.size <= 1 and str(t.layout) == "torch.strided" and t._aval.device != META


def _numbers_for_tensors(func: OpOverload, values: list[object]) -> bool:
    """Whether an operator on tensors was given numbers alone."""
    operands = [values[i] for i in func._schema.tensors]
    return bool(operands) and all(isinstance(x, (bool, int, float, complex)) for x in operands)


def leaves(x: object) -> Any:
    """What lists, tuples, dicts and slices hold."""
    if isinstance(x, (list, tuple)):
        for i in x:
            yield from leaves(i)
    elif isinstance(x, dict):
        for i in x.values():
            yield from leaves(i)
    elif isinstance(x, slice):
        yield from (x.start, x.stop, x.step)
    else:
        yield x


def mapped(f: Callable[..., object], x: object) -> Tree:
    """``f`` of all that lists, tuples and dicts hold, in the same structure."""
    if isinstance(x, (list, tuple)):
        items = [mapped(f, i) for i in x]
        return (
            items
            if isinstance(x, list)
            else tuple(items)
            if type(x) is tuple or type(x) is Size
            else type(x)(items)
        )
    if isinstance(x, dict):
        return {k: mapped(f, v) for k, v in x.items()}
    return f(x)
