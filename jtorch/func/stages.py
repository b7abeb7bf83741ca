"""The stages of a ``vmap`` by themselves, under PyTorch's names, for libraries that put stages of
their own in the place of one.

``torch._functorch.vmap`` shows them. A library whose containers are taken apart in another way
replaces ``_process_batched_inputs``, ``_create_batched_inputs`` and ``_unwrap_batched`` there;
``torch.vmap`` then goes through ``vmap_impl`` and asks those that it finds. Levels have numbers
here, the outermost 1, as libraries hand them on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import MODE
from ..core import Tensor
from ..random import restricted
from . import batching
from .levels import RUNNING, Batched, Level, enter, leave, settle
from .trees import unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Values


#: What came into each running level that was entered here: the argument, its dimension, one example
#: of it, and the example's value then.
_CAME: dict[Level, dict[int, tuple[Tensor, int, Tensor, Any]]] = {}


@contextlib.contextmanager
def vmap_increment_nesting(batch_size: int, randomness: str) -> Iterator[int]:
    """One more level of ``batch_size`` examples around the block; gives its number."""
    level = Level(batch_size, randomness)
    came = {}
    with level, restricted(randomness, level):
        _CAME[level] = came
        MODE.transforms.append(None)
        try:
            yield level.depth
        finally:
            MODE.transforms.pop()
            del _CAME[level]
    batching._give_back(came.values(), level)


def _running(number: int) -> Level:
    if not 1 <= number <= len(RUNNING):
        raise RuntimeError(f"vmap: level {number} is not running: {len(RUNNING)} levels are")
    return RUNNING[number - 1]


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """One example of ``self``, whose examples lie along ``batch_dim``, inside of the running level
    of that number."""
    into, dim = _running(level), batch_dim % self.dim()
    example = enter(self, dim, into)
    if into in _CAME:
        _CAME[into][id(example)] = (self, dim, example, example._read())
    return example


def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """All examples of ``self`` along ``out_dim``; what does not depend on the example is repeated
    ``batch_size`` times.

    Raises:
        RuntimeError: if no level of that number is running, or it is not the innermost one.
    """
    of = _running(level)
    settle((self,))
    view = batching._as_view(self, out_dim, _CAME.get(of, {}))
    if view is not None:
        found, at = view
    else:
        at = 0
        value: Any = self._read()
        if type(value) is not Batched or value.level is not of:
            found = self.unsqueeze(0).expand(batch_size, *self.shape)
        elif RUNNING[-1] is not of:
            raise RuntimeError(
                f"vmap: level {level} cannot be left before those inside of it, of which "
                f"{len(RUNNING) - level} are running"
            )
        else:
            found = _left_for_a_moment(self, of)
    return found.movedim(at, out_dim) if at != out_dim else found


def _left_for_a_moment(t: Tensor, level: Level) -> Tensor:
    """All examples of ``t``: what is recorded on the way belongs to what is outside of the level,
    which goes on afterwards."""
    order, depth = level.order, level.depth
    level.__exit__()
    try:
        return leave([t], level)[0]
    finally:
        level.__enter__()
        level.order, level.depth = order, depth


def _maybe_remove_batch_dim(
    name: str, batched_output: object, vmap_level: int, batch_size: int, out_dim: int | None
) -> object:
    """``_remove_batch_dim`` of a result of the function ``name``, or the result itself where
    ``out_dim`` is None.

    Raises:
        ValueError: if it is no tensor, or depends on the example although ``out_dim`` is None.
    """
    if out_dim is None:
        value = batched_output._read() if isinstance(batched_output, Tensor) else None
        if type(value) is Batched and value.level is _running(vmap_level):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type "
            f"{type(batched_output)}. Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _process_batched_inputs(
    in_dims: int | tuple[int | None, ...], args: tuple[object, ...], func: Callable[..., object]
) -> tuple[int, list[int | None], list[object], object]:
    """The number of examples, the dimension of each flat argument, these arguments, and their
    structure."""
    size, dims, flat, spec = batching._inputs(in_dims, args, func)
    return size, dims, flat, spec


def _create_batched_inputs(
    flat_in_dims: list[int | None], flat_args: Values, vmap_level: int, args_spec: object
) -> object:
    """The arguments with one example in the place of each that is batched."""
    return unflatten(
        [
            a if d is None else _add_batch_dim(a, d, vmap_level)
            for a, d in zip(flat_args, flat_in_dims)
        ],
        args_spec,
    )


def _unwrap_batched(
    batched_outputs: Any,
    out_dims: int | list[int],
    vmap_level: int,
    batch_size: int,
    func: Function,
) -> object:
    """The results with all examples along ``out_dims``."""
    flat, spec, dims = batching._outputs(out_dims, batched_outputs, func)
    name = batching._name(func)
    return unflatten(
        [_maybe_remove_batch_dim(name, o, vmap_level, batch_size, d) for o, d in zip(flat, dims)],
        spec,
    )


def vmap_impl(
    func: Callable[..., object],
    in_dims: object,
    out_dims: object,
    randomness: str,
    chunk_size: int | None,
    *args: object,
    **kwargs: object,
) -> Any:
    """What ``torch.vmap`` does, by the stages that stand in ``torch._functorch.vmap``."""
    size, dims, flat, spec = _stage("_process_batched_inputs")(in_dims, args, func)
    if chunk_size is None or size <= chunk_size:
        return _flat_vmap(func, size, dims, flat, spec, out_dims, randomness, **kwargs)

    def run(n: int, piece: list[object]) -> Any:
        return _flat_vmap(func, n, dims, piece, spec, out_dims, randomness, **kwargs)

    return batching.in_chunks(run, size, dims, flat, out_dims, randomness, chunk_size)


def _flat_vmap(
    func: Callable[..., object], batch_size: int, flat_in_dims: Sequence[object],
    flat_args: Sequence[object],
    args_spec: object, out_dims: object, randomness: str, **kwargs: object,
) -> object:  # fmt: skip
    """``func`` on examples of ``flat_args``, in one piece."""
    with vmap_increment_nesting(batch_size, randomness) as number:
        inside = _stage("_create_batched_inputs")(flat_in_dims, flat_args, number, args_spec)
        found = func(*inside, **kwargs)
        return _stage("_unwrap_batched")(found, out_dims, number, batch_size, func)


def _stage(name: str) -> Function:
    return (batching.STAGES or globals())[name]


#: The stages that libraries replace.
OWN = {f.__name__: f for f in (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)}
