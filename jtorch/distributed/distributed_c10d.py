"""The module where torch keeps groups and collectives; programs import from it."""

from __future__ import annotations

from .collectives import *
from .group import *
from .group import _from_environment as _from_environment
