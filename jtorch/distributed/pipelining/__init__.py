"""Models whose parts, the stages, run in processes of their own, with a batch going through them in
microbatches."""

from __future__ import annotations

import enum

from ..._src.refusals import stand_ins as _refusals
from .schedules import Schedule1F1B as Schedule1F1B
from .schedules import ScheduleDualPipeV as ScheduleDualPipeV
from .schedules import ScheduleGPipe as ScheduleGPipe
from .schedules import ScheduleInterleaved1F1B as ScheduleInterleaved1F1B
from .schedules import ScheduleInterleavedZeroBubble as ScheduleInterleavedZeroBubble
from .schedules import ScheduleLoopedBFS as ScheduleLoopedBFS
from .schedules import ScheduleZBVZeroBubble as ScheduleZBVZeroBubble
from .schedules import _ScheduleForwardOnly as _ScheduleForwardOnly
from .stage import PipelineStage as PipelineStage


class SplitPoint(enum.Enum):
    """Where a model is cut."""

    BEGINNING = 1
    END = 2


__getattr__ = _refusals.missing(__name__)
