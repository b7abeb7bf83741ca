"""Modules whose parameters are wrappers of tensors, exported; and ``out_dtype``."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch._functorch._aot_autograd.subclass_parametrization import (
    unwrap_tensor_subclass_parameters,
)
from jtorch._higher_order_ops import out_dtype
from jtorch.testing._internal.two_tensor import TwoTensor


class _Scaled(torch.Tensor):
    """Bytes and a scale that look like a tensor of floats."""

    @staticmethod
    def __new__(cls: Any, q: torch.Tensor, s: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=torch.float32)

    def __init__(self, q: torch.Tensor, s: torch.Tensor) -> None:
        self.q, self.s = q, s

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["q", "s"], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, meta: Any, size: Any, stride: Any) -> Any:
        del meta, size, stride
        return _Scaled(inner["q"], inner["s"])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.linear:
            return func(args[0], args[1].q.to(torch.float32) * args[1].s, *args[2:])
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func.name() in ("aten::detach", "aten::alias")
        return _Scaled(args[0].q, args[0].s)


def _model() -> Any:
    model: Any = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    q = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int8)
    layer = model[0]
    layer.weight = torch.nn.Parameter(_Scaled(q, torch.tensor([[0.5], [2.0]])), requires_grad=False)
    return model


def test_wrapped_parameters_become_their_tensors() -> None:
    model, x = _model(), torch.ones(4, 3)
    expected, weight = model(x), model[0].weight
    program = torch.export.export(model, (x,))
    names = ["0.bias"] + [f"0.parametrizations.weight.original{i}" for i in (0, 1)]
    assert sorted(program.state_dict) == names
    assert torch.equal(program.module()(x), expected)
    assert model[0].weight is weight
    assert type(model[0]) is torch.nn.Linear
    assert sorted(model.state_dict()) == ["0.bias", "0.weight"]
    unwrapped = unwrap_tensor_subclass_parameters(model)
    assert unwrapped is model
    assert sorted(n for n, _ in model.named_parameters()) == names
    assert torch.equal(model(x), expected)


def test_wrappers_in_wrappers_are_taken_apart_too() -> None:
    layer: Any = torch.nn.Linear(2, 2, bias=False)
    inner = TwoTensor(torch.ones(2, 2), torch.zeros(2, 2))
    layer.weight = torch.nn.Parameter(TwoTensor(inner, inner * 2))
    unwrap_tensor_subclass_parameters(layer)
    assert len(list(layer.parameters())) == 4
    assert repr(layer.weight.b.a.tolist()) == "[[2.0, 2.0], [2.0, 2.0]]"


def test_out_dtype_computes_in_the_wider_dtype() -> None:
    mm = torch.ops.aten.mm.default
    a = torch.full((2, 2), 100, dtype=torch.int8)
    assert out_dtype(mm, torch.int32, a, a).tolist() == [[20000] * 2] * 2
    x = torch.ones(2, 2, requires_grad=True)
    y: Any = out_dtype(mm, torch.float64, x, x)
    assert (y.dtype, y.requires_grad) == (torch.float64, True)
    with pytest.raises(RuntimeError, match="Autograd not implemented for out_dtype"):
        y.sum().backward()
    with pytest.raises(ValueError, match="out_dtype only allows the following operators"):
        out_dtype(torch.ops.aten.relu.default, torch.int32, a)
    with pytest.raises(ValueError, match=r"a single tensorInstead got \[Tensor, Tensor\]"):
        out_dtype(torch.ops.aten.topk.default, torch.int32, a, 1)
    with pytest.raises(ValueError, match=r"a single tensorInstead got \[List\[Tensor\]\]"):
        out_dtype(torch.ops.aten.unbind.int, torch.int32, a)
    with pytest.raises(ValueError, match="must be an OpOverload"):
        out_dtype(torch.mm, torch.int32, a, a)
