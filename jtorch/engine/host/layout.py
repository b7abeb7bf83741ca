"""Shapes: reshapes, broadcasts, transpositions, slices, padding, joins."""

from __future__ import annotations
