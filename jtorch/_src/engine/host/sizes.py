"""Sizes that depend on others, in recipes that serve many sizes: as texts, and what they are where the others are known."""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax


class Size(int):
    """A size that depends on others: as text, in which these have names. As a number it is 0."""

    text: str

    def __eq__(self, other: object) -> bool:
        return type(other) is Size and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def of(self, at: dict[str, Any]) -> Any:
        """What it is where the others are given by name."""
        return value_of(self.text, at)


#: What JAX writes symbolic sizes with.
_FUNCTIONS: dict[str, Any] = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min, "__builtins__": {}}


@functools.cache
def _formula(text: str) -> Any:
    return compile(text.replace("^", "**").strip(), "size", "eval")


def value_of(text: str, at: dict[str, Any]) -> Any:
    """What a size as text is where those in it are given by name."""
    found = at.get(text)
    return eval(_formula(text), _FUNCTIONS, at) if found is None else found


def named(text: str) -> Size:
    """The size of a text."""
    size = Size(0)
    size.text = text
    return size


def sized(n: Any) -> Any:
    """A symbolic size as one of a recipe; anything else as it is."""
    return n if type(n) is int or not jax.export.is_symbolic_dim(n) else named(str(n))
