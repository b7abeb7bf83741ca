"""The override protocol: who is asked about a call, in which order, and what an answer means.

Knows callables, operands and types; no Tensor, no JAX, no op. ``protocol/overridable.py`` turns
implementations into public callables whose plain path costs one set-membership test per operand
(``PLAIN``) and one look at ``ACTIVE.modes``; only when these fail do they come here, to
``override``. The order of one call: the innermost function mode, then the operands'
``__torch_function__`` handlers.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ._src import hooks
from ._src.protocol.state import ACTIVE, MISSING, DisableTorchFunctionSubclass, _count, _state
from ._src.protocol.state import DisableTorchFunction as DisableTorchFunction
from ._src.protocol.state import EnableTorchFunction as EnableTorchFunction
from ._src.protocol.state import is_torch_function_enabled as is_torch_function_enabled
from ._src.protocol.state import is_torch_function_mode_enabled as is_torch_function_mode_enabled

if TYPE_CHECKING:
    from ._src.facts.kinds import Arguments, Function, Row, Tree


#: Exact types that are never asked: exact Tensor and Parameter (added by ``add_plain``) and
#: everything that can have no handler.
PLAIN: set[type] = {
    int,
    float,
    bool,
    complex,
    type(None),
    str,
    bytes,
    type(...),
    slice,
    range,
    type,
}
#: The types that need no look where a number, size, dtype or flag is due; containers are not looked
#: into there.
STATIC: set[type] = PLAIN | {tuple, list}
_SEQUENCES = frozenset((tuple, list))
#: The exact types among PLAIN that are tensors: what a method's ``self`` is on the plain path.
TENSORS: set[type] = set()
#: Bound getters whose results the default handler does not convert (``Tensor.grad.__get__`` and the
#: like).
NOWRAP: set[Any] = set()

#: Tensor classes of other layouts, with what runs the calls that have them as operands (``call``,
#: ``get``, ``set``); never in PLAIN.
LAYOUTS: dict[type, Any] = {}

_tensor_type: type | None = None
_warned_plain_method = False


def add_plain(*types: type) -> None:
    """Declares exact types whose instances need not be asked."""
    PLAIN.update(types)
    PLAIN.update(map(type, types))  # the classes themselves are no operands that take part
    STATIC.update(types)
    TENSORS.update(t for t in types if _tensor_type is not None and issubclass(t, _tensor_type))


def set_tensor_type(tensor_type: type) -> None:
    """Tells which class is Tensor: never asked itself, self of methods, and listed in ``types`` by
    Python-level functions."""
    global _tensor_type
    _tensor_type = tensor_type
    add_plain(tensor_type)


def tensor_type() -> type | None:
    """The class given to ``set_tensor_type``."""
    return _tensor_type


def of_layout(operands: Iterable[Any]) -> Any:
    """The first operand of a class in ``LAYOUTS``, also inside lists and tuples; None if there is
    none."""
    for operand in operands:
        if type(operand) in LAYOUTS:
            return operand
        # (lists of a class of their own are what ``torch.fx`` has)
        if type(operand) in _SEQUENCES or isinstance(operand, list):
            for item in operand:
                if type(item) in LAYOUTS:
                    return item
    return None


# ----------------------------------------------------------------------------------------- handlers


class _DisabledHandler:
    """``__torch_function__`` of classes that take no part: they are never asked, and calling it
    just runs ``func``."""

    __name__ = "_disabled_torch_function_impl"

    def __call__(
        self,
        func: Function,
        types: tuple[type, ...],
        args: Arguments = (),
        kwargs: Any = None,
    ) -> object:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return "<built-in method _disabled_torch_function_impl>"

    def __reduce__(self) -> str:
        return "disabled_torch_function_impl"


disabled_torch_function_impl = _DisabledHandler()


class _DisabledDispatch:
    """``__torch_dispatch__`` of classes that take no part; calling it runs the operator on the data
    itself."""

    __name__ = "_disabled_torch_dispatch_impl"

    def __call__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: object = None,
    ) -> Any:
        return run_default_dispatch(func, types, args, kwargs)

    def __repr__(self) -> str:
        return "<built-in method _disabled_torch_dispatch_impl>"

    def __reduce__(self) -> str:
        return "disabled_torch_dispatch_impl"


disabled_torch_dispatch_impl = _DisabledDispatch()


def run_default_dispatch(
    func: Callable[..., Any],
    types: object,  # noqa: ARG001
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    """Runs an operator on data; replaced by the floor that has operators."""
    return func(*args, **(kwargs or {}))


#: The modules of PyTorch's classes of tensors.
_OF_PYTORCH = ("torch", "torch.nn.parameter")


def _handler_of(operand: object) -> Any:
    """The operand's handler, or None if it has none or the disabled one."""
    cls = type(operand)
    if cls in PLAIN:
        return None
    handler = getattr(operand, "__torch_function__", None)
    if handler is None:
        if _is_closed(cls):
            add_plain(cls)
        return None
    if handler is not disabled_torch_function_impl:
        if cls.__module__ in _OF_PYTORCH and _is_pytorchs(getattr(handler, "__func__", handler)):
            return None  # it would have the function called again, and be asked again
        return handler
    own = cls.__module__.startswith(("jtorch.", "torch.")) and cls not in LAYOUTS
    if own and "__torch_function__" in cls.__dict__ and "__torch_dispatch__" not in cls.__dict__:
        # Parameter: nobody but this package changes its handler, so it need not be looked at again
        add_plain(cls)
    return None


