"""Operands that do not go together, or hardly: PyTorch's words where it refuses them, its result
and dtype where it does not."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

#: ``b i f d c`` are vectors of two elements by dtype (bool, int64, float32, float64, complex64),
#: ``o`` makes ones.
CALLS = """F.mse_loss(c, c) | F.mse_loss(i, i, weight=f) | F.mse_loss(f, f, weight=o(1))
F.l1_loss(b, b) | F.l1_loss(i, i, weight=i)
F.smooth_l1_loss(b, b) | F.smooth_l1_loss(b, b, beta=0.0)
F.smooth_l1_loss(i, i + 3, beta=0.0, reduction="sum")
F.smooth_l1_loss(c, c + 1, beta=0.0) | F.huber_loss(b, b) | F.huber_loss(i, f)
F.huber_loss(f, i) | F.huber_loss(f, f, weight=o(1))
F.binary_cross_entropy(i, i) | F.binary_cross_entropy(c, c) | F.binary_cross_entropy(f, i)
F.binary_cross_entropy_with_logits(i, f)
F.binary_cross_entropy_with_logits(c, c) | F.binary_cross_entropy_with_logits(f, i)
F.binary_cross_entropy_with_logits(f, b)
F.kl_div(f, i, reduction="sum") | F.kl_div(c, c, reduction="sum") | F.poisson_nll_loss(b, b)
F.poisson_nll_loss(b, f)
F.gaussian_nll_loss(i, f, f) | F.gaussian_nll_loss(f, f, i) | F.gaussian_nll_loss(i, i, 1.0)
F.gaussian_nll_loss(f, f, c)
F.soft_margin_loss(i, f) | F.soft_margin_loss(b, f) | F.soft_margin_loss(f, c)
F.soft_margin_loss(f, i) | F.hinge_embedding_loss(b, f)
F.hinge_embedding_loss(c, c) | F.margin_ranking_loss(f, f, b) | F.margin_ranking_loss(b, b, f)
F.margin_ranking_loss(c, c, c)
F.margin_ranking_loss(i, i, i, reduction="none") | F.cosine_embedding_loss(c[None], c[None], i[:1])
F.multi_margin_loss(i[None], i[:1]) | F.multi_margin_loss(f[None], i[:1], weight=d)
F.multilabel_margin_loss(c[None], i[None])
F.multilabel_margin_loss(f, i.int()) | F.multilabel_soft_margin_loss(i, f)
F.local_response_norm(o(1, 2, 2).int(), 2)
F.pad(b[None], (1, 1), mode="reflect") | F.pad(b[None], (1, 1), mode="replicate")
F.pad(b[None], (1, 1), mode="circular")
F.pad(o(2), (1, 1), mode="reflect") | F.avg_pool2d(o(1, 1, 1, 1, 1), 1) | F.avg_pool1d(c[None], 1)
F.lp_pool1d(c[None], 2, 1)
F.lp_pool1d(i[None], 2.5, 2) | t.tensordot(b, b, 1) | t.linalg.multi_dot([b, b])
t.linalg.multi_dot([o(2, 2), o(2, 2).double()])
F.bilinear(o(1, 2), o(1, 2).double(), o(1, 2, 2))
F.bilinear(o(1, 2), o(1, 2), o(1, 2, 2), o(1).double())
F.bilinear(b, b, o(1, 2, 2).bool()) | t.linalg.cross(o(3), o(3).double())
t.linalg.cross(o(3).bool(), o(3).bool())
t.cross(o(3).long(), o(3), -1) | t.linalg.vecdot(i, i) | t.linalg.vecdot(f, d)
t.linalg.vecdot(f, f, dim=3)
t.linalg.vecdot(o(2), o(3)) | t.linalg.vecdot(o(2, 2), f) | t.linalg.vecdot(c, c)
F.linear(f, o(2), t.tensor(1.0))
F.linear(f, o(2), o(1)) | F.linear(o(3, 2), o(2), t.tensor(1.0))
F.linear(o(3, 2), o(2), t.tensor(1.0).double())
t.addmm(d, o(2, 2), o(2, 2)) | t.addmm(f, o(2, 2).double(), o(2, 2))
t.addmm(f, o(2, 3).double(), o(2, 2))
t.addbmm(f, o(1, 2, 2).double(), o(1, 2, 2)) | t.baddbmm(d, o(1, 2, 2), o(1, 2, 2))
t.baddbmm(f, o(1, 2, 2), o(1, 2, 2).double())
t.addcdiv(f, i, i) | t.addcdiv(i, i, f) | t.addcdiv(f, b, i) | t.lerp(i, f, 0.5) | t.lerp(f, f, d)
t.sum(f, dtype=t.int32)
t.sum(b, dtype=t.uint8) | t.nansum(f, dtype=t.int16) | t.prod(i, dtype=t.int32)
t.scatter_reduce(c, 0, i, c, "amax")
t.index_reduce(b, 0, i, b, "prod") | t.index_reduce(c, 0, i, c, "mean")
t.index_reduce(f, 0, i, f[:1], "prod")
t.index_reduce(f, 0, i[None], f[:1], "prod")
t.index_reduce(o(2, 2), 0, i[:1] + 2, o(1, 2), "prod")
t.index_add(f, 0, i[:1] + 2, f[:1]) | t.index_add(o(2, 2), 0, i[:1] + 2, o(1, 2))
t.searchsorted(b, b) | t.searchsorted(b, f)
t.bucketize(b, b) | t.linalg.vander(b) | t.linalg.vander(f.half())
t.renorm(o(2, 2).long(), 2, 0, 1) | t.mvlgamma(b, 2)
t.nanquantile(f, 2.0) | t.nanquantile(i, 0.5) | t.view_as_complex(i) | t.stft(o(4), 2)
t.stft(o(8).half(), 4, return_complex=True)
t.stft(o(8).int(), 4) | t.rnn_relu_cell(*[c[:1, None]] * 4)
t.gru_cell(o(1, 2), o(1, 1), o(3, 1), o(3, 1))
t.gru_cell(o(1, 2), o(2, 1), o(3, 2), o(3, 1)) | t.gru_cell(o(1, 2), o(1, 3), o(3, 2), o(3, 1))
t.gru_cell(o(1, 2), o(1, 1), o(4, 2), o(3, 1)) | t.gru_cell(o(1, 2), o(1, 1), o(3, 2), o(4, 1))
t.gru_cell(o(2), o(1), o(3, 2), o(3, 1)) | t.gru_cell(o(1, 2), o(1, 1).double(), o(3, 2), o(3, 1))
t.lstm_cell(o(1, 2), (o(1, 1),), o(4, 2), o(4, 1))
t.lstm_cell(o(1, 1).int(), (o(1, 1).int(),) * 2, o(4, 1).int(), o(4, 1).int())
t.lstm_cell(o(1, 2), (o(1, 1), o(1, 2)), o(4, 2), o(4, 1)) | t.rnn_tanh_cell(*[i[:1, None]] * 4)
t.rnn_tanh_cell(*[b[:1, None]] * 4)
t.rnn_tanh_cell(o(1, 2), o(1, 1), o(1, 2), o(1, 1), o(1).double(), o(1))
t.rnn_tanh_cell(o(1, 2), o(1, 1), o(1, 2), o(1, 1), o(2), o(1))"""
CASES = [call.strip() for line in CALLS.splitlines() for call in line.split(" | ")]


def _outcome(t: Any, call: str) -> tuple[Any, Any]:
    """The type and words of the error, or the dtype and values of the result."""
    f = t.tensor([1.0, 0.5])
    names = {
        "t": t, "F": t.nn.functional, "o": t.ones, "b": t.tensor([True, False]),
        "i": t.tensor([1, 0]), "f": f, "d": f.double(), "c": t.tensor([1j, 2.0]),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(call, names)
            return str(found.dtype), found.tolist()
        except Exception as e:
            # Values are checked when a trace runs, which tells where it was recorded.
            return type(e), re.sub(r" \(in \w+, recorded at .*\)$", "", str(e))


def _flat(x: Any) -> list[Any]:
    return [y for part in x for y in _flat(part)] if isinstance(x, list) else [x]


@pytest.mark.parametrize("call", CASES)
def test_as_torch(call: str) -> None:
    kind, told = _outcome(torch, call)
    found, words = _outcome(jtorch, call)
    assert found == kind, words
    if isinstance(told, str):
        assert words == told
    else:
        values, expected = _flat(words), _flat(told)
        assert values == pytest.approx(expected, rel=1e-5, abs=1e-6, nan_ok=True) and len(
            values
        ) == len(expected)


def test_the_cases_are_of_both_kinds() -> None:
    refused = sum(isinstance(_outcome(torch, call)[1], str) for call in CASES)
    assert refused > len(CASES) / 2
    assert len(CASES) - refused > 20
