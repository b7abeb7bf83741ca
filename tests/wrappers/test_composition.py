"""Wrapper types around each other, and several of them in one call."""

from __future__ import annotations

import warnings

import pytest

import jtorch as torch
from jtorch.wrappers import DiagonalTensor, MetadataTensor, ScalarTensor

FACTS = {"by": "me"}


def test_metadata_around_a_nested_tensor():
    for layout in (torch.jagged, torch.strided):
        m = MetadataTensor(
            torch.nested.nested_tensor([torch.ones(2), torch.arange(3.0)], layout=layout), FACTS
        )
        double = m * 2 + m
        assert (
            double.metadata == FACTS
            and [x.tolist() for x in double.unbind()] == [[3, 3], [0, 3, 6]]
            and double.is_nested
        )
        assert all(x.metadata == FACTS for x in m.unbind())
    m = MetadataTensor(
        torch.nested.nested_tensor([torch.ones(2), torch.arange(3.0)], layout=torch.jagged), FACTS
    )
    assert (
        m.sum(1).metadata == FACTS
        and m.sum(1).tolist() == [2, 3]
        and m.offsets().tolist() == [0, 2, 5]
    )
    assert torch.nn.functional.relu(m).tensor.is_nested


def test_metadata_around_a_masked_tensor():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = torch.masked.masked_tensor(torch.arange(3.0), torch.tensor([True, False, True]))
    m = MetadataTensor(masked, FACTS)
    assert (
        (m * 2).metadata == FACTS
        and (m * 2).sum().item() == 4
        and m.get_mask().tolist() == [True, False, True]
    )


def test_metadata_around_compact_matrices():
    m = MetadataTensor(ScalarTensor(3, 2.0), FACTS)
    assert (
        type((m + m).tensor) is ScalarTensor
        and (m + m).metadata == FACTS
        and (m @ torch.ones(3)).tolist() == [2, 2, 2]
    )
    # the compact type declines, the metadata go around what it makes with the data
    r = torch.add(DiagonalTensor(torch.ones(3)), m)
    assert (
        type(r) is MetadataTensor
        and type(r.tensor) is DiagonalTensor
        and r.tensor.entries.tolist() == [3, 3, 3]
    )


def test_logging_inside_other_wrappers():
    pytest.importorskip("pint")
    from jtorch.wrappers import LoggingTensor, UnitTensor
    from jtorch.wrappers.logging import capture_logs

    with capture_logs() as logs:
        y = MetadataTensor(LoggingTensor(torch.ones(2)), FACTS) * 2
        area = UnitTensor(LoggingTensor(torch.ones(2)), "m") ** 2
    assert (
        type(y.tensor) is LoggingTensor
        and type(area.magnitude) is LoggingTensor
        and str(area.unit) == "meter ** 2"
    )
    assert [line.split(" = ")[1].split("(")[0] for line in logs] == [
        "aten.mul.Tensor",
        "aten.pow.Tensor_Scalar",
    ]


def test_three_wrappers_in_one_call():
    pytest.importorskip("pint")
    from jtorch.wrappers import UnitTensor

    way = UnitTensor(
        torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged), "km"
    )
    r = torch.mul(MetadataTensor(2.0, FACTS), way)
    assert (
        type(r) is MetadataTensor and type(r.tensor) is UnitTensor and r.tensor.magnitude.is_nested
    )
    assert str(r.unit) == "kilometer" and r.to_unit("m").tensor.magnitude.values().tolist() == [
        2000,
        2000,
        2000,
    ]


def test_wrappers_under_a_mode():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    m = MetadataTensor(torch.ones(1), FACTS)
    with Mode():
        r = torch.exp(m)
    assert r.metadata == FACTS and seen[0] == (torch.exp, (MetadataTensor,))


def test_a_log_of_quantities():
    pytest.importorskip("pint")
    from jtorch.wrappers import LoggingTensor, UnitTensor
    from jtorch.wrappers.logging import capture_logs

    with capture_logs() as log:
        x = LoggingTensor(UnitTensor(torch.tensor([1.0, 2.0]), "m"))
        y = (x * x + x * x * 3).sum()
    assert (
        type(y) is LoggingTensor
        and str(y.elem.unit) == "meter ** 2"
        and y.elem.magnitude.item() == 20.0
    )
    assert [line.split(" = ")[1].split("(")[0].removeprefix("aten.") for line in log] == [
        "mul.Tensor", "mul.Tensor", "mul.Tensor", "add.Tensor", "sum.default"
    ]  # fmt: skip


def test_padding_a_nested_tensor_with_metadata():
    nt = torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 2)], layout=torch.jagged)
    padded = torch.nested.to_padded_tensor(MetadataTensor(nt, FACTS), 0.0)
    assert type(padded) is MetadataTensor and padded.tensor.shape == (2, 2, 2)
