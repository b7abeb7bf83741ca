"""What does recording cost programs that defeat it?"""

from __future__ import annotations

from . import _asv
from .programs import hostile


class Hostile(_asv.ContestBenchmark):
    contests = hostile.CONTESTS
