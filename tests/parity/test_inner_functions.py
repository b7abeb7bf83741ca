"""Inner functions of PyTorch that copies of its layers and wrappers around them call."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity


def said(function: Any, *args: Any) -> Any:
    """What a call gives, numbers for tensors, or its error."""
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return plain(found), [str(w.message) for w in seen]


def plain(x: Any) -> Any:
    """Tensors as numbers and strides, dtypes as text, in nested structures."""
    if hasattr(x, "tolist"):
        return x.tolist(), x.stride()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else str(x)


def calls(t: Any) -> list[Any]:
    """The same calls of either package."""
    F = t.nn.functional
    checkpoint, cuda = (importlib.import_module(f"{t.__name__}.{name}") for name in ("utils.checkpoint", "cuda._utils"))
    ddp = importlib.import_module(f"{t.__name__}.nn.parallel.distributed")
    w = t.arange(27.0).view(9, 3)
    q, k = t.ones(2, 1, 3), t.arange(6.0).view(2, 1, 3)
    zeros = t.zeros
    found: list[Any] = []
    for size in ([1], [2, 3], [1, 3, 1], [1, 1, 2]):
        found += (F._verify_batch_size, size), (F._verify_spatial_size, size)
    found += [(F._get_softmax_dim, "softmax", n, 2) for n in range(5)]
    found += [(F._list_with_default, a, b) for a, b in (([None, 3], [1, 2]), ([1, 2, 3], [3, 2]))]
    found += [(F._in_projection_packed, a, b, c, w, bias) for a, b, c, bias in ((q, q, q, None), (q, k, k, w[:, 0]), (q, k, q, None))]
    found += [(F._in_projection, q, k, q, w[:3], w[3:6], w[6:], t.ones(3)), (F._in_projection, q, k, q, w[:3], w[3:5], w[6:])]
    found.append((F._in_projection, q, k, q, w[:3], w[3:6], w[6:], None, t.ones(2)))
    for shapes in (((2, 3),) * 3, ((2, 1, 3), (2, 3), (2, 1, 3)), ((3,),) * 3):
        found.append((F._mha_shape_check, *map(zeros, shapes), None, None, 2))
    found.append((F._mha_shape_check, *map(zeros, ((2, 3),) * 3), None, zeros(3, 2, 2), 2))
    found += [(F._unpool_output_size, t.ones(1, 1, 3, 3), [2, 2], [2, 2], [0, 0], size) for size in (None, [7, 7], [9])]
    found.append((F._Reduction.get_enum, "sum"))
    table = t.full((3, 2), 3.0, requires_grad=True)
    found.append((lambda: (F._no_grad_embedding_renorm_(table, t.tensor([1]), 1.0, 2.0), table.detach())[1],))
    found += [(checkpoint._infer_device_type, t.ones(2), {"a": t.ones(1)}), (checkpoint._get_autocast_kwargs, "cpu")]
    found += [(cuda._get_device_index, d) for d in ("cuda:1", 2, "cpu", "cuda", None)]
    found += [(cuda._get_device_index, "cpu", False, True), (t.cuda._lazy_init,)]
    found.append((lambda: list(ddp._find_tensors({"a": [t.ones(1), (t.zeros(2),)], "b": 3})),))
    found.append((t._C._VariableFunctions.add, t.ones(2), 1))
    return found


def test_inner_functions() -> None:
    """Results, strides, warnings and errors are PyTorch's."""
    wanted, found = calls(torch), calls(jtorch)
    for a, b in zip(wanted, found, strict=True):
        theirs, ours = said(*a), said(*b)
        assert str(ours).replace("jtorch", "torch") == str(theirs), a[0]


def test_names() -> None:
    """They are what they are elsewhere."""
    assert jtorch._C._TensorBase is jtorch._C.TensorBase
    assert importlib.import_module("jtorch._ops").ops is jtorch.ops
    assert importlib.import_module("jtorch.utils.cpp_extension")._find_cuda_home() is None
    with pytest.raises(AttributeError, match="_nonsense"):
        _ = jtorch.nn.functional._nonsense
