"""XNNPACK, which XLA does not use as torch does."""

from __future__ import annotations

enabled = False
