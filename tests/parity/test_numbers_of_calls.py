"""Numbers and lists of dimensions that a call refuses, or takes, as PyTorch's: nothing of them is
dropped in silence."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

COMPLEX = [
    "F.pad(t.ones(2), (1, 1), 'constant', 1j)",
    "F.pad(t.ones(2), (1, 1), 'reflect', 1j)",
    "F.pad(t.ones(2, dtype=t.complex64), (1, 1), 'constant', 1j)",
    "F.leaky_relu(t.ones(2), 1j)",
    "F.leaky_relu(t.ones(0, dtype=t.float64), 1j)",
    "F.leaky_relu(t.ones(2, dtype=t.bfloat16), 1j)",
    "F.threshold(t.ones(2), 1j, 2)",
    "F.threshold(t.ones(2), 1, 2j)",
    "F.elu(t.ones(2), 1j)",
    "F.celu(t.ones(2), 1j)",
    "F.hardshrink(t.ones(2), 1j)",
    "F.softshrink(t.ones(2), 1j)",
    "F.softplus(t.ones(2), 1j)",
    "F.hardtanh(t.ones(2), 1j, 2)",
]
UNSIGNED = [
    f"t.tensor({v}, dtype=t.{d})"
    for v in ("-1.5", "[-0.5]", "-1", "1.5", "[True]")
    for d in ("uint8", "uint16", "uint64", "int8")
]
UNSIGNED += [f"t.full((2,), -1.5, dtype=t.{d})" for d in ("uint8", "uint16", "uint32", "uint64")]
#: What a second operand that is a number makes of the dtype, ``alpha`` must fit.
ALPHA = [
    "t.add(t.tensor([2], dtype=t.uint8), 1.5, alpha=300)",
    "t.sub(t.tensor([2], dtype=t.int32), 1.5, alpha=2**40)",
    "t.rsub(t.tensor([2], dtype=t.int32), -1.5, alpha=2**40)",
    "t.rsub(t.tensor([2], dtype=t.int32), 1, alpha=2**40)",
    "t.add(t.tensor([2], dtype=t.uint8), 1, alpha=300)",
    "t.add(t.tensor([True]), 1, alpha=300)",
    "t.tensor([2], dtype=t.int8).add_(1, alpha=300)",
    "t.add(t.tensor([2], dtype=t.float16), 1.5, alpha=1e6)",
]
SIZES_FIRST = [
    "t.ones(2, dtype=t.uint16) + t.ones(3)",
    "t.ones(2, dtype=t.uint16) < t.ones(3, dtype=t.int64)",
    "t.ones(2, dtype=t.uint16) < t.ones(2, dtype=t.int64)",
]
NAMES_OF_TYPES = [
    "t.ones(2).masked_fill(t.ones(2, dtype=t.uint32), 1)",
    "t.ones(1).lerp(t.ones(1, dtype=t.uint64), 0.5)",
    "F.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2), t.ones(1, dtype=t.int16))",
    "t.mm(t.ones(2, 2), t.ones(2, 2, dtype=t.uint16))",
]
OTHERS = [
    "t.linalg.norm(t.ones(3), None, ())",
    "t.linalg.norm(t.ones(2, 2, 2), None, (0, 1, 2))",
    (
        "F.hinge_embedding_loss(t.tensor([1], dtype=t.uint8), t.tensor([1], dtype=t.uint8), "
        "reduction='sum')"
    ),
    "F.l1_loss(t.tensor([1], dtype=t.uint8), t.tensor([3], dtype=t.uint8), reduction='sum')",
]


def _outcome(t: Any, line: str) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(line, {"t": t, "F": t.nn.functional})
        except Exception as error:
            return type(error).__name__, str(error)
    return str(found.dtype).rpartition(".")[2], str(found.tolist())


@pytest.mark.parametrize("line", COMPLEX + UNSIGNED + ALPHA + SIZES_FIRST + NAMES_OF_TYPES + OTHERS)
def test_a_number_does_what_it_does_in_torch(line: str) -> None:
    assert _outcome(jtorch, line) == _outcome(torch, line)
