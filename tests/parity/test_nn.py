"""Modules against PyTorch's: the ModuleInfo database, and behaviour of ``Module`` that both must show."""

from __future__ import annotations

import copy
import re
import warnings
from collections import OrderedDict
from collections.abc import Iterator
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
    if callable(x) and getattr(torch.nn.functional, getattr(x, "__name__", ""), None) is x:
        return getattr(nn.functional, x.__name__)
    return x


def module_like(module: Any) -> Any:
    """An encoder or decoder layer with the weights of ``module``: the only modules that others take."""
    settings = {"dropout": module.dropout.p, "batch_first": module.self_attn.batch_first, "norm_first": module.norm_first,
                "bias": module.linear1.bias is not None}  # fmt: skip
    sizes = (module.self_attn.embed_dim, module.self_attn.num_heads, module.linear1.out_features)
    made = getattr(nn, type(module).__name__)(*sizes, activation=to_jtorch(module.activation), **settings)
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
        try:
            want = theirs(*args, **kwargs)
        except RuntimeError as e:  # some samples do not suit float32
            with pytest.raises(RuntimeError, match=re.escape(str(e))):
                ours(*converted[2], **converted[3])
            continue
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


#: Expressions on which both libraries must agree: the repr of the value, or the type and text of the exception.
EXPRESSIONS = """
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(2, 3, 3, groups=2)
nn.Conv2d(2, 2, 3, groups=0)
nn.Conv2d(2, 2, 3, padding='same', stride=2)
nn.Conv2d(2, 2, (3, 5), padding='same', padding_mode='reflect', dilation=2)._reversed_padding_repeated_twice
nn.ConvTranspose2d(1, 1, 1, padding_mode='reflect')
nn.ConvTranspose2d(1, 1, 3, stride=2)(torch.ones(1, 1, 4, 4), output_size=[20, 20])
nn.ConvTranspose2d(1, 1, 3, stride=2)(torch.ones(1, 1, 4, 4), output_size=[20])
nn.ConvTranspose2d(1, 1, 3, stride=2)(torch.ones(1, 1, 4, 4), output_size=[9, 10]).shape
nn.Dropout(2)
nn.GroupNorm(2, 3)
nn.Embedding(3, 2, padding_idx=5)
nn.Embedding(3, 2, _weight=torch.ones(2, 2))
nn.Embedding(3, 2, 0, 1., 1., True, True)
nn.EmbeddingBag(3, 2, padding_idx=-1, mode='sum', max_norm=1., norm_type=1)
nn.Bilinear(0, 1, 1)
nn.LSTM(2, 3, dropout=2)
nn.LSTM(2, 3, bias=1)
nn.LSTM(0, 3)
nn.LSTM(2, 3.)
nn.LSTM(2, 3, num_layers=0)
nn.LSTM(2, 3, proj_size=3)
nn.LSTM(2, 3, 2, bias=False, batch_first=True, dropout=.5, bidirectional=True, proj_size=2)
nn.LSTM(2, 3)(torch.ones(2))
nn.LSTM(2, 3)(torch.ones(2, 3, 4))
nn.LSTM(2, 3)(torch.ones(2, 3, 2), (torch.ones(1, 1, 3), torch.ones(1, 1, 3)))
nn.LSTM(2, 3)(torch.ones(2, 3, 2), (torch.ones(1, 3), torch.ones(1, 3)))
nn.GRU(2, 3, proj_size=1)
nn.GRU(2, 3)(torch.ones(2, 2), torch.ones(1, 1, 3))
nn.RNN(2, 3, nonlinearity='x')
nn.RNN(2, 3, 1, 'relu')
nn.RNNBase('X', 2, 3)
nn.LSTMCell(2, 3)(torch.ones(1, 1, 2))
nn.LSTMCell(2, 3)(torch.ones(1, 4))
nn.GRUCell(2, 3)(torch.ones(2, 2), torch.ones(1, 3))
nn.RNNCell(2, 3)(torch.ones(2, 2), torch.ones(2, 4))
nn.RNNCell(2, 3, nonlinearity='q')(torch.ones(2, 2))
nn.MultiheadAttention(3, 2)
nn.MultiheadAttention(0, 2)
nn.Hardtanh(1, 0)
nn.Unflatten(0, 3)
nn.Unflatten(0, (1.,))
nn.MultiMarginLoss(p=3)
nn.TripletMarginLoss(margin=0)
nn.HuberLoss(delta='a')
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 2, .5)
nn.FractionalMaxPool2d(2, output_ratio=2.)
nn.FractionalMaxPool3d(0, 2)
nn.AdaptiveLogSoftmaxWithLoss(2, 3, [])
nn.AdaptiveLogSoftmaxWithLoss(2, 3, [5])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])(torch.ones(4, 8), torch.tensor([0, 6, 12, 19]))
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).predict(torch.ones(4, 8))
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])(torch.ones(1, 8), torch.tensor([20]))
nn.Softmax2d()(torch.ones(2))
nn.BatchNorm2d(2)(torch.ones(2, 2))
nn.InstanceNorm1d(2, affine=True)(torch.ones(1, 3, 4))
nn.CircularPad1d(1)(torch.ones(1))
nn.SyncBatchNorm(2)(torch.ones(2))
nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm1d(3))))
nn.Transformer(4, 2)(torch.ones(2, 3, 4), torch.ones(2, 2, 4))
nn.TransformerEncoderLayer(4, 2, activation='x')
nn.LazyLinear(3)
nn.LazyConv2d(4, 3)
nn.LazyConv2d(4, 3)(torch.ones(3))
nn.LazyBatchNorm1d()
nn.LazyLinear(3).weight
nn.LazyLinear(3).weight.shape
nn.LazyLinear(3).state_dict()
nn.Upsample(scale_factor=(2, 3), mode='bilinear')
nn.UpsamplingNearest2d(size=(2, 2))
nn.CosineSimilarity()
nn.CrossMapLRN2d(3)(torch.arange(16.).reshape(1, 4, 2, 2))
nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(1)), 3])
nn.ParameterDict({'b': torch.ones(2), 'a': nn.Parameter(torch.ones(1)), 'n': 3})
nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Tanh())] * 3 + [nn.ReLU()])
nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Tanh()})
nn.ModuleDict({'keys': nn.ReLU()})
nn.Sequential(nn.ReLU(), nn.Tanh())[5]
nn.Sequential(nn.ReLU(), nn.Tanh()) * 2
nn.Sequential(nn.ReLU()) * 0
nn.Sequential(nn.ReLU()) + 3
nn.LinearCrossEntropyOptions()
nn.LinearCrossEntropyOptions(acc_policy='x')
nn.init.calculate_gain('x')
nn.init.xavier_normal_(torch.ones(2))
nn.init.kaiming_normal_(torch.ones(2, 2), mode='x')
nn.init.dirac_(torch.ones(3, 2, 2), 2)
nn.init.trunc_normal_(torch.empty(5, 4))
nn.init.trunc_normal_(torch.empty(5, 4), mean=3., a=2., b=2.5, std=.01)
nn.init.trunc_normal_(torch.empty(5, 4), a=3., b=5.)
nn.init.orthogonal_(torch.empty(5, 3), 2.)
nn.init.sparse_(torch.empty(5, 3), .4)
nn.init.dirac_(torch.empty(4, 2, 3, 3), 2)
nn.init.eye_(torch.empty(3, 2))
nn.init.kaiming_normal_(torch.empty(3, 2, 2), mode='fan_out', nonlinearity='relu')
nn.factory_kwargs({'x': 1})
nn.utils.rnn.pack_sequence([torch.arange(6.).reshape(3, 2), torch.ones(2, 2)])
nn.utils.rnn.pack_sequence([torch.ones(1, 2), torch.ones(2, 2)])
nn.utils.rnn.pack_sequence([torch.ones(1, 2), torch.arange(6.).reshape(3, 2)], enforce_sorted=False)
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([torch.ones(1, 2), torch.arange(6.).reshape(3, 2)], False), True, -1, 4)
nn.utils.rnn.pad_sequence([torch.ones(1, 2), torch.zeros(3, 2)], padding_side='left', padding_value=9.)
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3, 0])
nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3])
nn.utils.parametrizations.orthogonal(nn.Linear(3, 2)).weight
nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)).weight
nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).state_dict()
nn.utils.spectral_norm(nn.Linear(3, 2))(torch.ones(1, 3))
nn.Module(3)
nn.Module(a=3)
nn.Linear(1, 1).to(torch.int32)
nn.Linear(1, 1).to([3])
nn.Linear(1, 1).register_parameter('', None)
nn.Linear(1, 1).register_parameter('a.b', None)
nn.Linear(1, 1).register_parameter('z', torch.zeros(2))
nn.Linear(1, 1).register_parameter('forward', None)
nn.Linear(1, 1).register_parameter('y', nn.Parameter(torch.ones(1)) * 1)
nn.Linear(1, 1).register_buffer('b', 3)
nn.Linear(1, 1).add_module('a.b', nn.ReLU())
nn.Linear(1, 1).add_module('x', 3)
nn.Linear(1, 1).__setattr__('weight', torch.ones(1))
nn.Sequential(nn.ReLU()).__setattr__('0', 3)
nn.BatchNorm1d(1).__setattr__('running_mean', 3)
nn.Linear(1, 1).nope
nn.Linear(1, 1).get_submodule('a.b')
nn.Linear(1, 1).get_parameter('in_features')
nn.Linear(1, 1).set_submodule('', nn.ReLU())
nn.Module()(3)
nn.Linear(1, 1).load_state_dict(3)
nn.Linear(2, 1).load_state_dict({'weight': torch.ones(2, 2), 'x': torch.ones(1)})
nn.Linear(2, 1).load_state_dict(nn.Linear(2, 1).state_dict())
nn.Linear(2, 1).load_state_dict({'weight': 3}, strict=False)
nn.Parameter(torch.ones(2, dtype=torch.int64))
nn.Parameter(torch.ones(2))
""".strip().splitlines()


