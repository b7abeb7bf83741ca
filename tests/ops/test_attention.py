"""Scaled dot product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import _attention_blocks, attention

F = torch.nn.functional


def _qkv(*shape: int, seed: int = 0) -> list[torch.Tensor]:
    r = np.random.RandomState(seed)
    return [torch.tensor(r.randn(*shape), requires_grad=True) for _ in range(3)]


def test_is_softmax_of_scores() -> None:
    q, k, v = _qkv(2, 5, 4)
    expected = (q @ k.mT / 2).softmax(-1) @ v
    np.testing.assert_allclose(
        F.scaled_dot_product_attention(q, k, v).detach().numpy(), expected.detach().numpy(), 1e-12
    )
    wanted = torch.autograd.grad(expected.sin().sum(), (q, k, v))
    found = torch.autograd.grad(F.scaled_dot_product_attention(q, k, v).sin().sum(), (q, k, v))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-12)


def test_causal_positions_see_nothing_later() -> None:
    q, k, v = _qkv(1, 6, 4)
    first = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    k2, v2 = k.detach().clone(), v.detach().clone()
    k2[:, 3:], v2[:, 3:] = 7.0, -7.0
    second = F.scaled_dot_product_attention(q, k2, v2, is_causal=True)
    assert (first[:, :3] == second[:, :3]).all()
    assert (first[:, 3:] - second[:, 3:]).abs().max().item() > 1e-3


@pytest.mark.parametrize(
    "mask",
    [
        torch.tensor([[True, False], [False, False]]),
        torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]]),
    ],
)
def test_rows_that_may_attend_to_nothing_are_zero(mask: torch.Tensor) -> None:
    q, k, v = _qkv(2, 3)
    y = F.scaled_dot_product_attention(
        q, k, v, mask.to(q.dtype) if mask.is_floating_point() else mask
    )
    np.testing.assert_allclose(y[0].detach().numpy(), v[0].detach().numpy())
    assert y[1].tolist() == [0, 0, 0]
    y.sum().backward()
    for x in (q, k, v):
        assert torch.isfinite(x.grad).all()
    assert v.grad[1].tolist() == [0, 0, 0]


def test_grouped_heads_are_repeated_heads() -> None:
    q, _, _ = _qkv(2, 4, 3, 5)
    k, v, _ = _qkv(2, 2, 3, 5, seed=1)
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    repeated = [x.repeat_interleave(2, 1) for x in (k, v)]
    expected = F.scaled_dot_product_attention(q, *repeated)
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), 1e-12)
    for a, b in zip(
        torch.autograd.grad(y.sin().sum(), (q, k, v)),
        torch.autograd.grad(expected.sin().sum(), (q, k, v)),
        strict=True,
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-12)


def test_many_probabilities_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule gives the same gradients from logarithms of sums as from the probabilities."""
    r = np.random.RandomState(0)
    q, k, v, g, mask = (r.randn(*s) for s in [(2, 3, 4)] * 4 + [(3, 3)])
    found = []
    for limit in (1 << 26, 0):
        monkeypatch.setattr(attention, "_KEEP_AT_MOST", limit)
        _, residuals = attention._attention_fwd(q, k, v, mask)
        found.append(attention._attention_rule(g, residuals, q, k, v, mask))
        assert residuals[0].shape[-1] == (3 if limit else 1)
    for a, b in zip(found[0][:4], found[1][:4], strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-12)


@pytest.mark.parametrize(
    ("mask", "options"),
    [
        (None, {"is_causal": True, "keep": True}),
        ((8, 6), {"is_causal": True}),
        ((1, 1, 1, 6), {"bool": True}),
        ((2, 4, 8, 6), {}),
        ((8, 1), {}),
        ((2, 1, 8, 6), {}),  # such masks are not divided
    ],
)
def test_blocks_give_what_the_whole_gives(
    monkeypatch: pytest.MonkeyPatch, mask: Any, options: dict[str, bool]
) -> None:
    """Whole matrices in groups, and rows in groups, with the gradients of all operands."""
    r = np.random.RandomState(0)
    q, k, v, g = (r.randn(*s) for s in [(2, 4, 8, 5), (2, 4, 6, 5), (2, 4, 6, 5), (2, 4, 8, 5)])
    given = None if mask is None else r.randn(*mask)
    if "bool" in options:
        given = given > 0
    keep = r.rand(2, 4, 8, 6) if "keep" in options else None
    how = {"is_causal": "is_causal" in options}
    found = []
    monkeypatch.setattr(_attention_blocks, "_FEWEST_ROWS", 2)
    for start, size, blocks in (
        (1 << 21, 0, None),
        (0, 96, ((8, 4), (8, 1))),
        (0, 12, ((8, 8), (8, 4))),
    ):
        monkeypatch.setattr(_attention_blocks, "_FROM", start)
        monkeypatch.setattr(_attention_blocks, "_IN_A_BLOCK", size)
        assert attention._blocks(q, k, given) == (None if mask == (2, 1, 8, 6) else blocks)
        out, residuals = attention._attention_fwd(q, k, v, given, keep, **how)
        rule = attention._attention_rule(g, residuals, q, k, v, given, keep, **how)
        found.append([out, *[x for x in rule if x is not None]])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def test_one_key_has_all_weight_however_many_queries_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_attention_blocks, "_FROM", 1)
    monkeypatch.setattr(_attention_blocks, "_IN_A_BLOCK", 64)
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, n, 4, requires_grad=True) for n in (136, 1, 1))
    torch.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    assert v.grad.tolist() == [[[136.0] * 4]] * 2
    assert not q.grad.any() and not k.grad.any()


