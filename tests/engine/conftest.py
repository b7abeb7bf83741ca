"""The engine's own tests are about traces that become programs."""

from __future__ import annotations

import pytest

from jtorch._src.engine import flush, tiers, trie


@pytest.fixture(autouse=True)
def compiles_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every trace compiled that runs for the second time, as if compiling cost nothing."""
    for name in ("TRACE", "TRACE_OP", "LAUNCH_TRACE", "KERNEL", "EQUATION", "ARRAY", "APART"):
        monkeypatch.setattr(tiers, name, 0.0)
    flush()
    # other tests may have met the same traces, and judged them by what compiling really costs
    trie.clear()
