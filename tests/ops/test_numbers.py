"""Python numbers as operands: which are inputs of a program, which are refused, and how they
promote."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch._src.bind.bound import BOUND


def test_new_numbers_make_no_new_programs() -> None:
    x = torch.tensor([1.0, 4.0])
    condition = x > 2
    torch.where(condition, x, 1.5)
    x**1.5
    before = len(BOUND["_C._where"].calls), len(BOUND["pow"].calls)
    for number in (2.5, 3.5, -7.25):
        assert torch.where(condition, x, number).tolist() == [number, 4.0]
        torch.testing.assert_close(x**number, torch.tensor([1.0, 4.0**number]))
    assert (len(BOUND["_C._where"].calls), len(BOUND["pow"].calls)) == before


def test_where_promotes_numbers_as_numbers() -> None:
    c = torch.tensor([True, False])
    assert torch.where(c, 1, 2).dtype is torch.int64
    assert torch.where(c, 1.0, 2).dtype is torch.float32
    assert torch.where(c, torch.ones(2, dtype=torch.float16), 2.5).dtype is torch.float16
    assert torch.where(c, torch.ones(2, dtype=torch.uint8), 2).dtype is torch.uint8


@pytest.mark.parametrize("exponent", [2, 3, 0.5, 2.5, -1.5])
def test_gradients_of_powers(exponent: float) -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (x**exponent).sum().backward()
    torch.testing.assert_close(x.grad, exponent * x.detach() ** (exponent - 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b - 1,
        lambda b: 1 - b,
        lambda b: b - torch.ones(2),
        lambda b: torch.ones(2) - b,
        lambda b: torch.rsub(b, 1),
        lambda b: b.sub(0.5),
    ],
)
def test_subtraction_refuses_a_bool_tensor(call) -> None:
    with pytest.raises(
        RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"
    ):
        call(torch.tensor([True, False]))


def test_subtraction_refuses_two() -> None:
    b = torch.tensor([True, False])
    for other in (b, True):
        with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
            b - other


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_left_shift", "remainder", "pow", "xlogy", "float_power"]
)
def test_two_numbers_are_no_operands(name: str) -> None:
    with pytest.raises(
        TypeError,
        match=rf"{name}\(\) received an invalid combination of arguments - got \(int, int\)",
    ):
        getattr(torch, name)(3, 2)


@pytest.mark.parametrize(
    ("name", "expected"), [("add", 5), ("sub", 1), ("mul", 6), ("div", 1.5), ("floor_divide", 1)]
)
def test_two_numbers_are_summed(name: str, expected: float) -> None:
    assert getattr(torch, name)(3, 2).item() == expected


def test_addcmul_drops_the_fraction_of_its_value() -> None:
    i = torch.tensor([1, 2])
    assert torch.addcmul(i, i, i, value=1.5).tolist() == [2, 6]
    assert torch.addcmul(i.float(), i, i, value=1.5).tolist() == [2.5, 8.0]


def test_a_refused_argument_does_not_stand_for_an_equal_one() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0]])
    with pytest.raises(TypeError):
        torch.sort(x, True)
    assert torch.sort(x, 1)[0].tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(TypeError):
        torch.argsort(x, 1.0)  # type: ignore[arg-type]
    assert torch.argsort(x, 1).tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("make", [lambda n: n, torch.tensor], ids=["number", "tensor"])
def test_true_division_does_not_wrap_numbers_around(make) -> None:
    bytes_ = torch.tensor([158, 60], dtype=torch.uint8)
    assert (bytes_ / make(-1)).tolist() == [-158, -60]
    assert (bytes_ / make(300)).tolist() == pytest.approx([158 / 300, 0.2])
    assert torch.div(torch.tensor([64, -64], dtype=torch.int8), make(1024)).tolist() == [
        0.0625,
        -0.0625,
    ]
    assert (bytes_ / make(2)).dtype is torch.float32
    # With a rounding mode the quotient stays an integer, and its divisor one of these.
    assert torch.div(bytes_, make(258), rounding_mode="floor").tolist() == [79, 30]


def test_number_divided_by_small_integers() -> None:
    assert (-300 / torch.tensor([2, 3], dtype=torch.int8)).tolist() == [-150, -100]


def test_powers_wrap_bases_around_and_refuse_exponents() -> None:
    bytes_ = torch.tensor([1, 0, 2], dtype=torch.uint8)
    assert ((-1) ** bytes_).tolist() == [255, 1, 1] and (300**bytes_).tolist() == [44, 1, 144]
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type uint8_t without overflow"
    ):
        bytes_**70000


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("float32", "complex64"), ("float64", "complex128"), ("int64", "complex128")],
)
def test_complex_tensors_without_dimensions_are_as_precise_as_the_others(
    kind: str, expected: str
) -> None:
    x, z = torch.ones(2, dtype=getattr(torch, kind)), torch.tensor(1 + 2j, dtype=torch.complex128)
    expected = getattr(torch, expected)
    assert torch.result_type(x, z) is expected
    assert (x * z).dtype is (z - x).dtype is torch.where(x > 0, x, z).dtype is expected


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_nothing_divided_by_zero(name: str) -> None:
    for nothing, zero in (
        (torch.zeros(0, 2, dtype=torch.int64), 0),
        (torch.zeros(0, 2, dtype=torch.uint8), torch.tensor(0)),
    ):
        assert getattr(torch, name)(nothing, zero).shape == (0, 2)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(torch, name)(torch.ones(1, dtype=torch.int64), 0)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 3e9, -1e30])
def test_whole_numbers_refuse_fractions_beyond_them(number: float) -> None:
    x, m = torch.ones(2, dtype=torch.int32), torch.ones(2, 2, dtype=torch.int32)
    for call in (
        lambda: torch.addcmul(x, x, x, value=number),
        lambda: torch.addmm(m, m, m, alpha=number),
        lambda: torch.addmv(x, m, x, beta=number),
        lambda: torch.index_add(x, 0, torch.tensor([1]), x[:1], alpha=number),
    ):
        with pytest.raises(RuntimeError, match="cannot be converted to type int without overflow"):
            call()
    with pytest.raises(RuntimeError, match="type uint8_t"):
        torch.addcmul(*[torch.ones(2, dtype=torch.uint8)] * 3, value=-1.5)
    assert torch.addcmul(x, x, x, value=2.9).tolist() == [3, 3]


def test_halves_take_numbers_of_single_precision() -> None:
    x = torch.ones(2, dtype=torch.float16)
    tiny = torch.full((2,), 1e-4, dtype=torch.float16)
    assert torch.addcmul(x, x, tiny, value=1e5).tolist() == pytest.approx([11.0, 11.0], rel=1e-2)
    assert torch.nn.functional.leaky_relu(-tiny, 1e5).tolist() == pytest.approx(
        [-10.0, -10.0], rel=1e-2
    )
    assert torch.nn.functional.threshold(x, 1e5, 3.0).tolist() == [3.0, 3.0]
    for call in (
        lambda: torch.addcmul(x, x, x, value=1e39),
        lambda: torch.nn.functional.elu(x, 1e39),
    ):
        with pytest.raises(RuntimeError, match="type float without overflow"):
            call()
    with pytest.raises(RuntimeError, match="type c10::Half"):
        torch.nn.functional.threshold(x, 2.0, 1e5)
