"""Worlds of several processes: each program's cases run one after another in one world, and are
tests of their own here."""

from __future__ import annotations

import pytest
from worlds import cases, check


@pytest.mark.parametrize("name", cases("collectives"))
def test_collectives(name: str) -> None:
    check("collectives", 3, name)


@pytest.mark.parametrize("name", cases("functional_collectives"))
def test_functional_collectives(name: str) -> None:
    check("functional_collectives", 3, name)


@pytest.mark.parametrize("name", cases("data_parallel"))
def test_data_parallel(name: str) -> None:
    check("data_parallel", 2, name)


@pytest.mark.parametrize("name", cases("agreements"))
def test_agreements(name: str) -> None:
    check("agreements", 2, name)


@pytest.mark.parametrize("name", cases("sharded"))
def test_sharded(name: str) -> None:
    check("sharded", 4, name)


@pytest.mark.parametrize("name", cases("dtensor"))
def test_dtensor(name: str) -> None:
    check("dtensor", 4, name)


@pytest.mark.parametrize("name", cases("dtensor_training"))
def test_dtensor_training(name: str) -> None:
    check("dtensor_training", 4, name)


@pytest.mark.parametrize("name", cases("sharded_states"))
def test_sharded_states(name: str) -> None:
    check("sharded_states", 4, name)


@pytest.mark.parametrize("name", cases("pipelines"))
def test_pipelines(name: str) -> None:
    check("pipelines", 4, name)


@pytest.mark.parametrize("name", cases("pages"))
def test_pages(name: str) -> None:
    check("pages", 4, name)
