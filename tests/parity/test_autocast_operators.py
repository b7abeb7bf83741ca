"""Operators called by name in blocks of autocast compute in the precisions that PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

#: Calls of ``n.ops.aten`` (``o``) with matrices ``a`` in float32 and ``h`` in bfloat16, and others.
CALLS = [
    "o.mm(a, a)", "o.mm.default(a, a)", "o.addmm(a, a, a)", "o.bmm(b, b)", "o.baddbmm(b, b, b)",
    "o.addbmm(a, b, b)", "o.matmul(a, a)", "o.linear(a, a)", "o.linear.default(a, a)",
    "o.conv1d(b, b)", "o.conv2d(i, i)", "o.conv_transpose2d(i, i)",
    "o.scaled_dot_product_attention(b, b, b)", "o.prod(h)", "o.prod.dim_int(h, 0)", "o.trace(h)",
    "o.cat([a, h])", "o.stack([a, h])", "o.mse_loss(h, h)", "o.l1_loss(h, h)",
    "o.smooth_l1_loss(h, h)", "o.huber_loss(h, h)", "o.kl_div(h, h)", "o.soft_margin_loss(h, h)",
    "o.binary_cross_entropy_with_logits(h, h)", "o.cross_entropy_loss(h, t)", "o.nll_loss_nd(h, t)",
    "o.cdist(h, h)", "o.avg_pool3d(v.bfloat16(), [1, 1, 1])", "o.linalg_vecdot(a, a)",
    "o.linalg_inv_ex(h)[0]", "o.linalg_qr(h)[0]", "o.softmax.int(h, 1)", "o.layer_norm(h, [3])",
    "o.add(a, a)", "o.mul(h, h)", "o.relu(h)", "o.sum(h)", "o.mv(a, a[0])", "o.dot(a[0], a[0])",
    "o.convolution(i, i, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
    "o.mm(a.double(), a.double())", "n._C._nn.linear(a, a)", "n._C._nn.mse_loss(h, h)",
    "o.reflection_pad1d(h, [1, 1])", "o.reflection_pad3d(v.bfloat16(), [0] * 6)",
    "o.replication_pad3d(v.bfloat16(), [1] * 6)",
    "n._C._nn.reflection_pad2d(b.bfloat16(), [1] * 4)", "o.pad(h, [1, 1], 'reflect')",
    "o.pad(h, [1, 1])", "n.nn.functional.pad(h, (1, 1))",
    "n.nn.functional.pad(h, (1, 1), mode='reflect')", ("n.nn.functional.pad(h, (1, 1), "
                                                       "mode='circular')"),
    "n.nn.ReplicationPad2d(1)(b.bfloat16())",
    "n.nn.functional.pad(v.bfloat16(), (0,) * 6, mode='reflect')",
    "n.nn.functional.pad(v.bfloat16(), (1,) * 6, 'replicate')", "o.inverse(h)",
    "o.pad(self=h, pad=[1, 1], mode='reflect')", "o.nll_loss(h, t)",
    "o.adaptive_max_pool3d(v.bfloat16(), [1, 1, 1])[0]",
    "n.nn.functional.adaptive_max_pool3d(v.bfloat16(), 1)", "n.qr(h)[0]", "o.orgqr(h, h[0])",
    "o._addmm_activation(a[0], a, a)",
]  # fmt: skip


def _dtype(n: Any, text: str) -> str:
    a = n.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 4.0]])
    names = {
        "a": a,
        "h": a.bfloat16(),
        "b": a.unsqueeze(0),
        "i": a[None, None],
        "v": a[None, None, None],
        "t": n.tensor([0, 1, 2]),
    }
    with n.autocast("cpu"):
        return str(eval(text, {"n": n, "o": n.ops.aten, **names}).dtype)


@pytest.mark.parametrize("text", CALLS)
def test_dtypes(text: str) -> None:
    assert _dtype(jtorch, text) == _dtype(torch, text)


def test_gradients_have_the_parameters_dtype() -> None:
    found = []
    for n in (jtorch, torch):
        w = n.ones(2, 2, requires_grad=True)
        with n.autocast("cpu"):
            out = n.ops.aten.mm(n.full((2, 2), 2.0), w)
        out.float().sum().backward()
        found.append((str(out.dtype), str(w.grad.dtype), w.grad.tolist()))
    assert found[0] == found[1]
