"""Whether operations are recorded for differentiation: ``no_grad`` and its relatives. The mode
belongs to the thread."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from .._src.engine import STOPPING, here
from .._src.facts.warned_once import outside
from ..dispatch import set_marking

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


class _Mode(threading.local):
    """The thread's gradient mode.

    ``below`` says that a ``__torch_dispatch__`` handler is running: there, and in inference mode,
    nothing is recorded, and programs see and set ``shown`` instead. ``transforms`` has an item for
    each function transformation (of ``func``) that is running a function: what is told of leaves
    made inside (``adopt``) and tells what is differentiated by (``differentiates_by``), or None.
    ``starts`` has the births (``core.born``) since which tensors are a derivative's own, and
    ``given`` for some of them the older tensors into which the function may write all the same.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.inference = False
        self.below = False
        self.shown = True
        self.transforms = []
        self.starts: list[int] = []
        self.given = {}
        self.batching = 0  # how many of them are the engine's own, for batches of gradients

    def get(self) -> bool:
        """Whether a program that asks is told that recording is on."""
        return self.shown if self.below or self.inference else self.enabled

    def set(self, enabled: bool) -> None:
        """Turns recording on or off, as a program does."""
        if self.below or self.inference:
            self.shown = enabled
        else:
            self.enabled = enabled
            STOPPING.within = None if enabled else here()

    def state(self) -> tuple[bool, Any]:
        """What ``back`` takes to make everything as it is now: the mode, and where derivatives of
        JAX's end (``engine/stopping.py``)."""
        return self.get(), STOPPING.within

    def back(self, state: tuple[bool, Any]) -> None:
        """Leaves a block that began with ``state``."""
        if self.below or self.inference:
            self.shown = state[0]
        else:
            self.enabled = state[0]
        STOPPING.within = state[1]


MODE = _Mode()


class _Forward(threading.local):
    """Whether calls on values with tangents give such values in this thread."""

    def __init__(self) -> None:
        self.enabled = True

    @contextlib.contextmanager
    def set_to(self, enabled: bool) -> Iterator[None]:
        """A block in which they do, or do not."""
        previous, self.enabled = self.enabled, enabled
        try:
            yield
        finally:
            self.enabled = previous


FORWARD = _Forward()


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class _Decorating(contextlib.ContextDecorator):
    """A context manager that also decorates functions, generators and classes, entering anew for
    each call or resumption."""

    def clone(self) -> Any:
        """Another one like it, for one more entering."""
        return type(self)()

    def __call__(self, func: _Decorated) -> _Decorated:
        return self._decorated(func)

    def _decorated(self, func: Callable[..., object] | type) -> Any:
        if inspect.isclass(func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=outside(),
            )
            func.__init__ = self(func.__init__)
            return func
        if inspect.isgeneratorfunction(func):
            return self._around_generator(func)

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return call

    def _around_generator(self, func: Function) -> Callable[..., object]:
        @functools.wraps(func)
        def generate(*args: Any, **kwargs: Any) -> Any:
            generator = func(*args, **kwargs)
            try:
                with self.clone():
                    response = generator.send(None)
                while True:
                    try:
                        request = yield response
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            response = generator.throw(error)
                    else:
                        with self.clone():
                            response = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return generate


