"""What is not told where ``import torch`` means jtorch, because programs written for PyTorch go by
its not being told there.

Signatures: PyTorch's functions in C++ have none.

Libraries ask ``inspect.signature`` of whatever function they are given, and take another way when
it refuses: they pass all arguments, or try which of them are taken. So where ``import torch`` means
jtorch those functions refuse here as well. Under jtorch's own name they answer, as ``help`` and
editors show what they say. Nothing here is on the way of a call. Likewise NumPy is not told which
of its dtypes one of torch's is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ... import dispatch
from ..facts import dtypes

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Functions that PyTorch writes in Python and that do not ask themselves: the functions in C++ that
#: they call do.
SIMPLE_WRAPPERS = frozenset(
    f"torch.nn.functional.{name}" for name in ("scaled_grouped_mm", "sigmoid", "tanh")
)


class Withheld(functools.partialmethod[Any]):
    """Stands where ``inspect`` looks for a function's signature, and refuses.

    From 3.13 on Python calls what it finds as ``__signature__``. Before, that is None, and Python
    goes on to what the function was made of: a ``partialmethod``, whose function it asks for.
    """

    def __init__(self, function: Any, signature: inspect.Signature) -> None:
        self.function, self.signature = function, signature

    def __call__(self) -> NoReturn:
        raise ValueError(f"no signature found for builtin {self.function}")

    @property
    def func(self) -> Function:
        """What the function was made of."""
        return self.__call__()

    __repr__ = object.__repr__


#: Where it stands.
_PLACE = "__signature__" if sys.version_info >= (3, 13) else "_partialmethod"


def withhold() -> None:
    """Lets the public functions that PyTorch has in C++, and those that are made later, refuse to
    tell their signatures, and dtypes to tell which of NumPy's they are."""
    dispatch.tells_signatures = dtypes.tells_numpy = False
    for entry in dispatch.PUBLIC.values():
        if entry.native and entry.path not in SIMPLE_WRAPPERS:
            withhold_signature(entry.function)


def withhold_signature(function: Any) -> None:
    """Lets a function refuse to tell its signature from now on; ``known_signature`` still knows
    it."""
    own = getattr(function, "__dict__", {}).get("__signature__")
    if type(own) is inspect.Signature:
        function.__signature__ = None
        setattr(function, _PLACE, Withheld(function, own))


def known_signature(function: Callable[..., object]) -> inspect.Signature:
    """``inspect.signature``, which here knows those that are withheld as well."""
    told = getattr(function, _PLACE, None)
    return told.signature if type(told) is Withheld else inspect.signature(function)


def give_signature(function: Callable[..., object], signature: inspect.Signature) -> None:
    """Replaces a function's signature, told or withheld."""
    told = getattr(function, _PLACE, None)
    if type(told) is Withheld:
        told.signature = signature
    else:
        function.__signature__ = signature
