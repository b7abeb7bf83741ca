"""Products of matrices and convolutions."""

from __future__ import annotations
