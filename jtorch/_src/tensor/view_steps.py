"""Steps of view chains, made from the view ops' kernels. Floor 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Aval, Call
from ..engine.programs import identity
from ..facts.errors import not_offered
from ..facts.layouts import contiguous_strides, is_dense
from ..ops import complexes, memory_views  # noqa: F401  (declare what ``memory_steps`` takes)
from ..ops import views as view_ops
from ..ops._declare import OPS, Op
from ..ops._kernel import Fixed, Info, T, caches, call_of
from .cells import First, Step

if TYPE_CHECKING:
    import jax


_steps: dict[Any, Step] = {}
caches.append(_steps)
#: Steps whose position is an input, with those made for some positions.
_dynamic: dict[Any, tuple[Step, dict[int, Step]]] = {}
caches.append(_dynamic)
_MOST_POSITIONS = 64


def _put_call(record_: view_ops.View, statics: tuple[object, ...], dynamic: bool) -> Call | None:
    put = record_.put
    if put is None:
        return None

    def fn(parent: object, value: object, *numbers: object) -> jax.Array:
        args = list(statics)
        if dynamic:  # the index or start is the second argument
            args.insert(1, numbers[0])
        return put(parent, value, *args)

    fn.__name__ = fn.__qualname__ = f"{record_.op.name}_put"
    info = Info(
        Op(name=f"{record_.op.name}_put", body=fn, params=(), namespace="_C", family="put"), ()
    )
    info.kernel = fn
    info.saved = info.checked = (False, False)  # linear in both: only shapes matter
    known = OPS.get(record_.op.path) is record_.op
    name = identity("put", record_.op.path, statics, dynamic) if known else None
    return Call(fn.__name__, fn, ("i",) if dynamic else (), info, name)


def _placed(
    get: Call, record_: view_ops.View, statics: tuple[object, ...], dynamic: bool
) -> tuple[Call, Call | None]:
    """A view's call and that which writes into it, which know that they are of the same place."""
    put = _put_call(record_, statics, dynamic)
    get.place = (
        ("one position", statics[0])
        if record_.single
        else None
        if dynamic
        else (record_.op.path, statics)
    )
    if put is not None:
        put.place = get.place
    return get, put


def step_of(record_: view_ops.View, statics: tuple[object, ...]) -> Step:
    """The step of a view op with its arguments fixed."""
    key = (record_, statics)
    found = _steps.get(key)
    if found is None:
        layout = (T, *[Fixed(s) for s in _filled(record_.op, statics)])
        get, put = _placed(call_of(record_.op, layout), record_, statics, False)
        found = _steps[key] = Step(get, put, (), record_.geometric, record_.bits)
        found.repeats = record_.repeats is not None and record_.repeats(*statics)
    return found


def _filled(op: Op, statics: tuple[object, ...]) -> tuple[object, ...]:
    rest = op.params[1 + len(statics) :]
    return (*statics, *[p.default for p in rest])


def first_step(numel: int) -> First:
    """The step to so many elements from the beginning of flat memory."""
    key = (First, numel)
    found = _steps.get(key)
    if found is None:
        step = step_of(view_ops.VIEWS["_C._first"], (numel,))
        found = _steps[key] = First(step.get, step.put, numel)
    return found  # type: ignore[return-value]


def dynamic_step(record_: view_ops.View, dim: int, index: int, *rest: int) -> Step:
    """The step of a view whose position is an input of the program."""
    key = (record_, (dim, *rest))
    known = _dynamic.get(key)
    if known is None:
        layout = (T, Fixed(dim), "i", *[Fixed(r) for r in rest])
        get, put = _placed(call_of(record_.op, layout), record_, (dim, *rest), True)
        step = Step(get, put, (), record_.geometric)
        known = _dynamic[key] = (step, {})
    found, positions = known
    step = positions.get(index)
    if step is None:
        step = Step(found.get, found.put, (index,), record_.geometric)
        if len(positions) < _MOST_POSITIONS:
            positions[index] = step
    return step


def traced_step(record_: view_ops.View, dim: int, index: object) -> Step:
    """The step of a view at a position that JAX traces: nothing but the program knows where in the
    memory it lies."""
    found = dynamic_step(record_, dim, 0)
    return Step(found.get, found.put, (index,), False)


def detaching() -> Step:
    """The step from a tensor to itself through which no derivative passes."""
    found = step_of(view_ops.VIEWS["_C._detach"], ())
    found.stops = True
    return found


def same_step(ndim: int) -> Step:
    """The step from a tensor to a view that is like it."""
    return step_of(view_ops.VIEWS["permute"], (tuple(range(ndim)),))


def memory_steps(
    base: Aval,
    strides: tuple[int, ...] | None,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    dtype: np.dtype,
    bits: tuple[bool, bool] = (False, False),
) -> list[Step]:
    """The steps from a base with ``strides`` (None: contiguous) to any strided look at its memory,
    in elements of ``dtype``, conjugated or negated as ``bits`` say."""
    found: list[Step] = []
    if dtype != base.dtype:
        strides = strides or contiguous_strides(base.shape)
    if strides is not None:
        if not is_dense(base.shape, strides):
            raise not_offered(
                "the memory of one example of a vmap, or of a dual tensor",
                "between its elements lie others",
            )
        order = tuple(sorted(range(len(strides)), key=lambda i: -strides[i]))
        found.append(step_of(view_ops.VIEWS["_C._memory"], (order,)))
    itemsize, reach = (
        base.dtype.itemsize,
        0
        if 0 in size
        else offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]),
    )
    held = base.nbytes // dtype.itemsize
    # of memory that was given another size
    if held < reach or (base.nbytes % dtype.itemsize and not dtype.itemsize % itemsize):
        found.append(first_step(max(held, reach) * dtype.itemsize // itemsize))
    if dtype != base.dtype:
        found.append(step_of(view_ops.VIEWS["_C._view_dtype"], (dtype,)))
    found.append(step_of(view_ops.VIEWS["_C._as_strided"], (size, stride, offset)))
    found += [
        step_of(view_ops.VIEWS[path], ())
        for path, is_set in zip(("conj", "_neg_view"), bits, strict=True)
        if is_set
    ]
    return found
