"""Importing this declares every op: the modules of ``ops/`` do so as they are imported."""

from __future__ import annotations

import importlib
import pkgutil

from .. import ops

for _info in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"{ops.__name__}.{_info.name}")
