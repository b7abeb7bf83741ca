"""Classes with some arguments already given, as configurations hold them."""

from __future__ import annotations

import functools
from typing import Any


class _PartialWrapper:
    """A class, or one of these, with arguments to be given when it is called."""

    __module__ = "jtorch.ao.quantization.observer"  # where files of whole models name it

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        for name, make in self.callable_args.items():
            if name not in keywords:
                keywords[name] = make()
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with more arguments given."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with arguments that are made when it is called."""
        found = _PartialWrapper(self.p)
        found.callable_args = {**self.callable_args, **kwargs}
        return found


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(cls_or_self).with_callable_args(**kwargs)
