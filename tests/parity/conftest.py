"""These tests compare with PyTorch: without it there is nothing to collect."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Has a run without these tests not import PyTorch and its samples to find that out."""
    return (
        True
        if config.getoption("markexpr") == "not parity" and collection_path.name.startswith("test_")
        else None
    )


@pytest.fixture(scope="session", autouse=True)
def seeds_of_the_cpu() -> Iterator[None]:
    """Has PyTorch's seeds be those of the CPU: it notes them for devices that are not there, each
    with the text of the whole stack (5 ms), and never frees it."""
    import torch

    def seeded(seed: Any) -> torch.Generator:
        return torch.default_generator.manual_seed(int(seed))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.random._manual_seed_impl", seeded)
        yield
