"""Conversions between element types: numbers that the new type cannot hold become what PyTorch
makes of them on a processor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

NAN, INF = float("nan"), float("inf")
#: Beyond each integer type on either side, on its edges, and what is no number; the odd ones have
#: low bits to lose.
NUMBERS = [
    NAN, INF, -INF, 300.0, -300.0, 255.5, 256.0, -1.5, -0.5, 65536.5, 3e9, -3e9, 1e10, -1e10, 1e19,
    1e30, -1e30, 21474836487.0, 2.0**31, -(2.0**31), 2.0**31 - 1, -(2.0**31) - 1, 2.0**63,
    -(2.0**63), 2.0**64,
]  # fmt: skip
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_numbers_beyond_an_integer_type_wrap_as_on_a_processor(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of imaginary parts that are dropped
        mine, theirs = (
            t.tensor(NUMBERS, dtype=t.float64).to(getattr(t, source)) for t in (jtorch, torch)
        )
        for target in INTEGERS:
            found = mine.to(getattr(jtorch, target)).tolist()
            # One element at a time: torch converts rows of numbers to uint32 by other instructions
            # than single ones.
            expected = [theirs[i].to(getattr(torch, target)).item() for i in range(len(NUMBERS))]
            assert found == expected, target


#: Other ways to the same conversion.
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy_": lambda t: t.zeros(3, dtype=t.int32).copy_(t.tensor([INF, NAN, 3e9])),
    "type": lambda t: t.tensor([NAN, 3e9, 300.5]).type(t.int16),
    "type_as": lambda t: t.tensor([NAN, INF, 300.0]).type_as(t.tensor([1], dtype=t.int8)),
    "item": lambda t: t.tensor(NAN).long().item(),
    "sum": lambda t: t.tensor([3e9, NAN, 300.0]).sum(dtype=t.uint8),
    "prod": lambda t: t.tensor([300.0, -1.0]).prod(dtype=t.uint8),
    "cumsum": lambda t: t.tensor([3e9, NAN]).cumsum(0, dtype=t.int32),
    "cumprod": lambda t: t.tensor([3e9, 1.0]).cumprod(0, dtype=t.int32),
    "nansum": lambda t: t.tensor([2.7, NAN]).nansum(dtype=t.int64),
    "floor_divide": lambda t: t.tensor([NAN, INF, -INF]).floor_divide(2).long(),
    "logspace": lambda t: t.logspace(1, 40, 3, dtype=t.int64),
    "linspace": lambda t: t.linspace(-1e10, 1e10, 3, dtype=t.int32),
    "linspace_uint8": lambda t: t.linspace(-1, 300, 3, dtype=t.uint8),
    "linspace_float": lambda t: t.linspace(0, 1e300, 3),
    "linspace_half": lambda t: t.logspace(0, 1e6, 3, dtype=t.float16),
    "masked": lambda t: t.zeros(2, dtype=t.uint8).to(t.float32).fill_(NAN).byte(),
}

#: Numbers without a real part are not zero.
IMAGINARY: dict[str, Callable[[Any], Any]] = {
    "bool": lambda t: t.tensor([1j, 0j, 1.0]).bool(),
    "to": lambda t: t.tensor([1j, 0j, 1.0]).to(t.bool),
    "copy_": lambda t: t.zeros(2, dtype=t.bool).copy_(t.tensor([1j, 0j])),
    "any": lambda t: t.tensor([[1j, 0j], [0j, 0j]]).any(1),
    "all": lambda t: t.tensor([1j, 2j]).all(),
    "count_nonzero": lambda t: t.count_nonzero(t.tensor([1j, 0j])),
    "sum": lambda t: t.tensor([1j]).sum(dtype=t.bool),
    "prod": lambda t: t.tensor([0.5, 1j]).prod(dtype=t.bool),
    "tensor": lambda t: t.tensor([[True, 1j], [0j, 2]], dtype=t.bool),
    "tensor_of_integers": lambda t: t.tensor([1j], dtype=t.int64),
}


def _outcome(t: Any, call: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(call(t))
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_converts_alike(name: str) -> None:
    assert _outcome(jtorch, WAYS[name]) == _outcome(torch, WAYS[name])


@pytest.mark.parametrize("name", IMAGINARY)
def test_imaginary_numbers_are_true(name: str) -> None:
    assert _outcome(jtorch, IMAGINARY[name]) == _outcome(torch, IMAGINARY[name])


@pytest.mark.parametrize("wanted", ["channels_last", "contiguous_format", "preserve_format"])
@pytest.mark.parametrize("given", ["channels_last", "contiguous_format"])
def test_cpu_lays_out_anew_as_asked(given: str, wanted: str) -> None:
    found = []
    for library in (torch, jtorch):
        x = library.ones(1, 2, 3, 3).to(memory_format=getattr(library, given))
        y = x.cpu(memory_format=getattr(library, wanted))
        found.append((y.stride(), y is x))
    assert found[1] == found[0]


@pytest.mark.parametrize("name", ["bfloat16", "float32", "complex128", "int32", "bool", "qint8"])
def test_complex_types_of_types(name: str) -> None:
    def told(t: Any) -> str:
        try:
            return str(getattr(t, name).to_complex())
        except RuntimeError as error:
            return str(error)

    assert told(jtorch) == told(torch)
