"""Modules in programs of JAX: pure functions of their state, random numbers from keys, and no
tracer that stays behind."""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
import pytest
import scipy.stats

import jtorch as torch
from jtorch._higher_order_ops import scan
from jtorch._src.facts import warned_once
from jtorch.utils.checkpoint import checkpoint


def test_functionalize() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    before = {k: v.clone() for k, v in module.state_dict().items()}
    apply, params, buffers = torch.jax.functionalize(module)
    assert (
        params.keys() == dict(module.named_parameters()).keys()
        and buffers.keys() == dict(module.named_buffers()).keys()
    )
    x = torch.randn(5, 3)
    made, new = jax.jit(apply)(params, buffers, x.jax())
    assert isinstance(made, jax.Array) and all(
        torch.equal(v, before[k]) for k, v in module.state_dict().items()
    )
    expected = module(x)
    torch.testing.assert_close(torch.from_jax(made), expected.detach(), rtol=1e-5, atol=1e-6)
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(torch.from_jax(new[name]), buffer, rtol=1e-5, atol=1e-6)

    def loss(params):
        return (apply(params, buffers, x)[0] ** 3).sum()

    grads = jax.jit(jax.grad(loss))(params)
    (expected**3).sum().backward()
    for name, p in module.named_parameters():
        torch.testing.assert_close(torch.from_jax(grads[name]), p.grad, rtol=1e-4, atol=1e-5)


def test_functionalize_checks_names() -> None:
    apply, params, buffers = torch.jax.functionalize(torch.nn.Linear(2, 2))
    with pytest.raises(KeyError, match=r"missing \['bias'\], unknown \['b'\]"):
        apply({"weight": params["weight"], "b": params["bias"]}, buffers, jnp.ones(2))


def test_functionalize_keeps_ties_and_containers() -> None:
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (
                torch.nn.Linear(2, 2, bias=False),
                torch.nn.Linear(2, 2, bias=False),
            )
            self.second.weight = self.first.weight

        def forward(self, data, scale=1.0):
            y = self.second(self.first(data["x"]))
            return Output(y * scale, None)

    class Output(dict):
        def __init__(self, y, z):
            super().__init__(y=y, z=z)

    torch.utils._pytree.register_pytree_node(
        Output, lambda o: ([o["y"], o["z"]], None), lambda children, _: Output(*children)
    )
    apply, params, buffers = torch.jax.functionalize(Model())
    assert list(params) == ["first.weight"]
    ones, twice = jnp.array([1.0, 1.0], jnp.float32), 2 * jnp.eye(2, dtype=jnp.float32)
    found = jax.jit(lambda p: apply(p, buffers, {"x": ones}, scale=2.0)[0])({"first.weight": twice})
    assert type(found) is Output and found["y"].tolist() == [8.0, 8.0] and found["z"] is None


class Replacing(torch.nn.Module):
    """Puts another tensor in the place of its buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen = self.seen + x.sum(0)
        return x * 2


class Viewing(Replacing):
    """Writes into a part of its buffer."""

    def forward(self, x):
        self.seen[1:].add_(x[0, 1:])
        return x * 2


class Counting(Replacing):
    """Counts its calls, which depends on no value of JAX's."""

    def forward(self, x):
        self.seen.add_(1)
        return x * 2


class CountingInParts(Replacing):
    """Likewise, in a part of its buffer."""

    def forward(self, x):
        self.seen[1] += 1
        return x * 2


class CountingAnew(Replacing):
    """Likewise, with another tensor in the place of its buffer."""

    def forward(self, x):
        self.seen = self.seen + 1
        return x * 2


