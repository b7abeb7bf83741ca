"""Arrays on meshes: inside ``jax.shard_map`` their types say over which axes they differ, with
explicit axes how they are cut."""

from __future__ import annotations

from collections.abc import Sequence

import jax


def axes_of(values: Sequence[object]) -> frozenset[str]:
    """The axes of a mesh over which some of the values differ, inside ``jax.shard_map``."""
    return axes_of_types([jax.typeof(x) for x in values if isinstance(x, jax.core.Tracer)])


def axes_of_types(types: Sequence[jax.core.ShapedArray]) -> frozenset[str]:
    """The axes over which values of some of the types differ."""
    return frozenset().union(*[t.manual_axis_type.varying for t in types])


def on_mesh(values: Sequence[object]) -> bool:
    """Whether a transformation of JAX tells of some of the values how they lie on a mesh, as it
    must know of all that comes from them."""
    return any(
        isinstance(x, jax.core.Tracer) and not jax.typeof(x).sharding.mesh.empty for x in values
    )


def in_mesh() -> bool:
    """Whether this is inside ``jax.shard_map``."""
    return bool(jax.sharding.get_abstract_mesh().manual_axes)


def varying(x: jax.Array, axes: frozenset[str]) -> jax.Array:
    """The same array as one that differs over all of these axes."""
    missing = axes.difference(jax.typeof(x).manual_axis_type.varying) if axes else axes
    return jax.lax.pcast(x, tuple(sorted(missing)), to="varying") if missing else x


def varying_alike(tree: tuple[jax.Array, ...], others: object) -> tuple[jax.Array, ...]:
    """What a loop carries, as arrays that differ wherever they or ``others`` do: so do those that
    come out of a round."""
    axes = axes_of(jax.tree.leaves((tree, others)))
    return jax.tree.map(lambda x: varying(x, axes), tree) if axes else tree
