"""What does recording cost programs that defeat it?"""

from __future__ import annotations

from ._asv import ContestBenchmark
from .programs import hostile


class Hostile(ContestBenchmark):
    contests = hostile.CONTESTS
