"""Decorators of pipes: their functional names, whether they are deterministic, and checks of what
they take and give."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, get_type_hints

from ._typing import _DataPipeMeta
from .datapipe import IterDataPipe, MapDataPipe


class functional_datapipe:
    """A class decorator: pipes get a method of that name which makes the class around them.

    Args:
        name: the name of the method.
        enable_df_api_tracing: whether pipes that the method makes are traced as data frames.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        """Registers the class, or what ``non_deterministic`` made of one.

        Raises:
            TypeError: if it is no pipe.
            Exception: if the name is taken.
        """
        if isinstance(cls, non_deterministic) or isinstance(
            getattr(cls, "__self__", None), non_deterministic
        ):
            kind: Any = IterDataPipe
        elif issubclass(cls, IterDataPipe):
            kind = IterDataPipe
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
            return cls
        else:
            return cls
        kind.register_datapipe_as_function(
            self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing
        )
        return cls


_determinism = False


class guaranteed_datapipes_determinism:
    """A context in which pipes that say they are not deterministic are refused; it begins where it
    is made."""

    def __init__(self) -> None:
        global _determinism
        self.prev = _determinism
        _determinism = True

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        global _determinism
        _determinism = self.prev


_TURN_OFF = (
    "You can turn off determinism for this DataPipe if that is acceptable for your application"
)


class non_deterministic:
    """A class decorator for pipes that are not deterministic: always, or where a function of their
    arguments says so.

    Args:
        arg: the class; or a function that gets the arguments of the class and says whether such a
            pipe is deterministic.

    Raises:
        TypeError: for what is neither, and for classes that are no ``IterDataPipe``.
    """

    cls: Any = None

    def __init__(self, arg: type[IterDataPipe] | Callable[..., bool]) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                    f"{arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set "
                    f"'guaranteed_datapipes_determinism'. {_TURN_OFF}"
                )
            return self.cls(*args, **kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(
                f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found"
            )
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> IterDataPipe:
        """Makes the pipe, unless the function says that it is not deterministic where it must
        be."""
        said = self.deterministic_fn(*args, **kwargs)
        if not isinstance(said, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean "
                f"value, but {type(said)} is found"
            )
        if _determinism and said:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with the inputs, but you set "
                f"'guaranteed_datapipes_determinism'. {_TURN_OFF}"
            )
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable[..., object]) -> Callable[..., Any]:
    """Lets a function refuse what is no pipe where its annotations name one.

    Differs from torch: pipes have no types of their items (nor have they in PyTorch any more, where
    a pipe raises ``AttributeError``).
    """
    signature, hints = inspect.signature(f), get_type_hints(f)

    @wraps(f)
    def wrapper(*args: object, **kwargs: object) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if isinstance(hints.get(name), _DataPipeMeta) and not isinstance(value, IterDataPipe):
                raise TypeError(
                    f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}"
                )
        return f(*args, **kwargs)

    return wrapper


_runtime_validation_enabled = True


class runtime_validation_disabled:
    """A context in which ``runtime_validation`` checks nothing; it begins where it is made."""

    def __init__(self) -> None:
        global _runtime_validation_enabled
        self.prev = _runtime_validation_enabled
        _runtime_validation_enabled = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        global _runtime_validation_enabled
        _runtime_validation_enabled = self.prev


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Lets an ``__iter__`` check its items against the pipe's ``type``, for pipes that have one."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        if not _runtime_validation_enabled:
            yield from f(self)
            return
        for item in f(self):
            if not self.type.issubtype_of_instance(item):
                raise RuntimeError(
                    f"Expected an instance as subtype of {self.type}, but found "
                    f"{item}({type(item)})"
                )
            yield item

    return wrapper
