"""The settings of ``F.linear_cross_entropy``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import jtorch as torch

__all__ = ["LinearCrossEntropyOptions"]
