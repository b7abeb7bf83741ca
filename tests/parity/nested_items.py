"""Matrices of different lengths as nested tensors, and how they compare with what they hold."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.nested import nested_tensor

LAYOUTS = pytest.mark.parametrize(
    "layout", [torch.jagged, torch.strided], ids=["jagged", "strided"]
)


def items(*lengths, width=3, dtype=torch.float32):
    """Matrices with these numbers of rows, of different values."""
    waves = [
        (torch.arange(n * width, dtype=torch.float32) * 0.37 + 1 + i).sin() * 2
        for i, n in enumerate(lengths)
    ]
    return [x.to(dtype).view(n, width) for x, n in zip(waves, lengths, strict=True)]


def jagged(*lengths, **options):
    return nested_tensor(items(*lengths), layout=torch.jagged, **options)


def assert_items(nt, expected, **tolerance):
    assert nt.is_nested
    found = nt.unbind()
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x.detach(), y.detach(), **tolerance)
