"""The older ``vmap``, which PyTorch's autograd uses itself and programs may still import: as
``torch.func.vmap``, with rules of its own for dimensions, results and random numbers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._src.facts.warned_once import outside
from ..autograd.grad_mode import MODE
from ..core import Tensor
from .batching import _inputs, _run
from .batching import _name as _get_name

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Operand


in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]


def vmap(func: Callable[..., object], in_dims: int = 0, out_dims: int = 0) -> Function:
    """``func`` for each example; ``torch.vmap`` is what programs should use.

    Warns:
        FutureWarning: always.

    Example:
        >>> import jtorch as torch, warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch._vmap_internals.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
        tensor([3., 3.])
    """
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.",
        FutureWarning,
        stacklevel=outside(),
    )
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Function,
    in_dims: int = 0,
    out_dims: int = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., object]:
    """``func`` for each example along ``in_dims``, its result or its tuple of results stacked along
    ``out_dims``.

    With ``allow_none_pass_through`` results that are None stay None.

    Raises:
        ValueError: if the dimensions do not fit (negative ones of arguments never do), or a result
            is no tensor.
        RuntimeError: if ``func`` draws random numbers, or asks for gradients of or by one example.
    """

    @functools.wraps(func)
    def wrapped(*args: Tensor) -> Any:
        _check_places(out_dims, func)
        size, dims, flat, spec = _inputs(in_dims, args, func, negative=False)
        kept = []
        places: list[int] = []

        def tensors(*examples: object) -> list[Operand]:
            result = func(*examples)
            if not allow_none_pass_through:
                _check_outputs(result, func)
            kept.append(result)
            several = result if isinstance(result, (tuple, list)) else (result,)
            places.extend(
                d
                for d, t in zip(_places(out_dims, several, func), several, strict=True)
                if t is not None
            )
            return [t for t in several if t is not None]

        MODE.batching += 1
        try:
            found = _run(tensors, size, dims, flat, spec, places, "error", {})
        finally:
            MODE.batching -= 1
        result, left = kept[0], iter(found)
        if not isinstance(result, (tuple, list)):
            return next(left, None)
        return tuple([None if t is None else next(left) for t in result])

    return wrapped


def _check_places(out_dims: object, func: Callable[..., object]) -> None:
    if not isinstance(out_dims, int) and not (
        isinstance(out_dims, tuple) and all(isinstance(d, int) for d in out_dims)
    ):
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int or a "
            "tuple of int representing where in the outputs the vmapped dimension should appear."
        )


def _check_outputs(result: object, func: Callable[..., object]) -> None:
    name = _get_name(func)
    if isinstance(result, Tensor):
        return
    if not isinstance(result, tuple):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)} as the "
            "return."
        )
    for i, one in enumerate(result):
        if not isinstance(one, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(one)} for "
                f"return {i}."
            )


def _places(
    out_dims: int, results: tuple[object, ...] | list[object], func: Callable[..., object]
) -> tuple[int, ...]:
    """Where the examples lie in each result."""
    n = len(results)
    if not isinstance(out_dims, tuple):
        return (out_dims,) * n
    if len(out_dims) != n:
        name = _get_name(func)
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got "
            f"{n} outputs) of {name}."
        )
    return out_dims
