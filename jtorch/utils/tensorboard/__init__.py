"""Logs for TensorBoard, written with the package ``tensorboard``, which must be installed."""

from __future__ import annotations

# ModuleNotFoundError without it, as torch raises
import tensorboard as _tensorboard  # pyright: ignore[reportMissingImports]

from .writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter

if not hasattr(_tensorboard, "__version__"):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

__all__ = ["FileWriter", "SummaryWriter"]
