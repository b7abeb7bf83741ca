"""Context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._src.facts.kinds import Function


def context_decorator(ctx: object, func: Callable[..., object]) -> object:
    """``func`` run in a new context for each call; ``ctx`` is a context manager, or makes one. A
    generator runs in it between its yields.

    Raises:
        RuntimeError: for a class, where it is not clear whether its methods are meant.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), "
            "making it ambiguous which interface to use.  If you intended to pass a context "
            "manager factory, rewrite your call as context_decorator(lambda: ctx()); if you "
            "intended to pass a context manager directly, rewrite your call as "
            "context_decorator(lambda: ctx)"
        )
    make: Callable[[], Any] = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
            "methods should have the context manager applied; additionally, decorating a class at "
            "definition-site will prevent use of the identifier as a conventional type.  To "
            "specify which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(make, func)

    @functools.wraps(func)
    def decorated(*args: object, **kwargs: object) -> object:
        with make():
            return func(*args, **kwargs)

    return decorated


def _wrap_generator(ctx_factory: Callable[[], Any], func: Function) -> Callable[..., object]:
    """A generator function that is in the context while its own code runs, and outside of it while
    its caller's does."""

    @functools.wraps(func)
    def generating(*args: Any, **kwargs: Any) -> Iterator[object]:
        inner = func(*args, **kwargs)
        with ctx_factory():
            try:
                response = inner.send(None)
            except StopIteration as stop:
                return stop.value
        while True:
            try:
                request = yield response
            except GeneratorExit:
                with ctx_factory():
                    inner.close()
                raise
            except BaseException:  # handed on: the generator decides
                with ctx_factory():
                    try:
                        response = inner.throw(*sys.exc_info()[1:2])
                    except StopIteration as stop:
                        return stop.value
            else:
                with ctx_factory():
                    try:
                        response = inner.send(request)
                    except StopIteration as stop:
                        return stop.value

    return generating


class _DecoratorContextManager:
    """Base of context managers whose instances decorate functions, each call in a ``clone`` of the
    manager."""

    def __call__(self, orig_func: Any) -> Any:
        if inspect.isclass(orig_func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
            # no class
            func: Any = lambda *args, **kwargs: orig_func(*args, **kwargs)  # noqa: E731, PLW0108
        else:
            func = orig_func
        return context_decorator(self.clone, func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another manager like this; without arguments unless a subclass says otherwise."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without parentheses too."""

    def __new__(cls, orig_func: object = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