def test_dropout_scales_what_is_kept() -> None:
    torch.manual_seed(0)
    q = k = torch.zeros(1, 2000)
    keys, values = torch.zeros(2000, 2000), torch.ones(2000, 1)
    y = F.scaled_dot_product_attention(q, keys, values, dropout_p=0.25)
    assert y.item() == pytest.approx(1, rel=0.1)
    assert y.item() != 1
    assert k is q


def test_weights_of_multi_head_attention() -> None:
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 2)
    x = torch.tensor(np.random.RandomState(0).randn(5, 3, 8).astype("float32"))
    with_weights, weights = layer(x, x, x)
    without, none = layer(x, x, x, need_weights=False)
    assert none is None
    assert weights.shape == (3, 5, 5)
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1, 1e-5)
    np.testing.assert_allclose(with_weights.detach().numpy(), without.detach().numpy(), 1e-4, 1e-5)


def test_mask_and_causal_are_refused_together() -> None:
    q, k, v = _qkv(2, 3)
    with pytest.raises(
        RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"
    ):
        F.scaled_dot_product_attention(q, k, v, torch.ones(2, 2, dtype=torch.bool), is_causal=True)
    q = torch.randn(1, 2, 3, 4)
    mask = torch.ones(3, 3, requires_grad=True)
    for refused in (
        lambda: F.scaled_dot_product_attention(q, q, q, mask, is_causal=True),
        lambda: F.scaled_dot_product_attention(
            q, q, q, mask.detach(), is_causal=True, dropout_p=0.5
        ),
        lambda: F.scaled_dot_product_attention(q, q, q[..., :2], mask.detach(), is_causal=True),
    ):
        with pytest.raises(
            RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"
        ):
            refused()


@pytest.mark.parametrize("kind", [torch.bool, torch.float32])
def test_mask_and_causal_together(kind: torch.dtype) -> None:
    torch.manual_seed(0)
    q, k = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 5, 4)
    mask = (torch.randn(3, 5) > -1).to(kind)
    below = torch.ones(3, 5, dtype=torch.bool).tril()
    both = mask & below if kind is torch.bool else mask.masked_fill(~below, float("-inf"))
    found = F.scaled_dot_product_attention(q, k, k, mask, is_causal=True)
    expected = F.scaled_dot_product_attention(q, k, k, both)
    torch.testing.assert_close(found, expected)
    grads = [torch.autograd.grad(out.sin().sum(), q)[0] for out in (found, expected)]
    torch.testing.assert_close(*grads)


def test_result_lies_in_memory_as_the_queries() -> None:
    heads_inside = torch.randn(2, 3, 4, 8).transpose(1, 2)
    mask = torch.zeros(3, 3)
    for fused in (
        F.scaled_dot_product_attention(heads_inside, heads_inside, heads_inside),
        F.scaled_dot_product_attention(
            heads_inside, heads_inside.contiguous(), heads_inside, mask, is_causal=True
        ),
        F.scaled_dot_product_attention(heads_inside.requires_grad_(), heads_inside, heads_inside),
    ):
        assert fused.stride() == (96, 8, 32, 1)
        assert fused.transpose(1, 2).view(2, 3, 32).shape == (2, 3, 32)
    for apart in (
        F.scaled_dot_product_attention(heads_inside, heads_inside, heads_inside, dropout_p=0.5),
        F.scaled_dot_product_attention(
            heads_inside, heads_inside, heads_inside, mask.requires_grad_()
        ),
        F.scaled_dot_product_attention(heads_inside, heads_inside.mT.contiguous().mT, heads_inside),
    ):
        assert apart.stride() == (96, 24, 8, 1)
