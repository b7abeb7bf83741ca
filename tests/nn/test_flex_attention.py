"""Attention with functions for scores and masks, against the formula; block masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn.attention import bias
from jtorch.nn.attention import flex_attention as flex


def formula(q: Any, k: Any, v: Any, change: Any = None, mask: Any = None) -> Any:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    scores = scores if change is None else change(scores)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ v


def tensors(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        torch.tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True) for s in shapes
    ]


def test_scores_masks_and_gradients() -> None:
    q, k, v = tensors((2, 2, 6, 4), (2, 2, 6, 4), (2, 2, 6, 3))
    (table,) = tensors((11,))
    i = torch.arange(6)
    distance = i[:, None] - i[None, :]
    causal = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 6, 6, BLOCK_SIZE=4)
    got = flex.flex_attention(
        q, k, v, score_mod=lambda s, b, h, q, k: s + table[q - k + 5], block_mask=causal
    )
    want = formula(q, k, v, lambda s: s + table[distance + 5], distance >= 0)
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-6)
    found, expected = (torch.autograd.grad((x * x).sum(), [q, k, v, table]) for x in (got, want))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-5)


def test_rows_without_keys_are_zero_and_have_no_gradient() -> None:
    q, k, v = tensors((1, 1, 3, 2), (1, 1, 3, 2), (1, 1, 3, 2))
    mask = flex.create_block_mask(lambda b, h, q, k: (q > 0) & (k < q), 1, 1, 3, 3)
    out, lse = flex.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert out[0, 0, 0].tolist() == [0, 0]
    assert lse[0, 0, 0].item() == -math.inf
    out.sum().backward()
    assert q.grad[0, 0, 0].tolist() == [0, 0]
    assert not torch.isnan(k.grad).any()


def test_grouped_queries() -> None:
    q, k, v = tensors((1, 4, 5, 2), (1, 2, 5, 2), (1, 2, 5, 2))
    got = flex.flex_attention(q, k, v, enable_gqa=True)
    want = formula(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-6)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex.flex_attention(q, k, v)


def test_block_masks() -> None:
    mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 200)
    assert mask.kv_num_blocks.tolist() == [[[1, 1]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1]]]
    assert mask.kv_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert mask.q_indices.tolist() == [[[[0, 1], [1, 0]]]]
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert repr(mask).startswith(
        "BlockMask(\n"
        "    kv_num_blocks=torch.Size([1, 1, 2]),\n"
        "    kv_indices=torch.Size([1, 1, 2, 2]),\n"
    )
    assert str(mask) == "BlockMask(shape=(1, 1, 256, 200), sparsity=4.00%, \n(0, 0)\n██  \n████\n)"
    assert mask[0].shape == mask[0, 0].shape == (1, 1, 256, 200)
    both = flex.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    assert flex.create_mask(both, None, None, 3, 3)[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
    ]
    either = flex.or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0)
    assert flex.create_mask(either, None, None, 2, 2)[0, 0].tolist() == [
        [True, False],
        [True, True],
    ]
    q = torch.zeros(1, 1, 4, 2)
    with pytest.raises(ValueError, match="larger length"):
        flex.flex_attention(q, q, q, block_mask=mask)
    assert mask._adjust(100, 100).shape == (1, 1, 100, 100)


def test_causal_biases() -> None:
    q, k = tensors((1, 1, 3, 2), (1, 1, 5, 2))
    for made, offset in ((bias.causal_lower_right(3, 5), 2), (bias.causal_upper_left(3, 5), 0)):
        mask = torch.ones(3, 5).tril(offset).bool()
        got = torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=made)
        np.testing.assert_allclose(
            got.detach().numpy(), formula(q, k, k, None, mask).detach().numpy(), atol=1e-6
        )
        assert made._materialize().tolist() == mask.tolist()


def test_an_empty_mask_hides_nothing():
    q, k = torch.rand(1, 2, 5, 4), torch.rand(1, 2, 7, 4)
    mask = flex._create_empty_block_mask(q, k)
    assert mask.seq_lengths == (1, 1)
    assert mask.kv_num_blocks.tolist() == [[[1]]]
    want = flex.flex_attention(q, k, k)
    assert torch.equal(flex.flex_attention(q, k, k, block_mask=mask), want)
