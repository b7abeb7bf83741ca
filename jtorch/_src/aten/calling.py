"""One call of an operator: autograd remembers it, then dispatch modes and wrapper classes are
asked, at the bottom the kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...autograd.grad_mode import MODE
from ...core import Tensor
from ...dispatch import disabled_torch_dispatch_impl
from ...random import undisturbed
from .. import hooks
from ..facts.size import SYMBOLIC
from ..tensor.shape_env import visible
from ..tensor.symbols import exact
from ..tensor.writing import check_inplace
from .composite_operators import parts_of
from .examples_drawn import drawn_for_examples
from .kernels import kernel_of
from .lazy_bits import needs_copies, with_copies
from .overloads import OpOverload
from .state import STATE, Apart, Below, Kernel, Loud, Quiet
from .transformed import run_inside, transformed
from .values import Look
from .viewing import mark_view, refresh

if TYPE_CHECKING:
    from ...utils._python_dispatch import TorchDispatchMode
    from ..facts.kinds import Tree, Values
    from ..tensor.symbols import Sym
    from .schema import Schema


def handles(cls: type) -> bool:
    """Whether a class takes part in ``__torch_dispatch__``."""
    return (
        getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl)
        is not disabled_torch_dispatch_impl
    )


def operands(func: OpOverload, values: Sequence[object]) -> list[Tensor]:
    """The tensors among the arguments, in order."""
    found: list[Tensor] = []
    for i in func._schema.tensors:
        x = values[i]
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found.extend(t for t in x if isinstance(t, Tensor))
    return found


def call(func: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> Tree:
    """What calling an overload does."""
    return invoke(func, func.complete(args, kwargs))


def invoke(func: OpOverload, values: list[object]) -> Tree:
    """Calls an operator with one value for each parameter."""
    state = STATE
    tensors = operands(func, values)
    if state.off or not (
        state.modes
        or state.forced
        or any(type(t) is not Tensor and handles(type(t)) for t in tensors)
    ):
        # Inside a transformation a plain tensor may stand for wrappers outside.
        return (
            run_inside(run, func, values)
            if not state.off and transformed(tensors)
            else run(func, values)
        )
    parts = None if state.whole or func in state.apart else parts_of(func)
    if parts is not None:
        args, kwargs = func.trimmed(values)
        if SYMBOLIC:
            args, kwargs = exact(args), {k: exact(x) for k, x in kwargs.items()}
        with Apart(func), Quiet():
            return parts(*args, **kwargs)
    return _recorded(func, values, tensors)


def run(func: OpOverload, values: list[object]) -> Tree:
    """Runs an operator's kernel on plain tensors."""
    with Kernel():
        out = kernel_of(func)(values)
    return (
        tuple(out)
        if isinstance(out, tuple)
        and type(out) is not tuple
        and func._schema.returns[0].type == "Tensor"
        else out
    )