class no_grad(_Decorating):
    """Turns recording off inside: results do not require grad. Also a decorator of functions and
    generators.

    Args:
        orig_func: a function, where the class itself is written as its decorator
            (``@torch.no_grad``).

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> with torch.no_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    def __init__(self, orig_func: object = None) -> None:
        self.previous: tuple[bool, Any] = (True, None)

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _Decorated) -> _Decorated: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        """The manager, or the decorated function if one is given."""
        if orig_func is not None:  # ``@no_grad`` without parentheses
            return cls()(orig_func)
        return super().__new__(cls)

    def __enter__(self) -> None:
        # ``state`` and ``set`` in one: programs that evaluate come here for every batch
        mode, stopping = MODE, STOPPING
        if mode.below or mode.inference:
            self.previous = mode.shown, stopping.within
            mode.shown = False
        else:
            self.previous = mode.enabled, stopping.within
            mode.enabled = False
            stopping.within = here()

    def __exit__(self, *exc: object) -> None:
        mode = MODE
        if mode.below or mode.inference:
            mode.shown, STOPPING.within = self.previous
        else:
            mode.enabled, STOPPING.within = self.previous


class enable_grad(no_grad):
    """Turns recording on inside a ``no_grad`` region.

    Args:
        orig_func: a function, where the class itself is written as its decorator.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        True
    """

    def __enter__(self) -> None:
        self.previous = MODE.state()
        MODE.set(True)


class recording(enable_grad):
    """As ``enable_grad``, for the tape of a transformation: derivatives that JAX takes around it
    end where they did."""

    def __enter__(self) -> None:
        super().__enter__()
        STOPPING.within = self.previous[1]


class unrecorded(no_grad):
    """As ``no_grad``, for what this package does in operations of its own: JAX differentiates that
    as if it were not there."""

    def __enter__(self) -> None:
        super().__enter__()
        STOPPING.within = self.previous[1]


class set_grad_enabled(_Decorating):
    """Sets recording on or off: at once when called, and until the end of the block when used as a
    context manager.

    Raises:
        TypeError: if ``mode`` is no bool.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> with torch.set_grad_enabled(False):
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'mode' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.previous = MODE.state()
        self.mode = mode
        MODE.set(mode)

    def __call__(self, func: _Decorated) -> _Decorated:
        """Decorates; merely making the decorator changes nothing."""
        MODE.back(self.previous)
        return super().__call__(func)

    def __enter__(self) -> None:
        MODE.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        MODE.back(self.previous)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.{type(self).__name__}(mode={self.mode})"

    def clone(self) -> Any:
        """Another one like it, for one more entering."""
        return type(self)(self.mode)


def marked(result: object, arguments: Iterable[object]) -> Any:
    """Marks the tensors among a call's results that are neither arguments nor views of them as made
    in inference mode.

    Set by the floor that knows tensors.
    """
    raise NotImplementedError


class inference_mode(_Decorating):
    """Turns recording off inside, like ``no_grad``, for good: tensors made inside cannot be saved
    for ``backward`` later.

    Nor can they be changed in place, or told to require grad, outside; a ``clone`` can. With
    ``mode=False``, a block inside such a one in which tensors are ordinary and recording is on.

    Args:
        mode: whether the mode is on; or a function, where the class itself is written as its
            decorator.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> with torch.inference_mode():
        ...     y = 2 * x
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _Decorated) -> _Decorated: ...
    def __new__(cls, mode: Any = True) -> Any:
        """The manager, or the decorated function if one is given."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.previous: tuple[bool, bool, bool, Any, bool] = (True, True, False, None, True)

    def __enter__(self) -> None:
        self.previous = (MODE.enabled, MODE.shown, MODE.inference, STOPPING.within, FORWARD.enabled)
        STOPPING.within = here() if self.mode else None
        MODE.inference = self.mode
        MODE.shown = FORWARD.enabled = not self.mode
        if not MODE.below:
            MODE.enabled = not self.mode
        set_marking(marked if self.mode else None)

    def __exit__(self, *exc: object) -> None:
        MODE.enabled, MODE.shown, MODE.inference, STOPPING.within, FORWARD.enabled = self.previous
        set_marking(marked if MODE.inference else None)

    def clone(self) -> Any:
        """Another one like it, for one more entering."""
        return type(self)(self.mode)


class set_multithreading_enabled(_Decorating):
    """Without effect: a walk back always runs on the thread that asked for it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def clone(self) -> Any:
        """Another one like it, for one more entering."""
        return type(self)(self.mode)


class enforce_grad_layout_policy(set_multithreading_enabled):
    """Without effect: gradients are always in row-major order."""

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def is_multithreading_enabled() -> bool:
    """False: a walk back runs on the thread that asked for it."""
    return False


def is_grad_enabled() -> bool:
    """Whether operations are being recorded for differentiation in this thread.

    Example:
        >>> import jtorch as torch
        >>> with torch.no_grad():
        ...     torch.is_grad_enabled()
        False
    """
    return MODE.get()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``.

    Example:
        >>> import jtorch as torch
        >>> with torch.inference_mode():
        ...     torch.is_inference_mode_enabled()
        True
    """
    return MODE.inference
