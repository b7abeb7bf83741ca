"""Whether an export is under way, as ``torch.onnx.is_in_onnx_export`` tells."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_exporting: contextvars.ContextVar[bool] = contextvars.ContextVar("exporting", default=False)


def is_exporting() -> bool:
    """Whether this thread exports a model."""
    return _exporting.get()


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """A block that exports a model."""
    token = _exporting.set(True)
    try:
        yield
    finally:
        _exporting.reset(token)
