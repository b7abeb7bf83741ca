"""Gathers, scatters and slices at places that values give."""

from __future__ import annotations
