"""What programs about automatic differentiation give, print and raise: the same as in PyTorch, to
the letter."""

from __future__ import annotations

import re
import types
import warnings
from typing import Any

import autograd_programs
import pytest
import torch as oracle

import jtorch

pytestmark = pytest.mark.parity


def text(x: Any, torch: types.ModuleType) -> Any:
    """A result as text, without addresses."""
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return [text(i, torch) for i in x]
    if isinstance(x, dict):
        return {str(k): text(v, torch) for k, v in x.items()}
    return re.sub(r"0x[0-9a-f]+", "0x", repr(x))


def outcome(program: Any, torch: types.ModuleType) -> Any:
    """What a program returns or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return text(program(), torch)
        except Exception as error:
            return re.sub(r"0x[0-9a-f]+", "0x", f"{type(error).__name__}: {error}")


PROGRAMS = {
    f"{family.__name__}-{name}": (program, family(jtorch)[name])
    for family in autograd_programs.FAMILIES
    for name, program in family(oracle).items()
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_outcome(name: str) -> None:
    theirs, ours = PROGRAMS[name]
    assert outcome(ours, jtorch) == outcome(theirs, oracle)
