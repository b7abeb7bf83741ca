"""Settings of the whole suite: nothing may lean on JAX's own promotion rules."""

from __future__ import annotations

import gc

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_collection() -> None:
    """Has the garbage collector wait while tests are found: nothing of them is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Has it look at what the tests make only, not at the tests each time."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the engine see one thread: those of other tests may not have ended yet, and nothing is
    written in place beside them."""
    from jtorch._src.engine import THREADS

    monkeypatch.setattr(THREADS, "many", False)
