"""Names of functions of modules that are not ours."""

from __future__ import annotations

import jtorch as torch


def _caller() -> None:
    """What bears the name of a variable that modules of ours have."""


def test_a_module_that_has_a_name_of_ours() -> None:
    assert torch.typename(_caller) == f"{__name__}._caller"
