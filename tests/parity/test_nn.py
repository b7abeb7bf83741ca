"""Modules against PyTorch's: behaviour of ``Module`` that both must show. ``test_modules.py``
sweeps the ModuleInfo database."""

from __future__ import annotations

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
pytestmark = pytest.mark.parity

#: Expressions on which both libraries must agree: the repr of the value, or the type and text of
#: the exception.
EXPRESSIONS = """
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(2, 3, 3, groups=2)
nn.Conv2d(2, 2, 3, groups=0)
nn.Conv2d(2, 2, 3, padding='same', stride=2)
nn.Conv2d(2, 2, (3, 5), padding='same', padding_mode='reflect', \
dilation=2)._reversed_padding_repeated_twice
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
nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2), \
nn.Sequential(nn.BatchNorm1d(3))))
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
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([torch.ones(1, 2), \
torch.arange(6.).reshape(3, 2)], False), True, -1, 4)
nn.utils.rnn.pad_sequence([torch.ones(1, 2), torch.zeros(3, 2)], padding_side='left', \
padding_value=9.)
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
    for kind, more in (
        ("LSTM", {}),
        ("LSTM", {"proj_size": 2}),
        ("GRU", {}),
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu"}),
    ):
        shapes = (
            (1, False, True, None),
            (2, True, False, None),
            (2, True, True, [5, 3, 2]),
            (1, True, True, [2, 5, 3]),
        )
        for layers, both, bias, packed in shapes:
            settings = {"num_layers": layers, "bidirectional": both, "bias": bias, **more}
            yield pytest.param(
                kind, settings, packed, id=f"{kind}-{layers}-{both}-{bias}-{more}-{packed}"
            )


# PyTorch's, on some machines
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(("kind", "settings", "packed"), [*recurrent_cases()])
def test_recurrent_gradients(kind: str, settings: dict[str, Any], packed: list[int] | None) -> None:
    """Outputs, final states and all gradients of recurrent networks, on padded and packed
    batches."""
    values = np.random.default_rng(0).normal(size=(5, 3, 3)).astype(np.float32)
    results = []
    for library in (torch, jtorch):
        library.manual_seed(0)
        module = getattr(library.nn, kind)(3, 4, **settings)
        x = library.tensor(values, requires_grad=True)
        pack = library.nn.utils.rnn
        given = (
            x
            if packed is None
            else pack.pack_padded_sequence(x, packed, enforce_sorted=packed[0] == 5)
        )
        output, hidden = module(given)
        if packed is not None:
            output = pack.pad_packed_sequence(output)[0]
        hidden = hidden if isinstance(hidden, tuple) else (hidden,)
        ((output * output).sum() + sum(h.sin().sum() for h in hidden)).backward()
        grads = {name: p.grad for name, p in module.named_parameters()}
        found = {
            "output": output,
            "x.grad": x.grad,
            **{f"hidden{i}": h for i, h in enumerate(hidden)},
            **grads,
        }
        results.append({name: t.detach().numpy() for name, t in found.items()})
    want, got = results
    assert got.keys() == want.keys()
    for name in want:
        np.testing.assert_allclose(got[name], want[name], atol=2e-5, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[5, 3], [3, 5]])
def test_padded_batches_are_laid_out_alike(lengths: list[int], batch_first: bool) -> None:
    """Batches that were packed in order come back as views; what had to be sorted is laid out
    anew."""
    strides = []
    for library in (torch, jtorch):
        pack = library.nn.utils.rnn
        packed = pack.pack_padded_sequence(
            library.ones(5, 2, 3), lengths, enforce_sorted=lengths[0] == 5
        )
        strides.append(
            [
                pack.pad_packed_sequence(packed, batch_first, total_length=n)[0].stride()
                for n in (None, 7)
            ]
        )
    assert strides[1] == strides[0]
