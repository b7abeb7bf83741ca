"""What a wrapper type does with each overridable function: four sets that together are the whole
list.

``unchanged``: the type's general rule; ``special``: a handler of its own; ``delegates``: handed to
another representation, or answered by the data inside; ``refused``: an error, with the reason given
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Signature
from types import MappingProxyType
from typing import Any

import jtorch as torch

from .._src.protocol.withheld import known_signature

Coverage = dict[str, Any]


def overridable_functions() -> set[Any]:
    """Every function that a handler can be asked about: those of the namespaces, Tensor's methods,
    its properties' getters."""
    return {
        f for functions in torch.overrides.get_overridable_functions().values() for f in functions
    }


def signature(func: Callable[..., object]) -> Signature:
    """The signature of a function that a handler is asked about, also where ``inspect`` is not told
    it, as with PyTorch's functions in C++.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.wrappers import coverage
        >>> list(coverage.signature(torch.cumsum).parameters)
        ['input', 'dim', 'dtype', 'out']
    """
    return known_signature(func)


def named(names: str | Iterable[str]) -> set[Any]:
    """The overridable functions of these names, whichever namespace they are in: ``"sum"`` is a
    function and a method.

    Names with a dot are taken from that namespace only: ``"linalg.norm"``. A method that asks
    although torch does not list it, such as ``stride``, is found too.

    Raises:
        LookupError: for a name that nothing has.
    """
    by_name = {}
    for key, functions in torch.overrides.get_overridable_functions().items():
        if isinstance(key, property):
            by_name.setdefault(key.__name__, set()).update(functions)
            continue
        owner = "Tensor" if isinstance(key, type) else key.__name__.partition(".")[2]
        listed = set(functions)
        for attribute in dir(key):
            f = getattr(key, attribute, None)
            if (
                getattr(f, "__hash__", None) is not None
                and type(f) is not MappingProxyType
                and f in listed
            ):
                by_name.setdefault(attribute, set()).add(f)
                by_name.setdefault(f"{owner}.{attribute}", set()).add(f)
    found: set[Any] = set()
    for name in names.split() if isinstance(names, str) else names:
        if name not in by_name and callable(method := getattr(torch.Tensor, name, None)):
            by_name[name] = {method}
        if name not in by_name:
            raise LookupError(f"no overridable function is called {name!r}")
        found |= by_name[name]
    return found


def cover(
    special: Iterable[object],
    delegates: Iterable[object],
    refused: Mapping[object, str],
    rest: str = "unchanged",
    why: str = "",
) -> Coverage:
    """The four sets; functions in none of those given belong to ``rest`` (for ``"refused"``, with
    the reason ``why``)."""
    every = overridable_functions()
    sets: Coverage = {
        "unchanged": set(),
        "special": set(special) & every,
        "delegates": set(delegates) & every,
        "refused": {f: reason for f, reason in refused.items() if f in every},
    }
    left = every - sets["special"] - sets["delegates"] - sets["refused"].keys()
    if rest == "refused":
        sets["refused"].update(dict.fromkeys(left, why))
    else:
        sets[rest] |= left
    return sets
