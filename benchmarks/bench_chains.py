"""What do chains of pointwise operations cost, run as one program and one by one?"""

from __future__ import annotations

from ._asv import ContestBenchmark
from .programs import chains


class Chains(ContestBenchmark):
    contests = chains.CONTESTS