def outcome(expression: str, library: Any, nn: Any) -> str:
    library.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = repr(eval(expression, {"torch": library, "nn": nn, "OrderedDict": OrderedDict}))
        except Exception as e:
            found = f"{type(e).__name__}: {e}"
    # Names of autograd nodes, module paths and the sign of zero are not compared.
    for old, new in (("jtorch", "torch"), ("-0.", "0.")):
        found = found.replace(old, new)
    return re.sub(r"grad_fn=<\w+>", "grad_fn", found)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    assert outcome(expression, jtorch, nn) == outcome(expression, torch, torch.nn)


def recurrent_cases() -> Iterator[Any]:
    """Networks with their settings, and the lengths of a packed batch or None."""
    for kind, more in (("LSTM", {}), ("LSTM", {"proj_size": 2}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"})):
        shapes = ((1, False, True, None), (2, True, False, None), (2, True, True, [5, 3, 2]), (1, True, True, [2, 5, 3]))
        for layers, both, bias, packed in shapes:
            settings = {"num_layers": layers, "bidirectional": both, "bias": bias, **more}
            yield pytest.param(kind, settings, packed, id=f"{kind}-{layers}-{both}-{bias}-{more}-{packed}")


@pytest.mark.parametrize(("kind", "settings", "packed"), [*recurrent_cases()])
def test_recurrent_gradients(kind: str, settings: dict[str, Any], packed: list[int] | None) -> None:
    """Outputs, final states and all gradients of recurrent networks, on padded and packed batches."""
    values = np.random.default_rng(0).normal(size=(5, 3, 3)).astype(np.float32)
    results = []
    for library in (torch, jtorch):
        library.manual_seed(0)
        module = getattr(library.nn, kind)(3, 4, **settings)
        x = library.tensor(values, requires_grad=True)
        pack = library.nn.utils.rnn
        given = x if packed is None else pack.pack_padded_sequence(x, packed, enforce_sorted=packed[0] == 5)
        output, hidden = module(given)
        if packed is not None:
            output = pack.pad_packed_sequence(output)[0]
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        ((output * output).sum() + sum(h.sin().sum() for h in hidden)).backward()
        grads = {name: p.grad for name, p in module.named_parameters()}
        found = {"output": output, "x.grad": x.grad, **{f"hidden{i}": h for i, h in enumerate(hidden)}, **grads}
        results.append({name: t.detach().numpy() for name, t in found.items()})
    want, got = results
    assert got.keys() == want.keys()
    for name in want:
        np.testing.assert_allclose(got[name], want[name], atol=2e-5, rtol=1e-5, err_msg=name)
