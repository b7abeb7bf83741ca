"""Pools of processes: Python's own, which pickle with the reductions of this package."""

from __future__ import annotations

from multiprocessing.pool import Pool as Pool
