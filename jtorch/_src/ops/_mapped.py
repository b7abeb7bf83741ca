"""Arrays inside ``jax.shard_map``, whose types say over which axes of the mesh they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax


def axes_of(values: Sequence[Any]) -> frozenset[str]:
    """The axes of a mesh over which some of the values differ, inside ``jax.shard_map``."""
    return frozenset().union(*[jax.typeof(x).manual_axis_type.varying for x in values if isinstance(x, jax.core.Tracer)])


def varying(x: Any, axes: frozenset[str]) -> Any:
    """The same array as one that differs over all of these axes."""
    missing = axes.difference(jax.typeof(x).manual_axis_type.varying) if axes else axes
    return jax.lax.pcast(x, tuple(sorted(missing)), to="varying") if missing else x


def varying_alike(tree: Any, others: Any) -> Any:
    """What a loop carries, as arrays that differ wherever they or ``others`` do: so do those that come out of a round."""
    axes = axes_of(jax.tree.leaves((tree, others)))
    return jax.tree.map(lambda x: varying(x, axes), tree) if axes else tree
