"""Blocks in which switches of a module are set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def flags(module: dict[str, Any], values: dict[str, Any]) -> Iterator[None]:
    """Sets globals of a module, where the value is not None, and restores them."""
    before = {k: module[k] for k in values}
    module.update({k: v for k, v in values.items() if v is not None})
    try:
        yield
    finally:
        module.update(before)
