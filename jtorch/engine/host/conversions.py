"""Between dtypes: casts, bits, precision."""

from __future__ import annotations
