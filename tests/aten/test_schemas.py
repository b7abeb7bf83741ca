"""Schemas: each packet alone is what it is among all."""

from __future__ import annotations

import pytest

import jtorch  # noqa: F401  (declares the operators)
from jtorch._src.aten import schema


def test_packets_asked_for_one_by_one_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {name: dict(overloads) for name, overloads in schema.texts().items()}
    monkeypatch.setattr(schema, "_texts", {})
    monkeypatch.setattr(schema, "_single", {})
    for name, overloads in every.items():
        assert list(schema.texts_of(name).items()) == list(overloads.items()), name
    assert schema.texts_of("no_such_operator") == {}
    assert not schema._texts  # none of the others were made
