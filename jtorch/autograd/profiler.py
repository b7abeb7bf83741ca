"""Names of ``torch.autograd.profiler``: labels go to JAX's profiler, blocks of ``profile`` measure time only."""

from __future__ import annotations

import functools
import time
from typing import Any

import jax

from .. import _refusals

__all__ = ["emit_nvtx", "profile", "record_function"]


class record_function:
    """A block (or decorated function) that shows under ``name`` in traces of JAX's profiler."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._annotation: Any = None

    def __enter__(self) -> record_function:
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._annotation.__exit__(*exc)

    def __call__(self, func: Any) -> Any:
        """Decorator: ``func`` runs in such a block."""
        """Decorates: each call is a block."""

        @functools.wraps(func)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return labelled


class profile:
    """A block whose wall time is measured, in ``self_cpu_time_total`` (microseconds).

    Single operations have no times of their own: they are fused into programs. Use ``jax.profiler.trace`` to look into these.
    """

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        self.enabled, self.options = enabled, options
        self.self_cpu_time_total = 0.0
        self._start = 0.0

    def __enter__(self) -> profile:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc: object) -> None:
        from ..engine import flush

        flush()
        self.self_cpu_time_total = (time.perf_counter() - self._start) * 1e6

    def key_averages(self, *args: Any, **kwargs: Any) -> Any:
        """Not offered."""
        raise _not_per_op("profile.key_averages")

    def export_chrome_trace(self, path: str) -> None:
        """Not offered."""
        raise _not_per_op("profile.export_chrome_trace")

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Not offered."""
        raise _not_per_op("profile.table")


def _not_per_op(name: str) -> NotImplementedError:
    from ..errors import not_offered

    return not_offered(name, "operations are fused, so that single ones have no times; use jax.profiler.trace")


class emit_nvtx:
    """Not offered: a block of it raises."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise _not_per_op("emit_nvtx")
        return self

    def __exit__(self, *exc: object) -> None:
        pass


__getattr__ = _refusals.missing(__name__)
