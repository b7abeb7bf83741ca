"""Warnings that are given once, or on each occasion; which conversions of tensors that require grad
warn; what leaves of lists may be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jtorch as torch

SCALAR = "Converting a tensor with requires_grad=True to a scalar"


@pytest.fixture
def always() -> Iterator[None]:
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "convert",
    [
        float,
        complex,
        math.sqrt,
        np.float64,
        lambda t: torch.tensor([t, 1.0]),
        lambda t: torch.as_tensor([t, 1j]),
    ],
)
def test_conversions_to_floats_warn(convert: Callable[[Any], Any]) -> None:
    t = torch.tensor([2.5], requires_grad=True)
    for x in (t, t.sum() * 2):
        with pytest.warns(UserWarning, match=SCALAR) as told:
            convert(x)
        assert [w.filename for w in told] == [__file__]
        convert(x.detach())
        with torch.no_grad():
            convert(x)


@pytest.mark.usefixtures("always")
def test_other_conversions_do_not_warn() -> None:
    t = torch.tensor([2.5], requires_grad=True)
    assert (int(t), bool(t), t.item(), t.tolist(), f"{t.sum():.1f}") == (2, True, 2.5, [2.5], "2.5")
    assert torch.full((1,), t.sum().item()).add(1, alpha=t.sum().item()).item() == 5.0


def test_warns_once_unless_always_is_asked_for() -> None:
    t = torch.tensor([2.5], requires_grad=True)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        float(t)  # may be the first in this process
    float(t)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=SCALAR):
            float(t)
    finally:
        torch.set_warn_always(False)
    assert not torch.is_warn_always_enabled()


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_lists_of_floating_tensors_are_no_integers(dtype: torch.dtype) -> None:
    for leaf in (torch.tensor(2.5), torch.tensor(1j), torch.ones(2)):
        with pytest.raises(
            TypeError, match="only integer tensors of a single element can be converted to an index"
        ):
            torch.tensor([leaf], dtype=dtype)
    assert torch.tensor([torch.tensor(3)], dtype=dtype).item() == torch.tensor(3).to(dtype).item()


def test_lists_of_complex_tensors_are_real_where_no_part_is_lost() -> None:
    assert torch.tensor([torch.tensor(2.5 + 0j)], dtype=torch.float32).tolist() == [2.5]
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type double without overflow"
    ):
        torch.tensor([torch.tensor(2.5 + 1j)], dtype=torch.float32)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: torch.where(torch.ones(2, dtype=torch.uint8), 1.0, 2.0),
            UserWarning,
            "where received a uint8 condition tensor",
        ),
        (
            lambda: torch.set_default_tensor_type(torch.FloatTensor),
            UserWarning,
            r"set_default_tensor_type\(\) is deprecated",
        ),
        (
            torch.backends.cuda.sdp_kernel,
            FutureWarning,
            r"`torch.backends.cuda.sdp_kernel\(\)` is deprecated",
        ),
        (
            lambda: (torch.ones(1, requires_grad=True) * 2).grad,
            UserWarning,
            "The .grad attribute of a Tensor that is not a leaf",
        ),
        (lambda: torch.ones(1).std(), UserWarning, r"std\(\): degrees of freedom is <= 0"),
    ],
)
def test_what_warns_names_the_line_of_the_program(
    call: Callable[[], Any], kind: type[Warning], words: str
) -> None:
    with pytest.warns(kind, match=words) as told:
        call()
    assert [w.filename for w in told] == [__file__]