def _is_closed(cls: type) -> bool:
    """Whether no instance of ``cls`` can ever get a handler: an immutable C type with the ordinary
    attribute look-up."""
    heap_type = cls.__flags__ & (1 << 9)
    return (
        not heap_type
        and not cls.__dictoffset__
        and cls.__getattribute__ is object.__getattribute__
        and cls not in _SEQUENCES
    )


def _collect(
    operands: Iterable[object], with_tensor: bool, depth: int = 1
) -> list[tuple[type, Any, Any]]:
    """``(class, operand, handler)`` in the order of asking: first of each class, a class before
    those it is a subclass of.

    Lists and tuples are opened to ``depth`` levels.
    """
    found: list[tuple[type, Any, Any]] = []
    for operand in operands:
        cls = type(operand)
        if cls in PLAIN:
            if not with_tensor or cls is not _tensor_type:
                continue
            handler = cls.__torch_function__
        else:
            handler = _handler_of(operand)
            if handler is None:
                if (
                    depth
                    and isinstance(operand, (list, tuple))
                    and (with_tensor or not all_plain(operand))
                ):
                    # Of a run of items of one class the first one counts, so that long lists are
                    # read at the speed of C.
                    for item in _collect(
                        [next(run) for _, run in groupby(operand, type)], with_tensor, 0
                    ):
                        _insert(found, item)
                continue
        if found:
            _insert(found, (cls, operand, handler))
        else:
            found.append((cls, operand, handler))
    return found


def all_plain(items: Sequence[object]) -> bool:
    """Whether no item of a list or tuple has to be asked."""
    if len(items) < MANY:
        return PLAIN.issuperset(map(type, items))
    # Faster for the long lists of one class that programs have.
    return all(cls in PLAIN for cls, _ in groupby(items, type))


#: From here on lists are looked through run by run.
MANY = 24


def _insert(found: list[tuple[type, object, object]], new: tuple[type, object, object]) -> None:
    cls = new[0]
    for known, _, _ in found:
        if known is cls:
            return
    for place, (known, _, _) in enumerate(found):
        if issubclass(cls, known):
            found.insert(place, new)
            return
    found.append(new)


def _warn_plain_method(native: bool) -> None:
    global _warned_plain_method
    quote = "`" if native else ""
    text = (
        f"Defining your `__torch_function__{quote} as a plain method is deprecated and will be an "
        "error in future, please define it as a classmethod."
    )
    if not native:
        warnings.warn(text, DeprecationWarning, stacklevel=5)
    elif not _warned_plain_method:
        _warned_plain_method = True
        warnings.warn(text, UserWarning, stacklevel=5)


