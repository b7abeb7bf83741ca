"""``TorchVersion``: the version as a text that compares as versions do."""

from __future__ import annotations

import functools
from typing import Any

from .version import __version__ as internal_version

#: The ranks of what may follow a release: pre-releases come before it, and later ones after.
_STAGES = {
    "dev": -4,
    "a": -3,
    "alpha": -3,
    "b": -2,
    "beta": -2,
    "rc": -1,
    "c": -1,
    "pre": -1,
    "preview": -1,
    "post": 1,
    "rev": 1,
    "r": 1,
}


@functools.cache
def _key(text: str) -> tuple[object, ...] | None:
    """What versions are compared by, or None for a text that is none."""
    import re

    match = re.fullmatch(
        r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)((?:[-_.]?(?:dev|alpha|a|beta|b|preview|pre|rc|c|post|rev|r)[-_.]?\d*|-\d+)*)"
        r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
        text.lower(),
    )
    if match is None:
        return None
    epoch, release, suffix, local = match.groups()
    numbers = [int(n) for n in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    found = re.findall(r"[-_.]?([a-z]*)[-_.]?(\d*)", suffix)
    stages = tuple([(_STAGES[name] if name else 1, int(n or 0)) for name, n in found if name or n])
    parts = (
        ()
        if local is None
        else tuple(
            [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in re.split(r"[-_.]", local)]
        )
    )
    return int(epoch or 0), tuple(numbers), (*stages, (0, 0)), parts


class TorchVersion(str):
    """A version: a text, which compares as a version with texts and with sequences of numbers.

    What is no version compares as a text.

    Example:
        >>> from jtorch.torch_version import TorchVersion
        >>> (
        ...     TorchVersion("1.10.0") > "1.9",
        ...     TorchVersion("1.10.0") >= (1, 10),
        ...     TorchVersion("1.10.0a") < (1, 10, 0),
        ... )
        (True, True, True)
    """

    __slots__ = ()

    def _compare(self, other: object, name: str) -> object:
        if isinstance(other, (tuple, list)):
            other = ".".join(map(str, other))
        elif not isinstance(other, str):
            return NotImplemented
        mine, its = _key(str(self)), _key(str(other))
        if mine is None or its is None:
            return getattr(str, name)(self, other)
        return getattr(tuple, name)(mine, its)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "__ne__")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")

    __hash__ = str.__hash__


__version__ = TorchVersion(internal_version)
