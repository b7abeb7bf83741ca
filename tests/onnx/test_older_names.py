"""Names of PyTorch's older exporter: they can be imported, and say that they are not offered."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import jtorch as torch


def test_names_are_there_and_refuse() -> None:
    assert torch.onnx.is_in_onnx_export() is False
    from jtorch.onnx.symbolic_opset9 import masked_fill

    with pytest.raises(NotImplementedError, match="masked_fill"):
        masked_fill(None)
    with pytest.raises(NotImplementedError, match="ExportableModule"):
        torch.onnx.ExportableModule()
    with pytest.raises(AttributeError):
        torch.onnx.no_such_name


def test_registering_for_an_export_that_never_comes() -> None:
    @torch.onnx.symbolic_helper.parse_args("v", "i")
    def mine(g: object, x: object, dim: int) -> int:
        return dim

    torch.onnx.register_custom_op_symbolic("mine::op", mine, 9)
    assert mine(None, None, 3) == 3
    torch.onnx.unregister_custom_op_symbolic("mine::op", 9)


def test_modes() -> None:
    model = torch.nn.Dropout()
    with torch.onnx.select_model_mode_for_export(model, torch.onnx.TrainingMode.EVAL):
        assert not model.training
    assert model.training


def test_what_is_missing_is_named_when_a_model_is_exported(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        torch.onnx.export(torch.nn.ReLU().eval(), (torch.ones(1),))
    assert caught.value.name == "onnx"
    assert not isinstance(torch, torch.onnx.ONNXProgram)  # which is there all the same
