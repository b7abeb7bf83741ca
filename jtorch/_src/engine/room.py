"""Keeps the number of loaded programs below what the operating system can map. Floor 1.

Each program that XLA loads on CPU takes 20 to 70 memory mappings, and Linux ends a process with a
segmentation fault when a library needs one more than ``vm.max_map_count`` (65,530 by default). A
long process that meets ever new shapes would get there after some thousand programs, so the least
recently used ones are unloaded in time; they are compiled again, or read from the persistent cache,
if they come back.
"""

from __future__ import annotations

import gc
from typing import Any

from . import programs

#: New programs between two looks at the mappings, and the share of the limit from which on programs
#: are unloaded.
EVERY, SHARE = 64, 0.5
_made = 0


def _limit() -> int | None:
    try:
        with open("/proc/sys/vm/max_map_count") as file:
            return int(file.read())
    except (OSError, ValueError):  # no Linux: the limit, if there is one, is another
        return None


LIMIT = _limit()


def mappings() -> int:
    """How many memory mappings the process has."""
    with open("/proc/self/maps", "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def one_more() -> None:
    """Counts a program that is about to be made; every so often, unloads others if there are too
    many."""
    global _made
    _made += 1
    if _made % EVERY == 0 and LIMIT is not None and mappings() > SHARE * LIMIT:
        unload()


def unload() -> None:
    """Drops the less recently used half of the compiled traces, and the programs of single ops if
    there are still too many."""
    from . import calls, trie

    found: list[Any] = []
    stack = [trie.ROOT]
    while stack:
        node = stack.pop()
        stack.extend(node.next.values())
        if node.plans:
            found.append((max(plan.used for plan in node.plans.values()), len(found), node))
    found.sort(key=lambda item: item[:2])
    for _, _, node in found[: (len(found) + 1) // 2]:
        node.plans = None
    found.clear()
    programs.forget_pruned()
    gc.collect()
    if LIMIT is not None and mappings() > SHARE * LIMIT:
        for call in calls.all_calls():
            call.warm.clear()
            for avals, shapes in list(call.shapes.items()):
                if not shapes.on_host:
                    calls.begin(call, avals, shapes)
            call.unload()
        gc.collect()
