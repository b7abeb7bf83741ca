"""Every op rounds its result to its dtype, whatever it is compiled together with."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import Call, aval_of, default_device, execution, programs, shapes_of

PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "numbers": lambda x, y: (x * 0.3 + 1.7) * 0.9 - 0.1,
    "functions": lambda x, y: x.sin().exp().tanh(),
    "sums": lambda x, y: (x - x.mean(0)).square().mean(0).sqrt() * y,
    "products": lambda x, y: (x @ y).tanh() @ y,
    "softmax": lambda x, y: x.softmax(-1).softmax(-1).log(),
    "normalized": lambda x, y: torch.nn.functional.layer_norm(
        torch.nn.functional.layer_norm(x, (16,)) + y, (16,)
    ),
    "casts": lambda x, y: (x.float() / 3).to(x.dtype).float() * 3,
    "gradient": lambda x, y: torch.func.grad(lambda v: (v.sin() * y).exp().sum())(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_bfloat16_gives_what_its_ops_give_one_by_one(name: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (torch.tensor(rng.standard_normal((16, 16)), dtype=torch.bfloat16) for _ in range(2))
    with execution("immediate"):
        wanted = PROGRAMS[name](x, y).float().numpy()
    with execution("deferred"):
        for _ in range(3):  # op by op at first, then as one program
            np.testing.assert_array_equal(PROGRAMS[name](x, y).float().numpy(), wanted)
        compiled = torch.compile(PROGRAMS[name])
        np.testing.assert_array_equal(compiled(x, y).float().numpy(), wanted)


@pytest.mark.parametrize("kept", [True, False])
def test_a_kernel_rounds_where_it_says_so(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kept:
        monkeypatch.setattr(programs, "_place", lambda: None)
    call = Call(
        "there and back",
        lambda x: x.astype(jnp.bfloat16).astype(jnp.float32),
        identity=f"there and back {kept}",
    )
    x = jnp.array([0.1, 1 / 3], jnp.float32)
    shapes = shapes_of(call, (aval_of(x.shape, x.dtype, default_device()),), default_device())
    wanted = np.asarray(x.astype(jnp.bfloat16)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(shapes.run(x), wanted)
    np.testing.assert_array_equal(call.alone(x), wanted)


def test_programs_of_one_op_run_inside_a_jax_transformation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are compiled with options that JAX refuses for what is part of another program."""
    monkeypatch.setattr(programs, "_place", lambda: None)
    constant = torch.tensor([0.5, 2.25, 3.0])
    product = lambda t: t * torch.sqrt(constant + 1)  # noqa: E731
    x = torch.ones(3)
    with execution("immediate"):
        wanted = product(x).tolist()
        assert jax.jit(product)(x).tolist() == wanted
        assert product(x).tolist() == wanted
        assert jax.grad(lambda t: product(t).sum().jax())(x).tolist() == wanted


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_nothing_times_what_is_not_finite_is_no_number(mode: str) -> None:
    """XLA makes a choice between the factor and 0 of a product with a cast bool."""
    x = torch.tensor([float("nan"), float("inf"), 2.0])
    off = x == 2
    with execution(mode):
        for _ in range(3):
            products = [
                off * x,
                off.float() * x,
                off.double() * x,
                x * off.to(torch.bfloat16),
                (off.half() * x.half()),
                x.mul(off),
            ]
            products += [
                off.to(torch.complex64).real * x,
                torch.where(off, 1.0, 0.0) * x,
                (x * x).sgn() * x * (x == 2),
            ]
            for found in products:
                assert [str(v) for v in found.double().tolist()][:2] == ["nan", "nan"]
        v = torch.tensor(float("nan"), requires_grad=True)
        assert torch.autograd.grad((v * v).abs(), v)[0].isnan().item()
