"""Packed batches of many lengths: rounded up to few shapes, with the values of their sequences run
alone."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch._src.bind.everything import _C
from jtorch._src.composites.rnn import _rounded
from jtorch._src.engine import Call, execution
from jtorch._src.engine.calls import CALLS
from jtorch._src.ops._declare import OPS
from jtorch.nn.utils.rnn import pack_sequence, unpack_sequence


def test_steps_are_rounded_up_by_little() -> None:
    assert [_rounded(n) for n in (0, 1, 7, 8)] == [0, 1, 7, 8]
    assert [_rounded(n) for n in (9, 16, 17, 33, 100)] == [10, 16, 18, 36, 104]
    assert all(n <= _rounded(n) <= n * 9 / 8 for n in range(16, 3000))
    assert len({_rounded(n) for n in range(1, 1000)}) < 70


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_rounding_does_not_show(kind: str) -> None:
    torch.manual_seed(0)
    net = getattr(torch.nn, kind)(2, 3, bidirectional=True).double()
    sequences = [torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in (11, 9, 1)]
    packed, state = net(pack_sequence(sequences))
    assert packed.data.shape == (21, 6)
    final = state[0] if kind == "LSTM" else state
    for i, (sequence, out) in enumerate(zip(sequences, unpack_sequence(packed), strict=True)):
        alone = sequence.detach().requires_grad_()
        want, after = net(alone)
        assert torch.allclose(out, want) and torch.allclose(
            final[:, i], after[0] if kind == "LSTM" else after
        )
        (got,) = torch.autograd.grad(out.sin().sum(), sequence, retain_graph=True)
        (expected,) = torch.autograd.grad(want.sin().sum(), alone)
        assert torch.allclose(got, expected)


def test_dropout_falls_on_the_sequences_alone() -> None:
    net = torch.nn.GRU(2, 4, num_layers=2, dropout=0.5)
    packed = pack_sequence([torch.ones(n, 2) for n in (11, 3)])
    torch.manual_seed(3)
    net(packed)
    after = torch.rand(1)
    torch.manual_seed(3)
    torch.nn.functional.dropout(torch.ones(14, 4), 0.5, True)
    assert torch.equal(after, torch.rand(1))


def test_lengths_share_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    inner = _C._rnn_packed
    monkeypatch.setattr(
        _C, "_rnn_packed", lambda *args: seen.append((args[0].shape, args[1].shape)) or inner(*args)
    )
    net = torch.nn.RNN(1, 2)
    for lengths in ([9, 4], [10, 2], [9, 9], [10, 10]):
        net(pack_sequence([torch.ones(n, 1) for n in lengths]))
    assert set(seen) == {((20, 1), (10,))}


def test_a_trace_seen_once_leaves_the_program_apart() -> None:
    """What surrounds the op changes its shapes: compiled into the trace, it would be compiled again
    for each."""
    assert OPS["_C._rnn_packed"].apart
    net = torch.nn.GRU(1, 5)
    with execution("deferred"):
        for lengths in ([13, 4], [14, 2], [13, 13]):
            packed, _ = net(pack_sequence([torch.ones(n, 1) for n in lengths]))
            packed.data.mul(2).add(1).sin().exp().sum().backward()
            assert net.weight_hh_l0.grad is not None
            net.weight_hh_l0.grad.sum().item()
    calls = [
        c
        for c in _calls("_rnn_packed", "_rnn_packed_backward")
        if any(a[0].shape[0] == 28 for a in c.shapes)
    ]
    assert {c.name for c in calls} == {"_rnn_packed", "_rnn_packed_backward"} and all(
        c.apart for c in calls
    )


def _calls(*names: str) -> list[Call]:
    return [c for c in CALLS if c.name in names]
