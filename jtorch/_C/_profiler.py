"""``torch._C._profiler``: what programs choose of PyTorch's library for profiles."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["_ExperimentalConfig"]


class _ExperimentalConfig:
    """Choices of how PyTorch's library measures, which ``torch.profiler.profile`` takes; they are
    without effect here.

    Args:
        profiler_metrics, profiler_measure_per_kernel, performance_events, enable_cuda_sync_events:
            what of a GPU is measured.
        verbose, adjust_profiler_step, disable_external_correlation, profile_all_threads,
            capture_overload_names, record_python_gc_info, expose_kineto_event_metadata,
            adjust_timestamps: what events tell.
        custom_profiler_config: text for a library of one's own; it can be read and written, as
            ``trace_only`` can.
        trace_only: whether no events are made beside the trace.
    """

    def __init__(
        self,
        profiler_metrics: Sequence[str] = (),
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: Sequence[str] = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        self.custom_profiler_config = custom_profiler_config
        self.trace_only = trace_only
