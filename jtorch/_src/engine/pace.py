"""Keeps few programs over several devices of a CPU on their way at once: XLA would stop for ever
with many.

Devices of a CPU (``--xla_force_host_platform_device_count``) share a pool of as many threads as
there are devices. A device takes 32 programs at once, and where a 33rd is launched, a thread of the
pool waits for one of them to end. Where these wait for a collective, which is still short of a
thread, nothing goes on; after a minute XLA ends the process. ``jax.jit`` alone is caught by it,
too: 3,000 small programs in a row, one in three with a sum over all devices, did so in 16 of 16
processes. Waiting now and then costs nothing beside what such programs take.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import jax

from .values import Several

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Programs from one wait to the next: half of what a device takes, since others than this package
#: may launch some.
AT_ONCE = 16
_launched = itertools.count(1)


def is_bounded(place: object) -> bool:
    """Whether programs on ``place`` are to be counted."""
    return type(place) is Several and place.platform == "cpu"


def one_more(results: object) -> None:
    """Counts a program that was launched; at every 16th waits for what it gives, and so for all
    that it needs."""
    if next(_launched) % AT_ONCE == 0:
        jax.block_until_ready(results)


class Paced:
    """A program over several devices of a CPU that counts its runs."""

    __slots__ = ("run",)

    def __init__(self, run: Function) -> None:
        self.run = run

    def __call__(self, *args: object) -> Any:
        """Runs the program."""
        results = self.run(*args)
        one_more(results)
        return results
