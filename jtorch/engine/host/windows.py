"""Reductions over windows, and what their gradients scatter back."""

from __future__ import annotations