@pytest.mark.parametrize(
    "kind",
    [lambda: torch.nn.BatchNorm1d(3), Replacing, Viewing, Counting, CountingInParts, CountingAnew],
)
def test_no_state_changes_inside_a_transformation(kind) -> None:
    module = kind()
    before = [b.clone() for b in module.buffers()]
    x = torch.randn(4, 3)
    for call in (
        jax.jit(module),
        jax.jit(module.double().float()),
        jax.grad(lambda v: module(v).sum().jax()),
    ):
        with pytest.raises(RuntimeError, match="functionalize"):
            call(x)
    assert all(torch.equal(a, b) for a, b in zip(module.buffers(), before, strict=True))
    apply, params, buffers = torch.jax.functionalize(module)
    _, new = jax.jit(apply)(params, buffers, x)
    module(x)
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(torch.from_jax(new[name]), buffer)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_no_tracer_stays_in_a_parameter(optimizer) -> None:
    module = torch.nn.Linear(3, 1)
    before = module.weight.detach().clone()

    def step(v):
        opt = optimizer(module.parameters(), lr=0.1)
        for p in module.parameters():
            p.grad = v.sum().expand(p.shape).clone()
        opt.step()

    def write(v):
        with torch.no_grad():
            module.weight.sub_(v.sum())

    def put(v):
        module.weight.data = module.weight.data - v.sum()

    def back(v):
        module(v).sum().backward()

    for function in (write, put, back, step):
        with pytest.raises(RuntimeError, match="functionalize"):
            jax.jit(function)(torch.randn(4, 3))
        assert torch.equal(module.weight, before)
        for p in module.parameters():
            p.grad = None


def test_tensors_made_inside_may_change() -> None:
    def f(v):
        found = torch.zeros(3)
        found[1:] = v[1:]
        module = torch.nn.BatchNorm1d(2, affine=False)
        return found, module(v.expand(2, 3)[:, :2])

    assert jax.jit(f)(torch.ones(3))[0].tolist() == [0.0, 1.0, 1.0]


# ---- random numbers ------------------------------------------------------------------------------

