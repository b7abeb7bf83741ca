"""torchaudio's operators, against the plainest reading of what they compute; entered under
``torch.ops.torchaudio``."""

from __future__ import annotations

import itertools
import types

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.neighbours import torchaudio


@pytest.fixture(autouse=True)
def _operators() -> None:
    torchaudio.define()


def test_recursions_write_what_the_loops_of_samples_do() -> None:
    rng = np.random.default_rng(0)
    x, a, out = rng.normal(size=(2, 3, 9)), rng.uniform(-0.4, 0.4, (3, 3)), np.zeros((2, 3, 11))
    out[..., :2] = rng.normal(size=(2, 3, 2))  # values before the first
    expected = out.copy()
    for t in range(9):
        expected[..., t + 2] = x[..., t] - (expected[..., t : t + 3] * a).sum(-1)
    written = torch.tensor(out)
    row = written[1]
    assert (
        torch.ops.torchaudio._lfilter_core_loop(torch.tensor(x), torch.tensor(a), written)
        is written
    )
    np.testing.assert_allclose(written.numpy(), expected)
    np.testing.assert_allclose(row.numpy(), expected[1])

    wave, temp, last, state = (
        rng.normal(size=(2, 7)),
        rng.normal(size=(2, 7)),
        rng.normal(size=2),
        rng.normal(size=2),
    )
    before, after, made = (
        torch.tensor(last),
        torch.tensor(state),
        torch.zeros(2, 7, dtype=torch.float64),
    )
    torch.ops.torchaudio._overdrive_core_loop(
        torch.tensor(wave), torch.tensor(temp), before, after, made
    )
    for t in range(7):
        state, last = temp[:, t] - last + 0.995 * state, temp[:, t]
        np.testing.assert_allclose(made[:, t].numpy(), wave[:, t] * 0.5 + state * 0.75)
    np.testing.assert_allclose(after.numpy(), state)
    np.testing.assert_allclose(before.numpy(), last)


def test_loss_of_transducers_sums_over_all_paths() -> None:
    logits = torch.tensor(np.random.default_rng(0).normal(size=(2, 3, 3, 5)), requires_grad=True)
    targets, frames, labels = (
        torch.tensor([[1, 2], [3, 4]]),
        torch.tensor([3, 2]),
        torch.tensor([2, 1]),
    )

    def loss(grid: torch.Tensor, i: int) -> torch.Tensor:
        length, count = int(frames[i]), int(labels[i])
        totals = []
        for order in set(itertools.permutations("t" * (length - 1) + "u" * count)):
            t = u = 0
            total = grid[length - 1, count, 4]
            for way in order:
                total = total + (grid[t, u, 4] if way == "t" else grid[t, u, int(targets[i, u])])
                t, u = t + (way == "t"), u + (way == "u")
            totals.append(total)
        return -torch.stack(totals).logsumexp(0)

    targets[1, 1] = 0  # beyond the length
    for fused in (True, False):
        grid = logits.log_softmax(-1) if fused else logits
        expected = torch.stack([loss(grid[i], i) for i in range(2)])
        (slopes,) = torch.autograd.grad(expected.sum(), logits)
        costs, found = torch.ops.torchaudio.rnnt_loss_forward(
            logits, targets, frames, labels, -1, -1.0, fused
        )
        torch.testing.assert_close(costs, expected.detach())
        torch.testing.assert_close(found, slopes)
        clamped = torch.ops.torchaudio.rnnt_loss_forward(
            logits, targets, frames, labels, -1, 0.1, fused
        )[1]
        torch.testing.assert_close(clamped, slopes.clamp(-0.1, 0.1))


@pytest.mark.parametrize("labels", [[1, 1, 2], [3, 1], [2]])
def test_alignment_is_the_likeliest_path(labels: list[int]) -> None:
    log_probs = torch.tensor(np.random.default_rng(0).normal(size=(1, 6, 4))).log_softmax(-1)
    ways = [
        p
        for p in itertools.product(range(4), repeat=6)
        if [k for k, _ in itertools.groupby(p) if k] == labels
    ]
    best = max(ways, key=lambda p: sum(float(log_probs[0, t, c]) for t, c in enumerate(p)))
    targets = torch.tensor([labels], dtype=torch.int32)
    path, scores = torch.ops.torchaudio.forced_align(
        log_probs, targets, torch.tensor([6]), torch.tensor([len(labels)]), 0
    )
    assert path.tolist() == [list(best)] and path.dtype is torch.int32
    assert torch.equal(scores, log_probs)
    with pytest.raises(RuntimeError, match="too long for CTC"):
        torch.ops.torchaudio.forced_align(
            log_probs[:, : len(labels) - 1],
            targets,
            torch.tensor([len(labels) - 1]),
            torch.tensor([len(labels)]),
            0,
        )


def test_the_loader_of_the_package_finds_the_operators_here() -> None:
    module = types.ModuleType("torchaudio._extension.utils")
    vars(module)["_load_lib"] = lambda lib: lib == "other"
    torchaudio.adapt(module)
    assert [
        module._load_lib(name)
        for name in ("_torchaudio", "libtorchaudio", "other", "torchaudio_prefixctc")
    ] == [
        True,
        True,
        True,
        False,
    ]
    assert torch.ops._torchaudio.is_align_available() is True
    assert torch.ops._torchaudio.cuda_version() is None
