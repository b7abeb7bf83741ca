"""Blocks around what PyTorch's compiler would keep."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import jtorch as torch

from .._src.refusals import stand_ins as _refusals

#: PyTorch's names of devices with processors for graphics, that its compiler has a backend for.
GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]


def get_gpu_type() -> str:
    """The name among ``GPU_TYPES`` whose devices are available; ``"cuda"`` if there are none."""
    return next((k for k in GPU_TYPES if getattr(torch, k).is_available()), GPU_TYPES[0])


@contextlib.contextmanager
def fresh_cache(
    cache_entries: dict[str, Any] | None = None,
    dir: str | None = None,
    delete: bool = True,
) -> Iterator[None]:
    """A block that begins and ends with ``torch.compiler.reset()``, and in which
    ``TORCHINDUCTOR_CACHE_DIR`` names an empty folder.

    ``cache_entries`` stays as it is: no files are made there. What jtorch keeps between runs has a
    folder of its own (``JTORCH_CACHE_DIR``), which this does not touch.
    """
    del cache_entries
    name = "TORCHINDUCTOR_CACHE_DIR"
    before = os.environ.get(name)
    torch.compiler.reset()
    with contextlib.ExitStack() as stack:
        folder = (
            stack.enter_context(tempfile.TemporaryDirectory(dir=dir))
            if delete
            else tempfile.mkdtemp(dir=dir)
        )
        os.environ[name] = folder
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
            torch.compiler.reset()


fresh_inductor_cache = fresh_cache
__getattr__ = _refusals.missing(__name__)
