"""What a kernel gives that states checks on values. Floor 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from ..facts.kinds import Row, Tree


@jax.tree_util.register_pytree_node_class
class Guarded:
    """A kernel's result with the checks on values that it stated.

    ``flags`` is an ``int64[n, 2]`` array: whether check i failed, and the offending value;
    ``checks`` holds each one's exception type, message and span (see ``checks.py``).
    """

    __slots__ = ("outs", "flags", "checks")

    def __init__(self, outs: Tree, flags: Any, checks: Row) -> None:
        self.outs, self.flags, self.checks = outs, flags, checks

    def tree_flatten(self) -> tuple[tuple[Any, Any], Any]:
        """The arrays and the checks, for JAX."""
        return (self.outs, self.flags), self.checks

    @classmethod
    def tree_unflatten(cls, checks: tuple[object, ...], children: tuple[object, object]) -> Guarded:
        """The reverse of ``tree_flatten``."""
        return cls(*children, checks)
