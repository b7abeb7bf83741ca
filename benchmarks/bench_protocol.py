"""What does the override protocol cost, by itself? Empty kernels over plain, duck, mixed and many operands."""

from __future__ import annotations

from ._asv import ContestBenchmark
from .programs import protocol


class Protocol(ContestBenchmark):
    contests = protocol.CONTESTS
