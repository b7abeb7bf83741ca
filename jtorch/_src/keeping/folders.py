"""Which folders keep what between processes, and how many bytes each may hold (``docs/caches.md``).
Floor 0."""

from __future__ import annotations

import functools
import os
import re
import warnings
from pathlib import Path

from jtorch._src.keeping import files as _kept_files

#: Folder -> what is in it, and its share of the whole limit, in sixteenths.
PARTS = {
    "code": ("byte code of generated functions", 1),
    "programs": ("compiled programs, and facts about them", 8),
    "jax": ("JAX's own compilation cache", 7),
}
#: Bytes that all of them may hold together, if ``JTORCH_CACHE_LIMIT`` says nothing else.
LIMIT = 2 << 30
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@functools.cache
def limit() -> int:
    """Bytes that all folders may hold together: ``JTORCH_CACHE_LIMIT``, a number that K, M, G or T
    (1024 times each other) may follow."""
    given = os.environ.get("JTORCH_CACHE_LIMIT", "")
    if not given:
        return LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:I?B)?", given.strip().upper())
    if found is None:
        warnings.warn(
            f"JTORCH_CACHE_LIMIT ({given!r}) is not a number of bytes such as 500M or 2G: "
            f"{LIMIT >> 30}G are taken.",
            stacklevel=2,
        )
        return LIMIT
    return int(float(found[1]) * _SIZES[found[2]])


def root() -> Path | None:
    """Where they lie: ``JTORCH_CACHE_DIR``, or ``jtorch`` in the user's cache; None if nothing is
    to be kept, or there is no home."""
    if os.environ.get("JTORCH_CACHE", "1") == "0" or limit() == 0:
        return None
    own = os.environ.get("JTORCH_CACHE_DIR")
    if own:
        try:
            return Path(os.path.abspath(own))
        except OSError:  # the current folder is gone
            return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # as XDG's rules have it
        home = os.path.expanduser("~") if os.environ.get("HOME", "~") else ""
        # none is made for a user who has none
        if not os.path.isabs(home) or not os.path.isdir(home):
            return None
        base = os.path.join(home, ".cache")
    return Path(base) / "jtorch"


def most(part: str) -> int:
    """Bytes that one of the folders may hold."""
    return limit() * PARTS[part][1] // 16


def store(part: str, header: bytes) -> _kept_files.Store | None:
    """One of the folders; None if nothing is kept."""
    found = root()
    return None if found is None else _kept_files.Store(found / part, header, most(part))
