"""Dispatch modes, and helpers for classes with ``__torch_dispatch__``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

# makes public functions look for modes and wrappers
from .._src.aten import lowering as _lowering  # noqa: F401
from .._src.aten.state import STATE as _state
from .._src.aten.state import push as _push
from .._src.aten.state import remove as _remove
from .._src.aten.wrapping import lay_out as _lay_out
from .._src.aten.wrapping import share_storage as _share_storage
from .._src.facts.tags import Tag
from .._src.tensor.wrapper_types import (
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
)

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload


__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """A block in which all operators of the thread, factories too, go to ``__torch_dispatch__`` of
    the mode.

    While the handler runs the mode is off, so that its own operators go to the next mode further
    out; ``with self:`` puts it on again.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.utils._python_dispatch import TorchDispatchMode
        >>> class Show(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> with Show():
        ...     y = torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
        aten.ones.default
        aten.ones.default
        aten.t.default
        aten.mm.default
    """

    def __init__(self, _dispatch_key: object = None) -> None:
        if _dispatch_key is not None:
            raise torch.errors.not_offered(
                "TorchDispatchMode(_dispatch_key=...)", "there are no dispatch keys here"
            )

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Any = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _remove(self)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Only constructs the mode: an old spelling."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode belongs to a compiler; none does here."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that just calls the operator."""

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Any = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> object:
    """The innermost dispatch mode of this thread, or None."""
    return _state.modes[-1] if _state.modes else None


def _get_current_dispatch_mode_stack() -> list[object]:
    """The dispatch modes of this thread, outermost first."""
    return list(_state.modes)


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes this thread is inside."""
    return len(_state.modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether this thread is inside a dispatch mode, or inside one that does not say that it
    belongs to a compiler."""
    return (
        bool(_state.modes)
        if include_infra_modes
        else any(not mode.is_infra_mode() for mode in _state.modes)
    )


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


def _push_mode(mode: TorchDispatchMode) -> None:
    """Puts a mode on the stack."""
    _push(mode)


def _pop_mode(k: object = None) -> object:  # noqa: ARG001  (there are no keys to choose a mode by)
    """Takes the innermost mode off the stack and returns it."""
    mode = _state.modes[-1]
    _remove(mode)
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily(k: object = None) -> Iterator[object]:
    """A block in which the innermost mode is off the stack."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push(mode)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[object]]:
    """A block in which no dispatch mode is on."""
    taken = _get_current_dispatch_mode_stack()
    for mode in reversed(taken):
        _remove(mode)
    try:
        yield taken
    finally:
        for mode in taken:
            _push(mode)


# ---- classes that say what they hold -------------------------------------------------------------


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor of the same class around what ``callback(attribute, inner tensor)`` gives for each
    tensor that ``t`` holds.

    Raises:
        RuntimeError: if the result has not the size and stride asked for (by default those of
            ``t``).
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    made = type(t).__tensor_unflatten__(
        {name: callback(name, getattr(t, name)) for name in names}, context, size, stride
    )
    if tuple(made.shape) != tuple(size):
        raise RuntimeError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{size}, but got: {made.shape}"
        )
    if tuple(made.stride()) != tuple(stride):
        raise RuntimeError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to "
            f"{stride}, but got: {made.stride()}"
        )
    return made


def return_and_correct_aliasing(
    func: OpOverload,
    args: Sequence[torch.Tensor],
    kwargs: dict[str, torch.dtype],
    out: torch.Tensor,
) -> object:
    """What a handler should return: the very argument that an in-place or ``out=`` operator
    changed, else ``out``.

    Wrappers that a view operator gave have the storage of the wrapper that they are views of. A
    wrapper whose size or strides an operator changes in place (``transpose_``) is given the new
    ones.
    """
    schema = func._schema
    if schema.is_view:
        for view in out if isinstance(out, (tuple, list)) else (out,):
            _share_storage(args[0], view)
    if Tag.inplace_view in func.tags:
        _lay_out(func, args, kwargs)
    written = []
    for i, a in enumerate(schema.arguments):
        if a.is_write and (not schema.outs or a.is_out):
            written.append(args[i] if i < len(args) else (kwargs or {}).get(a.name))
    if not written or not schema.returns:
        return out
    return written[0] if len(schema.returns) == 1 else tuple(written[: len(schema.returns)])
