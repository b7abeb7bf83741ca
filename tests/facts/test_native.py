"""The package does without its extension in C."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from jtorch._src.facts import native


def test_it_can_be_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    find, own = native.extension.__wrapped__, native._VERSION
    module: Any = types.ModuleType("_jtorch_native")
    monkeypatch.delenv("JTORCH_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "_jtorch_native", module)
    assert find() is None
    module.VERSION = own + 1
    assert find() is None  # of another version of the package
    module.VERSION = own
    assert find() is module
    monkeypatch.setenv("JTORCH_NATIVE", "0")
    assert find() is None
    monkeypatch.delenv("JTORCH_NATIVE")
    monkeypatch.setitem(sys.modules, "_jtorch_native", None)  # cannot be imported
    assert find() is None