def _ask_mode(
    func: Callable[..., object],
    types: tuple[type, ...],
    args: tuple[object, ...],
    kwargs: dict[str, object] | None,
    place: int,
) -> object:
    """The answer of the mode at ``place`` of the stack; it and those further in are off while it
    runs."""
    stack = _state.modes
    taken = stack[place:]
    mode = taken[0]
    handler = mode.__torch_function__
    if getattr(handler, "__self__", mode) is not mode:
        raise RuntimeError(
            "Defining your mode's `__torch_function__` as a classmethod is not supported, please "
            "make it a plain method"
        )
    del stack[place:]
    _count(-len(taken))  # so that the handler's own calls are plain ones
    try:
        return handler(func, types, args, kwargs)
    finally:
        stack.extend(taken)
        _count(len(taken))


def _mode_for(func: Callable[..., object], body_is_opaque: bool) -> int:
    """The place of the innermost mode that wants to see ``func``; -1 if there is none."""
    stack = _state.modes
    place = len(stack) - 1
    if body_is_opaque:
        while place >= 0 and (acts_on := stack[place].acts_on) is not None and func not in acts_on:
            place -= 1
    return place


def override(
    func: Callable[..., object],
    operands: Collection[Any],
    args: tuple[object, ...],
    kwargs: dict[str, object] | None,
    native: bool = True,
    opaque: bool = True,
    types: tuple[type, ...] | None = None,
) -> Any:
    """The answer of a mode or handler to the call ``func(*args, **kwargs)``, or ``MISSING`` if
    nobody has to be asked.

    Lists and tuples among ``operands`` are opened one level deep. ``native`` chooses the details in
    which functions that PyTorch writes in C++ differ from those it writes in Python: exact Tensor
    in ``types``, the texts of errors and warnings. ``opaque=False`` says that the body calls public
    functions, so that even a mode that does not act on ``func`` has to be off while it runs.
    ``types`` replaces the classes that a mode is told.

    Raises:
        TypeError: if all who were asked returned ``NotImplemented``.
    """
    state = _state
    if state.skip:
        state.skip = False
        return MISSING
    level = state.level
    if level == 2:
        return MISSING
    place = _mode_for(func, opaque) if state.modes else -1
    found: list[tuple[type, Any, Any]] = []
    if level == 0:
        found = _collect(operands, False)
        if not native and (found or place >= 0):
            found = _collect(operands, True)
    if place < 0 and not found:
        return MISSING
    asked = tuple([cls for cls, _, _ in found])
    if place >= 0:
        answer = _ask_mode(func, asked if types is None else types, args, kwargs, place)
        if answer is not NotImplemented:
            return answer
    for _, operand, handler in found:
        if getattr(handler, "__self__", None) is operand and not isinstance(operand, type):
            _warn_plain_method(native)
        answer = handler(func, asked, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise _all_declined(func, asked, state.modes[place] if place >= 0 else None, native)


def quick(caller: Any) -> Callable[..., Any]:
    """A short way through ``override`` for two frequent cases of calls of ``caller``; whatever else
    goes the long way.

    The cases: one class to ask, whose handler is a classmethod; and one mode that sees every call,
    on plain operands. What is returned takes the arguments given by position and, if there are any,
    those given by keyword, both with ``MISSING`` where none was given.
    """
    is_method, extract, state, plain, entered, names = (
        caller.is_method,
        caller.extract,
        _state,
        PLAIN,
        ACTIVE.modes,
        caller.names,
    )

    def ask(args: Arguments, named: Row | None = None) -> Tree:
        if args and args[-1] is MISSING:
            count = len(args) - 1
            while count and args[count - 1] is MISSING:
                count -= 1
            args = args[:count]
        kwargs = None if named is None else {n: x for n, x in zip(names, named) if x is not MISSING}
        if extract is not None:
            operands = extract(*args) if kwargs is None else extract(*args, **kwargs)
        else:
            operands = args if kwargs is None else (*args, *kwargs.values())
        if entered:
            return ask_mode(args, kwargs, operands)
        cls: Any = None
        operand = None
        for x in operands:
            kind = type(x)
            if kind in plain or kind is cls:
                continue
            if kind in _SEQUENCES:
                if len(x) > MANY:
                    x = [next(run) for _, run in groupby(x, type)]
                for item in x:
                    kind = type(item)
                    if kind in plain or kind is cls:
                        continue
                    if cls is not None:
                        return caller(args, kwargs or {})
                    cls, operand = kind, item
                continue
            if cls is not None:
                return caller(args, kwargs or {})
            cls, operand = kind, x
        handler = getattr(operand, "__torch_function__", None)
        if (
            getattr(handler, "__self__", None) is not cls
            or cls is None
            or state.level
            or cls.__module__ == "torch"  # perhaps PyTorch's own
            or (is_method and not _is_tensor(args))
        ):
            return caller(args, kwargs or {})
        answer = handler(caller.func, (cls,), args, kwargs)  # type: ignore[misc]
        if answer is NotImplemented:
            raise _all_declined(caller.func, (cls,), None, caller.native)
        return answer

    def ask_mode(
        args: tuple[object, ...], kwargs: dict[str, object] | None, operands: Iterable[object]
    ) -> object:
        stack = state.modes
        if state.mark is not None and is_plain_but_marked(operands):
            return run_marked(caller.func, args, kwargs)
        if not stack or state.level or state.skip or not plain.issuperset(map(type, operands)):
            return caller(args, kwargs or {})
        mode = stack[-1]
        handler = mode.__torch_function__
        if (
            mode.acts_on is not None
            or getattr(handler, "__self__", None) is not mode
            or (is_method and not _is_tensor(args))
        ):
            return caller(args, kwargs or {})
        del stack[-1]
        entered.pop()
        try:
            answer = handler(caller.func, (type(args[0]),) if caller.alone else (), args, kwargs)
        finally:
            stack.append(mode)
            entered.append(None)
        if answer is NotImplemented:
            raise _all_declined(
                caller.func, (type(args[0]),) if caller.alone else (), mode, caller.native
            )
        return answer

    return ask


def _is_tensor(args: tuple[object, ...]) -> bool:
    """Whether a method's self is one."""
    return bool(args) and (type(args[0]) in TENSORS or isinstance(args[0], _tensor_type or object))


def _all_declined(
    func: Callable[..., object],
    types: tuple[type, ...],
    mode: TorchFunctionMode | None,
    native: bool,
) -> TypeError:
    name = name_of(func)
    if not native:
        nor = "" if mode is None else f" nor in mode {mode!r}"
        return TypeError(
            f"no implementation found for '{name}' on types that implement __torch_function__: "
            f"{list(types)!r}{nor}"
        )
    # What PyTorch writes in C++ it looks for in torch and torch.nn.
    if name.startswith("torch.nn.functional."):
        last = name.rpartition(".")[2]
        shared = PUBLIC.get(f"torch.{last}")
        own = shared is None or shared.function is not func
        name = f"torch.nn.{last}" if own else f"torch.{last}"
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {cls!r}" for cls in types]
    return TypeError(
        (
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
            "NotImplemented:\n"
            "\n"
        )
        + "\n".join(lines)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def name_of(func: Callable[..., object]) -> str:
    """The dotted name that messages use: ``torch.add``, ``torch.Tensor.add``, or the function's own
    module and name."""
    known = NAMES.get(func)
    if known is not None:
        return known
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return f"torch.Tensor.{getattr(owner, '__name__', '?')}.{func.__name__}"
    return f"{getattr(func, '__module__', None)}.{getattr(func, '__name__', func)}"


# ------------------------------------------------------------------------------- the public helpers


def has_torch_function(relevant_args: Iterable[object]) -> bool:
    """Whether an item has a handler that is not disabled (exact Tensor does not count), or a
    function mode is active."""
    try:
        operands = tuple(relevant_args)
    except TypeError:
        raise TypeError("expected a sequence") from None
    state = _state
    if state.skip:
        state.skip = False
        return False
    if state.modes and state.level < 2:
        return True
    return state.level == 0 and any(_handler_of(x) is not None for x in operands)


def has_torch_function_unary(x: object) -> bool:
    """``has_torch_function((x,))``."""
    return bool(ACTIVE.modes or type(x) not in PLAIN) and has_torch_function((x,))


def has_torch_function_variadic(*operands: object) -> bool:
    """``has_torch_function(operands)``."""
    return has_torch_function(operands)


def handle_torch_function(
    public_api: Callable[..., object], relevant_args: Iterable[Any], *args: object, **kwargs: object
) -> Any:
    """Asks modes and the handlers among ``relevant_args`` about the call
    ``public_api(*args, **kwargs)``.

    Raises:
        TypeError: if nobody answers.
    """
    state = _state
    found = _collect(relevant_args, True, 0) if state.level == 0 else []
    asked = tuple([cls for cls, _, _ in found])
    mode = None
    if state.modes and state.level < 2:
        mode = state.modes[-1]
        answer = _ask_mode(public_api, asked, args, kwargs, len(state.modes) - 1)
        if answer is not NotImplemented:
            return answer
    for _, operand, handler in found:
        if getattr(handler, "__self__", None) is operand and not isinstance(operand, type):
            _warn_plain_method(False)
        answer = handler(public_api, asked, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise _all_declined(public_api, asked, mode, False)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[object]], *, verify: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: makes a function overridable by what ``dispatcher``, called with the same
    arguments, returns as operands.

    ``verify`` compares the two signatures at once. The plain body stays reachable as
    ``f._implementation``.
    """

    def decorator(implementation: Callable[..., object]) -> Callable[..., Any]:
        if verify:
            hooks.overridable.get().verify_matching_signatures(implementation, dispatcher)

        @functools.wraps(implementation)
        def public(*args: object, **kwargs: object) -> object:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(public, relevant, *args, **kwargs)
            return implementation(*args, **kwargs)

        public._implementation = implementation
        return public

    return decorator


def redispatch_function(
    func: Callable[..., Any],
    types: object,  # noqa: ARG001
    args: tuple[Any, ...],
    kwargs: Any,
) -> Any:
    """Runs ``func`` itself without asking anybody about this call; the calls that its body makes
    are dispatched as usual."""
    # so that even a call on plain operands comes to ``override``, which takes the flag down
    _count(1)
    _state.skip = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _state.skip = False
        _count(-1)


def default_handler(
    cls: type,
    func: Callable[..., Any],
    types: Collection[type],
    args: tuple[Any, ...] = (),
    kwargs: Any = None,
) -> Any:
    """``Tensor.__torch_function__``: runs ``func`` with handlers off and gives its tensors the
    class ``cls``.

    Declines if an operand's class is no superclass of ``cls``.

    Raises:
        TypeError: if ``func`` is one of PyTorch's own, which asks tensors of this package again
            instead of computing.
    """
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    state = _state
    before = state.level
    if before and _is_pytorchs(func):
        raise TypeError(
            f"{getattr(func, '__qualname__', func)} of PyTorch itself was called with a tensor of "
            "jtorch. Use jtorch's function of that name, or give it a tensor made of x.numpy()."
        )
    state.level = before or 1
    try:
        result = func(*args, **(kwargs or {}))
        if cls is _tensor_type or func in NOWRAP:
            return result
        return _convert(result, cls)
    finally:
        state.level = before


def _is_pytorchs(func: Callable[..., object]) -> bool:
    """Whether a function is one of PyTorch, which may be imported beside this package."""
    there = sys.modules.get("torch")
    home = getattr(there, "__file__", None)
    if home is None or there is sys.modules[__name__.rpartition(".")[0]]:
        return False
    code = getattr(func, "__code__", None)
    if code is None:  # written in C
        module = getattr(getattr(func, "__objclass__", func), "__module__", None) or "torch"
        return module.partition(".")[0] == "torch" and func not in NAMES
    return code.co_filename.startswith(os.path.dirname(home) + os.sep)


def _convert(result: object, cls: type) -> object:
    if isinstance(result, _tensor_type):  # type: ignore[arg-type]
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(_convert(item, cls) for item in result)
    return result


# ----------------------------------------------------------------------------------- function modes


class TorchFunctionMode:
    """A block in which all overridable calls of the thread, factories too, go to
    ``__torch_function__`` of the mode.

    While the handler runs the mode is off, so that its own calls go to the next mode further out;
    ``with self:`` puts it on again.
    """

    inner: TorchFunctionMode
    #: None, or the functions that the mode acts on: a promise that it just calls any other.
    acts_on: Collection[Any] | None = None

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Any = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        remove_mode(self)

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> Any:
        """Only constructs the mode: an old spelling."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that just calls the function."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Collection[type],
        args: tuple[Any, ...] = (),
        kwargs: Any = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def push_mode(mode: TorchFunctionMode, *, outermost: bool = False) -> None:
    """Puts a mode on the stack of this thread."""
    _state.modes.insert(0 if outermost else len(_state.modes), mode)
    _count(1)


def remove_mode(mode: TorchFunctionMode) -> None:
    """Takes the innermost entry of ``mode`` off the stack of this thread.

    It is not always the innermost of all: a generator may have been suspended inside another mode.
    """
    stack = _state.modes
    for place in range(len(stack) - 1, -1, -1):
        if stack[place] is mode:
            del stack[place]
            _count(-1)
            return
    raise RuntimeError(f"the mode {mode!r} is left in a thread or block that has not entered it")


def set_marking(mark: Callable[[Any, Iterable[Any]], Any] | None) -> None:
    """Has the results of this thread's calls shown to ``mark`` from here on, or to nobody; calls
    leave their plain path for that."""
    _count((mark is not None) - (_state.mark is not None))
    _state.mark = mark


def is_plain_but_marked(operands: Iterable[Any]) -> bool:
    """Whether a call left its plain path only for its results to be marked."""
    if len(ACTIVE.modes) != 1 or _state.skip:
        return False
    for operand in operands:
        kind = type(operand)
        if kind not in PLAIN and (kind not in _SEQUENCES or not all_plain(operand)):
            return False
    return True


def run_marked(
    func: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object] | None
) -> Any:
    """Runs a call on its plain path and marks its results."""
    state = _state
    mark, state.mark = state.mark, None
    ACTIVE.modes.pop()
    try:
        result = func(*args, **kwargs) if kwargs else func(*args)
    finally:
        if state.mark is None:  # else a program's function that was called has set it anew
            state.mark = mark
            ACTIVE.modes.append(None)
    assert mark is not None
    return mark(result, (*args, *kwargs.values()) if kwargs else args)


def pop_mode() -> TorchFunctionMode:
    """Takes the innermost mode off the stack of this thread and returns it."""
    mode = _state.modes[-1]
    remove_mode(mode)
    return mode


def current_mode() -> TorchFunctionMode | None:
    """The innermost function mode of this thread."""
    return _state.modes[-1] if _state.modes else None


def mode_stack() -> list[TorchFunctionMode]:
    """The function modes of this thread, outermost first."""
    return list(_state.modes)


@contextmanager
def mode_off() -> Iterator[TorchFunctionMode]:
    """A block in which the innermost mode is off the stack."""
    mode = pop_mode()
    try:
        yield mode
    finally:
        push_mode(mode)


#: A block in which the calls of a ``__torch_dispatch__`` handler record history; set by the floor
#: that runs such handlers.
reentrant: Callable[[], AbstractContextManager[Any]] = nullcontext


# ---------------------------------------------------------------------------------------- the table


class Public:
    """What the table knows of one public callable."""

    __slots__ = ("function", "native", "overridable", "path")

    def __init__(self, path: str, function: Any, overridable: bool, native: bool) -> None:
        self.path = path
        self.function = function
        self.overridable = overridable
        self.native = native

    def __repr__(self) -> str:
        return f"<public {self.path}>"


#: Every registered callable by its dotted path, ``torch.add``; aliases have entries of their own.
PUBLIC: dict[str, Public] = {}
#: Whether functions that PyTorch has in C++ tell their signatures; ``_src/protocol/withheld.py``
#: says when they do not.
tells_signatures = True
#: The first path that each callable was registered under.
NAMES: dict[Any, str] = {}


def register(path: str, function: object, *, overridable: bool = True, native: bool = True) -> None:
    """Enters a public callable, or an alias of one, into the table that ``overrides.py`` reads."""
    PUBLIC[path] = Public(path, function, overridable, native)
    NAMES.setdefault(function, path)


def __getattr__(name: str) -> Any:
    # For library authors the decorator belongs here; it is written where public callables are made.
    if name in ("torch_function_dispatch", "verify_matching_signatures"):
        return getattr(hooks.overridable.get(), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
