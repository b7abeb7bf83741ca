"""Parts of ``DataLoader``: collating, fetching, and worker processes."""

from __future__ import annotations

import atexit

from jtorch._src.refusals import stand_ins as _refusals

from . import collate as collate
from . import signal_handling as signal_handling

#: Whether NumPy is there: always, since it runs the first kernels.
HAS_NUMPY = True

#: Whether Python is ending, so that iterators which are freed now leave their workers alone.
python_exit_status = False

#: Seconds between two looks at whether workers are alive.
MP_STATUS_CHECK_INTERVAL = 5.0


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

__getattr__ = _refusals.missing(__name__)
