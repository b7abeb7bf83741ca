"""What the pipes share."""

from __future__ import annotations
