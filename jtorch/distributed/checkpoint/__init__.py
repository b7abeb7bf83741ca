"""Saving and loading of states that are spread over processes: files are not offered, collecting states of one process is."""

from __future__ import annotations

from ... import _refusals

__getattr__ = _refusals.missing(__name__)
