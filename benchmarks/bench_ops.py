"""What does one public call cost: recorded, and run at once?"""

from __future__ import annotations

from ._asv import ContestBenchmark
from .programs import ops


class Ops(ContestBenchmark):
    contests = ops.CONTESTS