D = torch.distributions
DRAWS = {
    "rand": lambda: torch.rand(4000),
    "randn": lambda: torch.randn(4000),
    "complex": lambda: torch.view_as_real(torch.randn(4000, dtype=torch.complex64)),
    "half": lambda: torch.rand(4000, dtype=torch.float16),
    "randint": lambda: torch.randint(-3, 9, (4000,)),
    "random_": lambda: torch.empty(4000, dtype=torch.uint8).random_(),
    "bernoulli": lambda: torch.bernoulli(torch.full((4000,), 0.3)),
    "bernoulli_": lambda: torch.empty(4000).bernoulli_(0.3),
    "dropout": lambda: torch.dropout(torch.ones(4000), 0.25, True),
    "exponential_": lambda: torch.empty(4000).exponential_(2.0),
    "geometric_": lambda: torch.empty(4000).geometric_(0.3),
    "log_normal_": lambda: torch.empty(4000).log_normal_(0.0, 0.5),
    "poisson": lambda: torch.poisson(torch.full((4000,), 3.0)),
    "binomial": lambda: torch.binomial(torch.full((4000,), 10.0), torch.full((4000,), 0.3)),
    "gamma": lambda: torch._standard_gamma(torch.full((4000,), 2.0)),
    "dirichlet": lambda: D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])).sample((2000,)),
    "multinomial": lambda: torch.multinomial(torch.tensor([0.1, 0.3, 0.6]), 4000, replacement=True),
    "without": lambda: torch.multinomial(torch.tensor([0.1, 0.3, 0.6]).expand(4000, 3), 2),
    "normal": lambda: torch.normal(torch.full((4000,), 5.0), 2.0),
    "von Mises": lambda: D.VonMises(torch.tensor([0.0, 1.0]), torch.tensor([0.5, 5.0])).sample(
        (4000,)
    ),
    "rrelu": lambda: torch.nn.functional.rrelu(torch.full((4000,), -1.0), training=True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_from_a_key(name) -> None:
    def draw(key):
        with torch.jax.with_key(key):
            return DRAWS[name](), DRAWS[name]()

    one, two = draw(jax.random.key(3))
    again = jax.jit(draw)(jax.random.key(3))[0]
    # fused, the last places differ
    torch.testing.assert_close(again.double(), one.double(), rtol=1e-3, atol=1e-6)
    assert not torch.equal(one, two)
    torch.manual_seed(0)
    with torch.random.fork_rng():
        usual = DRAWS[name]()
    assert one.dtype is usual.dtype and one.shape == usual.shape
    scale = usual.double().std(0) + 1e-9
    # 5 standard errors
    assert ((one.double().mean(0) - usual.double().mean(0)).abs() / scale < 0.12).all()
    assert (one.double().std(0) / scale - 1).abs().max() < 0.25
    many = jax.vmap(draw)(jax.random.split(jax.random.key(1), 2))[0]
    assert not torch.equal(many[0], many[1])


class _Shaken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * torch.rand(3)

    @staticmethod
    def backward(ctx, g):
        return g


#: What JAX traces apart from the function around it, and draws.
DRAWING_INSIDE = {
    "function": _Shaken.apply,
    "dirichlet": lambda x: D.Dirichlet(x).rsample(),
    "cond": lambda x: torch.cond(
        x.sum() > 0, lambda x: x + torch.rand(3), lambda x: x - torch.rand(3), (x,)
    ),
    "while": lambda x: torch.while_loop(
        lambda n, x: n < 3, lambda n, x: (n + 1, x + torch.rand(3)), (x.sum() * 0, x)
    )[1],
    "scan": lambda x: scan(lambda c, x: (c + x * torch.rand(()), c + 0), x[0], x)[0],
}


@pytest.mark.parametrize("name", DRAWING_INSIDE)
def test_later_draws_go_on_from_the_key_that_inner_ones_left(name) -> None:
    def draw(key, x):
        with torch.jax.with_key(key):
            return DRAWING_INSIDE[name](x), torch.rand(3), torch.rand(3)

    given = jax.random.key(3), torch.tensor([0.5, 1.0, 2.0])
    for a, b in zip(draw(*given), jax.jit(draw)(*given), strict=True):
        torch.testing.assert_close(a, b)


def test_permutation_and_cauchy_from_a_key() -> None:
    with torch.jax.with_key(jax.random.key(0)):
        order, wide = torch.randperm(50), torch.empty(4000).cauchy_(2.0, 0.5)
    assert sorted(order.tolist()) == list(range(50)) and order.tolist() != list(range(50))
    assert abs(wide.median().item() - 2) < 0.1


def test_keys_of_the_old_kind_blocks_and_generators() -> None:
    with torch.jax.with_key(jax.random.PRNGKey(0)):
        old = torch.rand(3)
    with torch.jax.with_key(jax.random.key(0)):
        first = torch.rand(3)
        with torch.jax.with_key(jax.random.key(0)):
            inner = torch.rand(3)
        second = torch.rand(3)
        own = torch.rand(3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(old, first) and torch.equal(inner, first) and not torch.equal(second, first)
    torch.manual_seed(0)
    assert torch.equal(torch.rand(3), own)
    for wrong in (3, jnp.zeros(2), jax.random.split(jax.random.key(0))):
        with pytest.raises(TypeError, match="one key"), torch.jax.with_key(wrong):
            pass


def test_angles_from_a_key_where_parameters_are_traced() -> None:
    def draw(key, concentration, outside=None):
        with torch.jax.with_key(key):
            return (
                outside or D.VonMises(torch.zeros(2), concentration, validate_args=False)
            ).sample((3,)), torch.rand(2)

    key, other, strength = jax.random.key(0), jax.random.key(1), torch.tensor([0.5, 5.0])
    angles, after = draw(key, strength)
    jitted = jax.jit(draw)(key, strength)
    torch.testing.assert_close(jitted[0], angles, rtol=1e-4, atol=1e-5)
    assert torch.equal(jitted[1], after)
    both = jax.vmap(draw, in_axes=(0, None))(jax.random.split(key), strength)[0]
    for mine, k in zip(both, jax.random.split(key), strict=True):
        torch.testing.assert_close(mine, draw(k, strength)[0], rtol=1e-4, atol=1e-5)
    made = D.VonMises(torch.zeros(2), strength)
    for k in (key, other):  # what the distribution keeps of the first run is no tracer
        found = jax.jit(lambda k: draw(k, None, made))(k)[0]
        torch.testing.assert_close(found, draw(k, strength)[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="with_key"):
        jax.jit(lambda c: D.VonMises(0.0 * c, c, validate_args=False).sample())(strength)


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_states_inside_with_key(kind: str) -> None:
    """What is drawn after a state is set is what was drawn after it was asked for."""

    def draw(key):
        with torch.jax.with_key(key):
            torch.rand(1)
            state = torch.get_rng_state()
            first = torch.rand(2), torch.rand(2)
            torch.set_rng_state(state)
            again = torch.rand(2), torch.rand(2)
            torch.set_rng_state(state)
            with torch.random.fork_rng():
                forked = torch.rand(2)
            return *first, *again, forked, torch.rand(2), state

    key = jax.random.key(0, impl=kind)
    for run in (draw, jax.jit(draw)):
        one, two, three, four, five, six, state = run(key)
        assert (
            torch.equal(one, three)
            and torch.equal(two, four)
            and torch.equal(one, five)
            and torch.equal(one, six)
        )
        assert not torch.equal(one, two)
        with torch.jax.with_key(jax.random.key(7, impl=kind)):
            torch.set_rng_state(state)
            assert torch.equal(torch.rand(2), one)


def test_states_of_the_other_kind_are_refused() -> None:
    usual = torch.get_rng_state()
    with torch.jax.with_key(jax.random.key(0)):
        state = torch.get_rng_state()
        with pytest.raises(RuntimeError, match="with_key"):
            torch.set_rng_state(usual)
        with pytest.raises(RuntimeError, match="with_key"):
            torch.set_rng_state(torch.zeros_like(state))
        with pytest.raises(TypeError, match="ByteTensor"):
            torch.set_rng_state(state.int())
        with pytest.raises(TypeError, match="ByteTensor"):
            torch.set_rng_state(cast("torch.Tensor", 3))
    with (
        torch.jax.with_key(jax.random.key(0, impl="rbg")),
        pytest.raises(RuntimeError, match="same kind"),
    ):
        torch.set_rng_state(state)
    with pytest.raises(RuntimeError):
        torch.set_rng_state(state)
    assert torch.equal(torch.get_rng_state(), usual)


def test_keys_and_vmap_of_torch() -> None:
    with torch.jax.with_key(jax.random.key(0)):
        found = torch.vmap(lambda v: v + torch.rand(2), randomness="different")(torch.zeros(3, 1))
        same = torch.vmap(lambda v: v + torch.rand(2), randomness="same")(torch.zeros(3, 1))
        with pytest.raises(RuntimeError, match="randomness"):
            torch.vmap(lambda v: v + torch.rand(2))(torch.zeros(3, 1))
    assert not torch.equal(found[0], found[1]) and torch.equal(same[0], same[1])


def test_draws_that_a_compiled_function_would_repeat() -> None:
    warned_once._given.clear()
    with pytest.warns(UserWarning, match="with_key"):
        jax.jit(lambda v: torch.dropout(v, 0.5, True))(torch.ones(3))
    with pytest.raises(RuntimeError, match="with_key"):
        jax.jit(torch.bernoulli)(torch.full((3,), 0.5))

    @torch.compile
    def noisy(v):
        with torch.jax.with_key(jax.random.key(seeds.pop())):
            return v + torch.rand(3)

    seeds = [1, 1, 0]
    with pytest.warns(UserWarning, match="drawn from a JAX key"):
        found = [noisy(torch.zeros(3)) for _ in range(3)]
    assert not torch.equal(found[0], found[1]) and torch.equal(found[1], found[2])


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_checkpoints_draw_from_the_key_again(reentrant: bool, inside: bool) -> None:
    """The second computation has the numbers of the first, wherever backward is called."""

    def masked(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x)

    x = torch.ones(64, requires_grad=True)
    with torch.jax.with_key(jax.random.key(0)):
        y = checkpoint(masked, x, use_reentrant=reentrant)
        if inside:
            y.sum().backward()
    if not inside:
        y.sum().backward()
    assert torch.equal(y.detach(), x.grad)
    x.grad = None
    z = checkpoint(masked, x, use_reentrant=reentrant)  # from torch's generator
    with torch.jax.with_key(jax.random.key(0)):
        first = torch.rand(2)
    with torch.jax.with_key(jax.random.key(0)):
        z.sum().backward()
        assert torch.equal(torch.rand(2), first)  # nothing was drawn from this key
    assert torch.equal(z.detach(), x.grad)


def test_truncated_normal_numbers_come_from_keys_under_jit() -> None:
    @jax.jit
    def made(key: jax.Array) -> torch.Tensor:
        with torch.jax.with_key(key):
            return torch.nn.init.trunc_normal_(torch.empty(2000), 1.0, 2.0, -1.0, 2.0)

    one = made(jax.random.key(0))
    assert torch.equal(one, made(jax.random.key(0))) and not torch.equal(
        one, made(jax.random.key(1))
    )
    assert one.min() >= -1 and one.max() <= 2
    wanted = scipy.stats.truncnorm(-1, 0.5, loc=1, scale=2)
    assert (
        abs(float(one.mean()) - wanted.mean()) < 0.06
        and abs(float(one.std()) - wanted.std()) < 0.06
    )
