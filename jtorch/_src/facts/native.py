"""The optional extension ``_jtorch_native``, written in C (``_src/native/``): for what NumPy and
XLA have no quick way. Floor 0.

It is built when the package is installed, where there is a compiler, and lies beside the package,
so that a checkout finds the one that was installed. All results are the same without it, to the
bit.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

#: Of the extension: what this package counts on.
_VERSION = 3


@functools.cache
def extension() -> Any:
    """The module; None where it was not built, or for another version of Python, NumPy or this
    package, or with ``JTORCH_NATIVE=0``."""
    if os.environ.get("JTORCH_NATIVE", "1") == "0":
        return None
    try:
        found = importlib.import_module("_jtorch_native")
    except (ImportError, RuntimeError):
        return None
    return found if getattr(found, "VERSION", 0) == _VERSION else None
