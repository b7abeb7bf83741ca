"""What does the override protocol cost, by itself? Empty kernels over plain, duck, mixed and many
operands."""

from __future__ import annotations

from . import _asv
from .programs import protocol


class Protocol(_asv.ContestBenchmark):
    contests = protocol.CONTESTS
