"""``torch.testing``."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.testing import assert_close, make_tensor


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (
            torch.ones(2),
            torch.ones(3),
            r"'shape' do not match: torch.Size\(\[2\]\) != torch.Size\(\[3\]\)",
        ),
        (
            torch.ones(2),
            torch.ones(2).double(),
            "'dtype' do not match: torch.float32 != torch.float64",
        ),
        (
            torch.ones(2),
            torch.tensor([1.0, 2.0]),
            (
                r"Mismatched elements: 1 / 2 \(50.0%\)\nGreatest absolute difference: 1.0 at index "
                r"\(1,\)"
            ),
        ),
        (1.0, 2.0, "Expected 2.0 but got 1.0."),
        ([1, torch.ones(2)], [1, torch.zeros(2)], r"The failure occurred for item \[1\]"),
        ({"a": 1.0}, {"b": 1.0}, "Missing keys in the actual mapping: \\['b'\\]"),
        (torch.tensor(float("nan")), torch.tensor(float("nan")), "Scalars are not close"),
        ([1], [1, 2], "length of the sequences mismatch"),
    ],
)
def test_differences_in_words(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_close(actual, expected)


def test_tolerances_and_options():
    a = torch.tensor([1.0])
    assert_close(a, a + 5e-6)
    assert_close(a, a + 0.1, rtol=0, atol=0.2)
    assert_close(a, a.double(), check_dtype=False)
    assert_close(a * float("nan"), a * float("nan"), equal_nan=True)
    with pytest.raises(ValueError, match="got no atol"):
        assert_close(a, a, rtol=1)
    with pytest.raises(AssertionError, match=r"^mine: Scalars"):
        assert_close(1, 2, msg=lambda text: "mine: " + text)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "b")


def test_make_tensor():
    t = make_tensor(4, 5, dtype=torch.int8, device="cpu", low=2, high=4, noncontiguous=True)
    assert (t.shape, t.dtype, t.is_contiguous()) == ((4, 5), torch.int8, False)
    assert 2 <= t.min().item() <= t.max().item() <= 3
    assert make_tensor(
        (2, 2), dtype=torch.complex64, device="cpu", requires_grad=True
    ).requires_grad
    assert (make_tensor(100, dtype=torch.uint8, device="cpu", high=2, exclude_zero=True) != 0).all()
    with pytest.raises(ValueError, match="requires_grad=True"):
        make_tensor(2, dtype=torch.int64, device="cpu", requires_grad=True)


def test_draws_that_others_do_not_see():
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    drawn = [torch.testing._utils.wrapper_set_seed(torch.rand, 4).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]
    with torch.testing._utils.freeze_rng_state():
        torch.rand(5)
    assert torch.rand(2).tolist() == expected
