"""``torch._C._profiler``: what programs choose of PyTorch's library for profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..autograd.profiler import _shape
from ..autograd.profiler import record_function as _record_function

__all__ = ["_ExperimentalConfig", "_RecordFunctionFast"]


class _RecordFunctionFast(_record_function):
    """A block that shows under ``name`` in what ``profile`` measures, with the shapes of operands
    and whatever else is to be told of it (``kwinputs``).

    Raises:
        RuntimeError: for a name that is no text.
    """

    def __init__(
        self,
        name: str,
        input_values: Sequence[Any] | None = None,
        keyword_values: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise RuntimeError("The name passed to RecordFunctionFast must be a string")
        super().__init__(name)
        self._operands = tuple(input_values or ())
        self._named = dict(keyword_values or {})

    def __enter__(self) -> _RecordFunctionFast:
        super().__enter__()
        if self._event is not None:
            recorder, event = self._event
            event.kwinputs = self._named
            if recorder.shapes:
                event.input_shapes = [_shape(x) for x in self._operands]
        return self


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
