"""The module where torch keeps groups and collectives; programs import from it."""

from __future__ import annotations

from typing import Any

from .. import _refusals
from .collectives import *
from .collectives import _object_to_tensor as _object_to_tensor
from .collectives import _tensor_to_object as _tensor_to_object
from .constants import default_pg_nccl_timeout as default_pg_nccl_timeout
from .constants import default_pg_timeout as default_pg_timeout
from .group import *
from .group import GroupMember
from .group import _from_environment as _from_environment
from .group import _get_default_group as _get_default_group
from .group import _rank_not_in_group as _rank_not_in_group


class _World:
    """What is known of the groups: the default one."""

    @property
    def default_pg(self) -> Any:
        """The default group, or None."""
        return GroupMember.WORLD

    _default_pg = default_pg

    @property
    def pg_map(self) -> dict[Any, Any]:
        """Group -> its backend and store."""
        found = GroupMember.WORLD
        return {} if found is None else {found: (found.backend, found.store)}

    @property
    def pg_names(self) -> dict[Any, str]:
        """Group -> its name."""
        found = GroupMember.WORLD
        return {} if found is None else {found: "0"}

    @property
    def pg_group_ranks(self) -> dict[Any, dict[int, int]]:
        """Group -> rank in it by rank in the default group."""
        found = GroupMember.WORLD
        return {} if found is None else {found: {0: 0}}

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return 0 if GroupMember.WORLD is None else 1


_world = _World()
_listed = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    if name in ("_pg_map", "_pg_names", "_pg_group_ranks"):
        return getattr(_world, name[1:])
    return _listed(name)
