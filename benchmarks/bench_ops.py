"""What does one public call cost: recorded, and run at once?"""

from __future__ import annotations

from . import _asv
from .programs import ops


class Ops(_asv.ContestBenchmark):
    contests = ops.CONTESTS
