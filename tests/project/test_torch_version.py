"""``torch.__version__`` compares as versions do."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.torch_version import TorchVersion


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [
        ("1.9", "1.10"), ("1.2.0.dev2", "1.2"), ("1.2a", "1.2"), ("1.2a1", "1.2b0"),
        ("1.2b", "1.2rc1"), ("1.2", "1.2.post1"), ("1.2", "1.2+cpu"), ("1.2+cpu", "1.2.1"),
        ("2.13.0+cpu", "3"), ("1.2", "1!0.1"), ("1.2.dev1", "1.2a0"), ((1, 9), "1.10"),
        ("1.2+1", "1.2+2"), ("1.2+b", "1.2+1"),
    ],
)  # fmt: skip
def test_order(lesser: Any, greater: Any) -> None:
    v = TorchVersion(greater)
    assert v > lesser and v >= lesser and v != lesser and not v <= lesser
    if isinstance(lesser, str):
        assert TorchVersion(lesser) < greater


def test_the_package_says_its_version() -> None:
    assert isinstance(torch.__version__, str) and isinstance(torch.__version__, TorchVersion)
    assert torch.__version__ >= "2.2" and torch.__version__ >= (2, 13) and torch.__version__ < (3,)
    assert hash(torch.__version__) == hash(str(torch.__version__))


def test_what_is_no_version_compares_as_text() -> None:
    v = TorchVersion("parrot")
    assert v == "parrot" and v != "1.2" and v > "1.2"
    assert TorchVersion("1.2") == "1.2.0" and TorchVersion("1.2.0") == (1, 2)
    with pytest.raises(TypeError):
        _ = v > 3  # type: ignore[operator]
