"""Loggers of programs that PyTorch's launcher starts."""

from __future__ import annotations

import inspect
import logging
import os

from .log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger that writes to standard error at the level that ``LOGLEVEL`` says.

    Args:
        name: its name; by default that of the module that calls.
    """
    if name is None:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        name = "__main__" if caller is None else caller.f_globals.get("__name__", "__main__")
    found = logging.getLogger(name)
    found.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return found
