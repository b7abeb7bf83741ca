"""Modules against PyTorch's: the ModuleInfo database, and behaviour of ``Module`` that both must show."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import jtorch
from jtorch import nn

torch = pytest.importorskip("torch")
from torch.testing._internal.common_modules import module_db  # noqa: E402

pytestmark = pytest.mark.parity

#: Modules whose functional form is still missing or differs, with the reason. Strict: an entry that works fails.
EXPECTED_FAILURES: dict[str, str] = {}

#: (module, training) whose outputs are random; only shapes are compared.
RANDOM = {"Dropout", "RReLU", "FractionalMaxPool2d", "FractionalMaxPool3d"}


def to_jtorch(x: Any) -> Any:
    """``x`` with PyTorch's tensors, dtypes and modules replaced by jtorch's."""
    if isinstance(x, torch.Tensor):
        made = jtorch.tensor(x.detach().numpy())
        return made.requires_grad_() if x.requires_grad else made
    if isinstance(x, torch.dtype):
        return getattr(jtorch, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return jtorch.device(str(x))
    if isinstance(x, torch.nn.Module):
        return module_like(x)
    if type(x) in (list, tuple):
        return type(x)(to_jtorch(item) for item in x)
    if isinstance(x, dict):
        return {k: to_jtorch(v) for k, v in x.items()}
    if type(x).__name__ == "LinearCrossEntropyOptions":
        return nn.LinearCrossEntropyOptions(acc_dtype=to_jtorch(x.acc_dtype), **{
            k: getattr(x, k) for k in ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy")
        })  # fmt: skip
    if callable(x) and getattr(x, "__module__", "").startswith("torch.nn.functional"):
        return getattr(nn.functional, x.__name__)
    return x


def module_like(module: Any) -> Any:
    """An encoder or decoder layer with the weights of ``module``: the only modules that others take."""
    made = getattr(nn, type(module).__name__)(module.self_attn.embed_dim, module.self_attn.num_heads, module.linear1.out_features)
    made.load_state_dict({k: to_jtorch(v) for k, v in module.state_dict().items()})
    return made


def assert_same(got: Any, want: Any, what: str) -> None:
    if isinstance(want, torch.Tensor):
        assert str(got.dtype) == str(want.dtype), f"{what}: dtype {got.dtype}, but should be {want.dtype}"
        assert tuple(got.shape) == tuple(want.shape), f"{what}: shape {tuple(got.shape)}, but should be {tuple(want.shape)}"
        tolerance = 1e-4 if want.is_floating_point() else 0
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=tolerance, atol=1e-5, err_msg=what)
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{what}[{i}]")
    else:
        assert got == want, what


def shapes_of(x: Any) -> Any:
    return [shapes_of(item) for item in x] if isinstance(x, (tuple, list)) else tuple(x.shape)


CASES = [pytest.param(info, training, id=f"{info.module_cls.__name__}-{'train' if training else 'eval'}")
         for info in module_db for training in (True, False)]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("info", "training"), CASES)
def test_module_info(info: Any, training: bool, request: Any) -> None:
    """Same parameters from the same seed, same repr, state dict and output for every sample of the database."""
    name = info.module_cls.__name__
    if name in EXPECTED_FAILURES:
        request.node.add_marker(pytest.mark.xfail(reason=EXPECTED_FAILURES[name], strict=True))
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training)
    for k, sample in enumerate(inputs[:6]):
        made = sample.constructor_input
        given = sample.forward_input
        args, kwargs = (given.args, given.kwargs) if given is not None else ((), {})
        converted = [to_jtorch(x) for x in (made.args, made.kwargs, args, kwargs)]
        torch.manual_seed(5)
        theirs = info.module_cls(*copy.deepcopy(made.args), **copy.deepcopy(made.kwargs)).train(training)
        jtorch.manual_seed(5)
        ours = getattr(nn, name)(*converted[0], **converted[1]).train(training)
        torch.manual_seed(6)
        want = theirs(*args, **kwargs)
        jtorch.manual_seed(6)
        got = ours(*converted[2], **converted[3])
        what = f"{name} sample {k}: {made.args} {made.kwargs}"
        state, expected = ours.state_dict(), theirs.state_dict()
        assert repr(ours) == repr(theirs), what
        assert list(state) == list(expected), what
        assert state._metadata == expected._metadata, what
        for key in expected:
            assert_same(state[key], expected[key], f"{what}: {key}")
        if training and name in RANDOM:
            assert shapes_of(got) == shapes_of(want), what
        else:
            assert_same(got, want, what)
