"""Counter-based random bits."""

from __future__ import annotations
