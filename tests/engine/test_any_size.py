"""Elementwise kernels are traced once for all sizes."""

import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import any_size, calls, tracing
from jtorch._src.engine.calls import Call, shapes_of
from jtorch._src.engine.values import aval_of, default_device
from jtorch._src.ops._kernel import forget_calls

SHAPES = [(3, 4), (7, 5), (2, 3), (4, 1), (1, 6), (9, 2)]


@pytest.fixture
def traced(monkeypatch):
    """The names of kernels that are traced, as they are; nothing is known from earlier."""
    names = []
    real = tracing.traced

    def watched(call, avals):
        names.append(call.name)
        return real(call, avals)

    monkeypatch.setattr(tracing, "traced", watched)
    monkeypatch.setattr(calls.programs, "remembered", lambda key: None)
    forget_calls()
    yield names
    forget_calls()


def _aval(*shape, dtype="float32"):
    return aval_of(shape, np.dtype(dtype), default_device())


def test_once_for_all_sizes(traced):
    for shape in SHAPES[:3]:
        x, y = (
            np.random.RandomState(0).rand(*shape).astype("f"),
            np.random.RandomState(1).rand(shape[-1]).astype("f"),
        )
        found = torch.hypot(torch.from_numpy(x), torch.from_numpy(y)) * 2 + 1
        np.testing.assert_allclose(found.numpy(), np.hypot(x, y) * 2 + 1, rtol=1e-6)
    assert sorted(n for n in traced if n in ("hypot", "mul", "add")) == ["add", "hypot", "mul"]


def test_axes_of_one_are_apart(traced):
    for a, b in [((3, 1), (1, 4)), ((3, 4), (3, 4)), ((5, 1), (1, 7)), ((5, 7), (5, 7))]:
        x, y = (
            np.arange(np.prod(a), dtype="f").reshape(a),
            np.arange(np.prod(b), dtype="f").reshape(b),
        )
        np.testing.assert_array_equal(
            torch.sub(torch.from_numpy(x), torch.from_numpy(y)).numpy(), x - y
        )
    assert traced.count("sub") == 2


def test_derivatives(traced):
    for shape in SHAPES[:3]:
        x = torch.linspace(0.1, 1, int(np.prod(shape))).reshape(shape).requires_grad_()
        y = torch.full(shape, 2.0)
        (torch.atan2(x, y)).sum().backward()
        np.testing.assert_allclose(
            x.grad.numpy(), (y / (x * x + y * y)).detach().numpy(), rtol=1e-5
        )
    assert traced.count("atan2_backward") <= 2  # once for what it needs, once to be run


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((0, 3), (1, 3))])
def test_none_without_common_sizes_or_elements(shapes):
    assert any_size.sizes_of([_aval(*s) for s in shapes]) is None


def test_operands_that_do_not_go_together():
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.add(torch.ones(2, 3), torch.ones(2, 4)).sum().item()


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x - jnp.mean(x, keepdims=True),
        lambda x: x + jnp.arange(x.shape[-1], dtype="float32")[None],
        lambda x: x + jnp.asarray(np.ones(x.shape, "f")),
        lambda x: jnp.broadcast_to(x[:1], x.shape),
        lambda x: x.T if x.shape[0] == x.shape[1] else x[::-1],
    ],
)
def test_what_is_not_elementwise_is_traced_for_each_shape(fn):
    call = Call("odd", fn)
    call.general = any_size.general
    for shape in SHAPES:
        found = shapes_of(call, (_aval(*shape),), default_device())
        assert found.outs.shape == shape
        # along an axis of one element more is elementwise
        assert found.fitting is None or 1 in shape
        x = np.random.RandomState(0).rand(*shape).astype("f")
        np.testing.assert_allclose(
            np.asarray(found.run(x)), np.asarray(fn(jnp.asarray(x))), rtol=1e-6, atol=1e-6
        )


def test_recipes_have_the_sizes_of_the_call():
    call = Call(
        "even", lambda x, y: jnp.where(x > y[None], jnp.exp(x), jnp.broadcast_to(y[None], x.shape))
    )
    call.general = any_size.general
    for shape in SHAPES:
        avals = _aval(*shape), _aval(shape[-1])
        fitting = any_size.fitting(call, avals)
        assert fitting is not None
        recipe = fitting.recipe()
        assert [i.shape for i in recipe.ins] == [shape, shape[-1:]]
        assert all(
            out.shape in (shape, shape[-1:], (1, shape[-1])) for s in recipe.steps for out in s.outs
        )
    assert len(call.forms) == 3
