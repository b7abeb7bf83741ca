"""Parts of ``DataLoader``: collating, fetching, and worker processes."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from . import collate as collate

#: Seconds between two looks at whether workers are alive.
MP_STATUS_CHECK_INTERVAL = 5.0

__getattr__ = _refusals.missing(__name__)
