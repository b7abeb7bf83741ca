"""What do chains of pointwise operations cost, run as one program and one by one?"""

from __future__ import annotations

from . import _asv
from .programs import chains


class Chains(_asv.ContestBenchmark):
    contests = chains.CONTESTS