def decompose(func: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
    """``OpOverload.decompose``."""
    parts = parts_of(func)
    return NotImplemented if parts is None else parts(*args, **kwargs)


# ---- autograd above ------------------------------------------------------------------------------


def _recorded(func: OpOverload, values: Values, tensors: list[Tensor]) -> object:
    enabled = MODE.enabled
    schema = func._schema
    if enabled and not schema.outs:
        for i in schema.writes:
            for t in values[i] if isinstance(values[i], list) else (values[i],):
                if isinstance(t, Tensor):
                    check_inplace(t, idempotent=True)
    needs = enabled and any(requires_grad(t) for t in tensors)
    if not needs:
        return _below(func, values, tensors)
    if schema.outs:
        raise RuntimeError(
            f"{func._opname}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    record = hooks.operator_recording.get().begin(func, values, tensors)
    out = _below(func, values, tensors)
    return out if record is None else record.finish(out)


def _below(func: OpOverload, values: Values, tensors: list[Tensor]) -> object:
    if needs_copies(func, tensors):
        return with_copies(func, values, lambda f, given: _below(f, given, operands(f, given)))
    with Below():
        out = conforming(func, values, dispatched(func, values, tensors))
    schema = func._schema
    if schema.writes:
        _count_writes(schema, values)
    elif schema.is_view:
        mark_view(func, values, out)
    return out


def requires_grad(t: Tensor) -> bool:
    """``t.requires_grad``, without asking anybody."""
    if t._v is None and t._al is not None:
        if isinstance(t._al, Look):
            if t._al.seen is not None:
                refresh(t)
        else:
            t._sync()
    return t._rg


def _count_writes(schema: Schema, values: list[object]) -> None:
    """An in-place change of a wrapper shows in its version, as one of data does."""
    for i in schema.writes:
        t = values[i]
        if isinstance(t, Tensor) and isinstance(t._al, Look):
            t._al.counter.n += 1


def conforming(func: OpOverload, values: list[object], out: Tree) -> Tree:
    """What a handler returned, as the schema has it: the very object that was written to, tensors
    where tensors are due.

    Raises:
        RuntimeError: for a result of another kind.
    """
    schema = func._schema
    if schema.hands_back:
        written = [values[i] for i in (schema.outs or schema.writes)]
        if len(schema.returns) == len(written):
            if len(written) == 1:
                _tensor(out)
            return written[0] if len(written) == 1 else tuple(written)
    if not schema.returns:
        return None
    if len(schema.returns) == 1:
        kind = schema.returns[0].type
        if kind == "Tensor":
            return _tensor(out)
        if kind == "Tensor[]":
            if not isinstance(out, (list, tuple)):
                raise RuntimeError(f"Unable to cast {out} to a list of Tensors")
            return [_tensor(t) for t in out]
        return out
    try:
        items = list(out)
    except TypeError:
        raise RuntimeError(
            f"Object of type '{type(out).__name__}' is not an instance of 'sequence'"
        ) from None
    found = [
        _tensor(t) if r.type == "Tensor" else t for r, t in zip(schema.returns, items, strict=False)
    ]
    if len(items) != len(schema.returns):
        raise RuntimeError(
            f"{func}: expected {len(schema.returns)} results from __torch_dispatch__ and got "
            f"{len(items)}"
        )
    return tuple(found)


def _tensor(out: Tensor) -> Tensor:
    if out is None or isinstance(out, Tensor):
        return out
    raise RuntimeError(f"Unable to cast {out} to Tensor")


# ---- modes and classes ---------------------------------------------------------------------------


def classes(tensors: Sequence[Tensor]) -> list[type]:
    """The classes to ask, in order: as they come, but a class before those that it is a subclass
    of."""
    found: list[type] = []
    for t in tensors:
        cls = type(t)
        if cls is Tensor or cls in found or not handles(cls):
            continue
        place = next((i for i, known in enumerate(found) if issubclass(cls, known)), len(found))
        found.insert(place, cls)
    return found


def dispatched(
    func: OpOverload, values: list[object], tensors: Sequence[Tensor], word: str | None = None
) -> Tree:
    """The answer of the innermost mode or of a wrapper class; what the kernel gives if there is
    nobody to ask.

    Errors call the operator ``word``.

    Raises:
        TypeError: if all who were asked returned ``NotImplemented``.
    """
    modes = STATE.modes
    found = classes(tensors)
    if not modes and not found:
        return run(func, values)
    if (
        not undisturbed()
        and (drawn := drawn_for_examples(invoke, func, values, tensors)) is not dispatch.MISSING
    ):
        return drawn
    # transformations come first: who is asked sees what they do to the tensors outside
    if transformed(tensors):
        return run_inside(run, func, values)
    args, kwargs = func.trimmed(values)
    if SYMBOLIC:  # handlers see SymInt
        args, kwargs = visible(args), {k: visible(x) for k, x in kwargs.items()}
    types = tuple(found)
    mode = None
    if modes:
        mode = modes[-1]
        with Loud():
            answer = _ask_mode(mode, func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    for cls in found:
        handler = cls.__torch_dispatch__
        if type(handler) is FunctionType:  # a method of tensors, or a static one
            handler = next(t for t in tensors if type(t) is cls).__torch_dispatch__
        with Loud():
            answer = handler(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {cls!r}" for cls in found]
    raise TypeError(
        (
            f"Multiple dispatch failed for '{word or f'torch._ops.{func}'}'; all "
            "__torch_dispatch__ handlers returned NotImplemented:\n"
            "\n"
        )
        + "\n".join(lines)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _ask_mode(
    mode: TorchDispatchMode,
    func: OpOverload,
    types: tuple[type, ...],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> tuple[Tensor, ...] | Tensor | Sym:
    """The mode's answer; it is off the stack while its handler runs."""
    handler = mode.__torch_dispatch__
    if getattr(handler, "__self__", mode) is not mode:
        raise RuntimeError(
            "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please "
            "make it a plain method"
        )
    stack = STATE.modes
    place = len(stack) - 1
    del stack[place:]
    try:
        return handler(func, types, args, kwargs)
    finally:
        stack.insert(min(place, len(stack)), mode)


def run_default(func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:  # noqa: ARG001
    """``Tensor.__torch_dispatch__``: the operator on the data itself."""
    return run(func, func.complete(args, kwargs or {}))


dispatch.run_default_dispatch = run_default
