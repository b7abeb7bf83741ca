"""Attention and encoder layers in one call compute and refuse what PyTorch's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

_DRAWN = np.random.default_rng(0)
_SHAPES = {
    "x": (2, 3, 4), "y": (2, 3, 4), "s": (2, 2, 3, 3),
    "W": (12, 4), "b": (12,), "P": (4, 4), "p": (4,), "A": (6, 4), "a": (6,), "B": (4, 6),
}  # fmt: skip
_ARRAYS = {name: _DRAWN.normal(size=shape).astype(np.float32) for name, shape in _SHAPES.items()}
_MASKS = {
    "m": [[False, False, True], [False, True, True]],
    "t": [[False, True, True], [False, False, True], [False, False, False]],
}

CALLS = [
    "n._native_multi_head_attention(x, x, x, 4, 2, W, b, P, p)",
    "n._native_multi_head_attention(x, y, x, 4, 2, W, b, P, p, None, True, False)",
    "n._native_multi_head_attention(x, x, x, 4, 2, W, b, P, p, m, True, True, 1)",
    "n._native_multi_head_attention(x, x, x, 4, 2, W, b, P, p, t, False, True, 0)",
    "n._native_multi_head_attention(x, x, x, 4, 2, W, b, P, p, t, False)",
    "n._native_multi_head_attention(x, x, x, 4, 3, W, b, P, p)",
    "n._native_multi_head_attention(x, x[:1], x, 4, 2, W, b, P, p)",
    "n._native_multi_head_attention(x, x, x, 4, 2, W[:4], b, P, p)",
    "n._masked_softmax(s, m, 3, 1)", "n._masked_softmax(s, t, 1, 0)",
    "n._masked_softmax(s, m, 3, 0)", "n._masked_softmax(s, t, 3, 1)", "n._masked_softmax(s, t, 3)",
    "n._masked_softmax(s, t, 3, 3)", "n._masked_softmax(s, t.expand(2, 2, 3, 3), None, 2)",
    "n._masked_softmax(s[0, 0], t, 0)", "n._masked_softmax(s[0, 0], m, 0, 2)",
    "n._masked_softmax(s, s, 3, 2)", "n._masked_softmax(s[0, 0], ~t & ~t.T, 1)",
    "n._transform_bias_rescale_qkv(x @ W.T, b, 2)",
    *[
        (f"n._transformer_encoder_layer_fwd(x, 4, 2, W, b, P, p, {g}, {f}, 1e-5, p, P[0], P[1], "
         f"P[2], A, a, B, p, {m})")
      for g in (True, False) for f, m in ((True, "m, 1"), (False, "None"))],
]  # fmt: skip


def _outcome(n: Any, text: str) -> Any:
    names = {k: n.tensor(v) for k, v in {**_ARRAYS, **_MASKS}.items()}
    try:
        found = eval(text, {"n": n, **names})
    except RuntimeError as error:
        return str(error)
    return [
        None if x is None else x.numpy() for x in (found if isinstance(found, tuple) else (found,))
    ]


@pytest.mark.parametrize("text", CALLS)
def test_calls(text: str) -> None:
    got, want = _outcome(jtorch, text), _outcome(torch, text)
    if isinstance(want, str):
        assert got == want
    else:
        assert [x is None for x in got] == [x is None for x in want]
        for a, b in zip(got, want, strict=True):
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_attention_with_the_kernels_that_are_left() -> None:
    """Where ``sdpa_kernel`` leaves what PyTorch has no kernel for on the CPU, it is refused, and
    the choice is PyTorch's."""

    def told(n: Any, kinds: list[str], shape: Any, given: Any, f: Any) -> Any:
        q = n.ones(shape)
        options = {
            k: n.ones(4, 4, dtype=n.bool) if k == "attn_mask" else x for k, x in given.items()
        }
        with n.nn.attention.sdpa_kernel([getattr(n.nn.attention.SDPBackend, k) for k in kinds]):
            try:
                found = f(n)(q, q, q, **options)
            except RuntimeError as error:
                return str(error)
        return found if isinstance(found, int) else tuple(found.shape)

    for kinds in (
        ["MATH"],
        ["FLASH_ATTENTION"],
        ["EFFICIENT_ATTENTION"],
        ["EFFICIENT_ATTENTION", "MATH"],
        ["FLASH_ATTENTION", "MATH"],
    ):
        for shape in ((2, 2, 4, 8), (2, 4, 8)):
            for given in (
                {},
                {"attn_mask": True},
                {"is_causal": True},
                {"attn_mask": True, "is_causal": True},
                {"dropout_p": 0.5},
            ):
                for f in (
                    lambda n: n.nn.functional.scaled_dot_product_attention,
                    lambda n: n._fused_sdp_choice,
                ):
                    assert told(jtorch, kinds, shape, given, f) == told(
                        torch, kinds, shape, given, f
                    ), (kinds, shape, given)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("average", [True, False])
def test_attention_of_nested_tensors(average: bool) -> None:
    def run(n: Any) -> Any:
        x, *rest = [n.tensor(_ARRAYS[name]) for name in ("x", "W", "b", "P", "p")]
        nested = n.nested.nested_tensor([x[0], x[1, :2]])
        found, weights = n._native_multi_head_attention(
            nested, nested, nested, 4, 2, *rest, None, True, average
        )
        return [t.numpy() for t in found.unbind()], weights[0].numpy()

    (ours, weights), (theirs, expected) = run(jtorch), run(torch)
    for a, b in zip([*ours, weights], [*theirs, expected], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
