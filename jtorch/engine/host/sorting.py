"""Sorts and largest elements."""

from __future__ import annotations
