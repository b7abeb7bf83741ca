"""Over axes: sums, products, extremes, their positions, running ones."""

from __future__ import annotations
