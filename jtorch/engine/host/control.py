"""Branches, loops and scans."""

from __future__ import annotations
