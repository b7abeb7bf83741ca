"""What modules of libraries that XLA does not use as torch does have in common: switches that are
remembered only."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


_frozen = False


def freeze() -> None:
    """From now on switches are set in blocks and by ``set_flags`` only."""
    global _frozen
    _frozen = True


@contextlib.contextmanager
def thawed() -> Iterator[None]:
    """A block in which switches may be set one by one."""
    global _frozen
    before, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = before


def frozen() -> bool:
    """Whether switches may not be set one by one."""
    return _frozen


class _Freezing(ModuleType):
    """A module whose switches obey ``freeze``."""

    def __setattr__(self, name: str, value: object) -> None:
        if _frozen and name in self._SWITCHES:
            of = "torch" + self.__name__[self.__name__.index(".") :]
            words = (
                f"not allowed to set {of} flags after disable_global_flags; please use flags() "
                "context manager instead"
            )
            raise RuntimeError(words)
        super().__setattr__(name, value)


def freezing(name: str, *names: str) -> frozenset[str]:
    """Has a module's ``names`` obey ``freeze``; they are to be kept as its ``_SWITCHES``."""
    sys.modules[name].__class__ = _Freezing
    return frozenset(names)


@contextlib.contextmanager
def flags(module: dict[str, object], values: dict[str, object]) -> Iterator[None]:
    """Sets globals of a module, where the value is not None, and restores them."""
    before = {k: module[k] for k in values}
    module.update({k: v for k, v in values.items() if v is not None})
    try:
        yield
    finally:
        module.update(before)


def never() -> bool:
    """Whether operations run on this library: no."""
    return False


class verbose:
    """A block without effect."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def switches(
    module: Named, **defaults: object
) -> tuple[Callable[..., object], Callable[..., object]]:
    """``flags`` and ``set_flags`` of a module: a block in which its switches are as given, by
    default ``defaults``; and a function that sets those that are given, and returns what all
    were."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    block = inspect.Signature(
        [inspect.Parameter(name, kind, default=value) for name, value in defaults.items()]
    )
    setting = inspect.Signature(
        [inspect.Parameter(f"_{name}", kind, default=None) for name in defaults]
    )

    def in_block(*args: object, **kwargs: object) -> Any:
        """A block in which the switches are set."""
        given = block.bind(*args, **kwargs)
        given.apply_defaults()
        return flags(module, given.arguments)

    def set_flags(*args: object, **kwargs: object) -> tuple[Any, ...]:
        """Sets the switches that are given, and gives what all were."""
        before = tuple([module[name] for name in defaults])
        given = setting.bind(*args, **kwargs).arguments
        module.update({name[1:]: value for name, value in given.items() if value is not None})
        return before

    for made, name, signature in ((in_block, "flags", block), (set_flags, "set_flags", setting)):
        made.__name__ = made.__qualname__ = name
        made.__module__ = module["__name__"]
        made.__signature__ = signature
    return in_block, set_flags
