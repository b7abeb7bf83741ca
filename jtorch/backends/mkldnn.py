"""oneDNN, which XLA does not use as torch does: its switches are remembered only."""

from __future__ import annotations

from ._flags import freezing, switches, verbose
from ._flags import never as is_available

__all__ = ["flags", "is_available", "set_flags", "verbose"]

enabled = False
deterministic = False
allow_tf32 = False
fp32_precision = "none"
_SWITCHES = freezing(__name__, "enabled", "deterministic", "allow_tf32", "fp32_precision")
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

flags, set_flags = switches(
    globals(), enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"
)
