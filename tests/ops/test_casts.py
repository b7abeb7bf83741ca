"""Conversions between dtypes where C++ and XLA disagree, the small floats, and the types that exist
by name only."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops._kernel import cast

NAN = float("nan")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.uint8, [255, 44, 212]),
        (torch.int8, [-1, 44, -44]),
        (torch.uint16, [65535, 300, 65236]),
        (torch.int16, [-1, 300, -300]),
        (torch.uint32, [4294967295, 300, 4294966996]),
        (torch.uint64, [18446744073709551615, 300, 18446744073709551316]),
        (torch.int32, [-1, 300, -300]),
        (torch.bool, [True, True, True]),
    ],
)
def test_floats_wrap_around_in_small_and_unsigned_integers(
    dtype: torch.dtype, expected: list
) -> None:
    assert torch.tensor([-1.5, 300.0, -300.0]).to(dtype).tolist() == expected


def test_large_floats_in_unsigned_64_bits() -> None:
    assert torch.tensor([2.0**63], dtype=torch.float64).to(torch.uint64).tolist() == [2**63]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.float8_e4m3fn, [0.3125, 1.75, 448.0, -448.0]),
        (torch.float8_e5m2, [0.3125, 1.75, 512.0, -float("inf")]),
        (torch.float8_e8m0fnu, [0.25, 2.0, 512.0, NAN]),
        (torch.bfloat16, [0.30078125, 1.703125, 500.0, -float("inf")]),
        (torch.float16, [0.300048828125, 1.7001953125, 500.0, -float("inf")]),
    ],
)
def test_small_floats(dtype: torch.dtype, expected: list) -> None:
    small = torch.tensor([0.3, 1.7, 500.0, -float("inf")]).to(dtype)
    assert small.dtype is dtype
    assert str(small.float().tolist()) == str(expected)
    assert small.clone().view(torch.uint8).numel() == 4 * dtype.itemsize
    assert torch.cat([small, small]).shape == (8,)
    assert f"dtype={dtype}" in repr(small)


def test_float8_is_promoted_with_nothing() -> None:
    for other in (torch.float32, torch.int64, torch.bool, torch.float8_e5m2):
        with pytest.raises(
            RuntimeError,
            match="Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn "
            "and",
        ):
            torch.promote_types(torch.float8_e4m3fn, other)


def test_types_without_arrays_exist_by_name() -> None:
    assert repr(torch.complex32) == "torch.complex32"
    assert torch.chalf is torch.complex32
    assert torch.complex32.is_complex
    assert (torch.quint8.itemsize, torch.complex32.itemsize) == (1, 4)
    for make in (
        lambda: torch.zeros(2, dtype=torch.complex32),
        lambda: torch.ones(2, dtype=torch.complex64).to(torch.complex32),
    ):
        with pytest.raises(
            NotImplementedError,
            match=r"torch.complex32 is not offered by jtorch: JAX has no arrays of this type",
        ):
            make()


def test_resolutions() -> None:
    found = {
        d: torch.finfo(d).resolution
        for d in (torch.float8_e5m2, torch.bfloat16, torch.float16, torch.float32, torch.float64)
    }
    assert list(found.values()) == [1.0, 1e-2, 1e-3, 1e-6, 1e-15]
    assert repr(torch.iinfo(torch.uint32)) == "iinfo(min=0, max=4.29497e+09, dtype=uint32)"


def test_the_class_of_tensors_names_the_default_dtype() -> None:
    assert torch.tensor([1]).type(torch.Tensor).dtype is torch.float32


def test_bytes_of_nothing_as_another_dtype() -> None:
    for shape, old, new, expected in (
        ((0, 3), torch.float64, torch.int32, (0, 6)),
        ((0, 4), torch.int32, torch.float64, (0, 2)),
        ((0, 3), torch.complex128, torch.int16, (0, 24)),
        ((0, 8), torch.uint8, torch.complex64, (0, 1)),
    ):
        assert torch.zeros(shape, dtype=old).view(new).shape == expected


@pytest.mark.parametrize(
    "other", [torch.bool, torch.uint8, torch.uint64, torch.int32, torch.complex64]
)
def test_unsigned_integers_are_promoted_with_floating_point_numbers_alone(
    other: torch.dtype,
) -> None:
    with pytest.raises(
        RuntimeError,
        match="Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        "UInt16 and",
    ):
        torch.promote_types(torch.uint16, other)
    with pytest.raises(RuntimeError, match="Promotion for uint16"):
        torch.ones(2, dtype=torch.uint16) == torch.ones(2, dtype=other)  # noqa: B015
    assert torch.promote_types(torch.uint16, torch.float16) is torch.float16


def test_unsigned_integers_decide_for_tensors_without_dimensions() -> None:
    x = torch.ones(2, dtype=torch.uint16)
    assert torch.result_type(x, torch.tensor(1)) is torch.uint16
    assert torch.result_type(x, torch.tensor(True)) is torch.uint16
    assert torch.result_type(x, torch.tensor(1j)) is torch.complex64
    assert torch.result_type(x, 1j) is torch.complex64
    with pytest.raises(RuntimeError, match="attempted to promote Bool and UInt16"):
        torch.result_type(torch.tensor([True]), torch.tensor(1, dtype=torch.uint16))


def test_doubles_become_halves_by_way_of_floats() -> None:
    between = [1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1 + 3 * 2**-11 - 2**-40, 65519.9999999]
    x = torch.tensor(between, dtype=torch.float64)
    expected = x.float().half().tolist()
    assert expected == [1.0, 1.0, 1.001953125, float("inf")]
    assert x.half().tolist() == expected
    half = torch.float16
    x = torch.zeros(3, dtype=half)
    x[0], x[1], x[2] = between[0], torch.tensor(between[1], dtype=torch.float64), between[2]
    assert x.tolist() == expected[:3]
    for made in (
        torch.tensor(between, dtype=half), torch.tensor(np.array(between), dtype=half),
        torch.as_tensor(np.array(between), dtype=half),
        torch.stack([torch.full((), n, dtype=half) for n in between[:3]]),
        torch.stack([torch.tensor(n, dtype=half) for n in between]),
    ):  # fmt: skip
        assert made.tolist() == expected[: len(made)]
    compiled = jax.jit(lambda a: cast(a, np.dtype(np.float16)))(np.array(between))
    assert np.asarray(compiled).tolist() == expected
