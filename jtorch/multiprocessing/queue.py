"""Queues of processes: Python's own, which pickle with the reductions of this package."""

from __future__ import annotations

from multiprocessing.queues import JoinableQueue as JoinableQueue
from multiprocessing.queues import Queue as Queue
from multiprocessing.queues import SimpleQueue as SimpleQueue
