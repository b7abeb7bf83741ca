"""``torch.utils.benchmark``: how long statements take, measured with care, and tables of
results."""

from __future__ import annotations

from ..._src.refusals import stand_ins as _refusals
from .measurement import Measurement as Measurement
from .measurement import TaskSpec as TaskSpec
from .measurement import ordered_unique as ordered_unique
from .measurement import select_unit as select_unit
from .measurement import trim_sigfig as trim_sigfig
from .measurement import unit_to_english as unit_to_english
from .table import Colorize as Colorize
from .table import Compare as Compare
from .timer import Language as Language
from .timer import Timer as Timer
from .timer import set_torch_threads as set_torch_threads
from .timer import timer as timer

__getattr__ = _refusals.missing(__name__)
