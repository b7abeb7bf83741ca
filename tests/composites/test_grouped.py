"""Products of groups, wherever their ends can be read and where they cannot."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch

F = torch.nn.functional
ENDS = torch.tensor([2, 6, 6, 11], dtype=torch.int32)  # an empty group, and rows of none

SHAPES = {
    "rows": ((12, 8), (4, 8, 5)),
    "columns": ((4, 5, 8), (8, 12)),
    "between": ((5, 12), (12, 7)),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_jit_gives_what_reading_gives(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = (torch.randn(*shape).to(dtype) for shape in SHAPES[kind])

    def traced(*arrays: jax.Array) -> jax.Array:
        x, y, ends = (torch.from_jax(v) for v in arrays)
        return F.grouped_mm(x, y, offs=ends).jax()

    found = jax.jit(traced)(a.jax(), b.jax(), ENDS.jax())
    wanted = F.grouped_mm(a, b, offs=ENDS)
    assert found.shape == tuple(wanted.shape)
    near = 1e-5 if dtype is torch.float32 else 0.02
    np.testing.assert_allclose(
        np.asarray(found, np.float32), wanted.float().numpy(), rtol=near, atol=near
    )


def test_gradients_under_jit() -> None:
    torch.manual_seed(0)
    a, b = (torch.randn(*shape, requires_grad=True) for shape in SHAPES["rows"])
    (F.grouped_mm(a, b, offs=ENDS) ** 2).sum().backward()

    def loss(x: jax.Array, y: jax.Array, ends: jax.Array) -> jax.Array:
        found = F.grouped_mm(torch.from_jax(x), torch.from_jax(y), offs=torch.from_jax(ends))
        return (found**2).sum().jax()

    found = jax.jit(jax.grad(loss, (0, 1)))(a.detach().jax(), b.detach().jax(), ENDS.jax())
    for x, g in zip((a, b), found, strict=True):
        np.testing.assert_allclose(g, x.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_an_export_has_one_operator_and_takes_other_ends() -> None:
    class Net(torch.nn.Module):
        def forward(self, a, b, ends):
            return F.grouped_mm(a, b, offs=ends)

    a, b = (torch.ones(*shape) for shape in SHAPES["rows"])
    program = torch.export.export(Net(), (a, b, ENDS))
    called = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert called == [torch.ops.aten._grouped_mm.default]
    other = torch.tensor([1, 2, 3, 4], dtype=torch.int32)
    assert torch.equal(program.module()(a, b, other), F.grouped_mm(a, b, offs=other))
