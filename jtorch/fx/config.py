"""Settings."""

from __future__ import annotations

#: PyTorch's progress bars of passes; there are none here.
disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
