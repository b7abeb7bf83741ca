"""Run by ``test_several_devices.py`` in a process of its own that has eight devices: tensors spread
over them."""

import copy
import io
import pickle
import sys

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jtorch as torch
from jtorch import nn

MESH = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
ROWS, WHOLE = PartitionSpec("d"), PartitionSpec()


def spec(t):
    """How a tensor is cut, which must be on all devices."""
    sharding = t.jax().sharding
    assert isinstance(sharding, NamedSharding) and len(sharding.device_set) == 8, sharding
    return sharding.spec


def raised(kind, call, words):
    with pytest.raises(kind, match=words):
        call()


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 3))


def train(net, optimizer, x, y):
    opt, losses = optimizer(net.parameters()), []
    for _ in range(6):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses


def training():
    x, y = torch.randn(16, 4), torch.randn(16, 3)
    for optimizer in (
        lambda p: torch.optim.Adam(p, lr=1e-2),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    ):
        plain = train(model(), optimizer, x, y)
        replicated = torch.shard(model(), MESH)
        np.testing.assert_allclose(
            train(replicated, optimizer, torch.shard(x, MESH, ROWS), torch.shard(y, MESH, ROWS)),
            plain,
            rtol=2e-5,
        )
        assert all(spec(p) == WHOLE for p in replicated.parameters())
        cut = torch.shard(
            model(), MESH, lambda name, p: ROWS if p.shape and p.shape[0] == 32 else None
        )
        assert spec(cut[0].weight) == ROWS and spec(cut[3].weight) == WHOLE
        np.testing.assert_allclose(train(cut, optimizer, torch.shard(x, MESH), y), plain, rtol=2e-5)


def operations():
    data = torch.randn(16, 4)
    x, w = torch.shard(data, MESH, ROWS), torch.shard(torch.randn(4, 3), MESH)
    assert x.device == torch.device("cpu") and torch.equal(x.cpu(), data) and repr(x) == repr(data)
    assert (
        spec(x)
        == spec(x + 1)
        == spec(x @ w)
        == spec(x * torch.tensor(2.0))
        == spec(x + torch.ones(16, 4))
        == ROWS
    )
    assert (
        spec(x.clone())
        == spec(copy.deepcopy(x))
        == spec(x.double())
        == spec(torch.where(x > 0, x, 0.0))
        == ROWS
    )
    assert (
        x[3].tolist() == data[3].tolist()
        and torch.equal(x[x > 0], data[data > 0])
        and x[torch.tensor([1, 2])].shape == (2, 4)
    )
    assert torch.equal(torch.cat([x, torch.ones(1, 4)]), torch.cat([data, torch.ones(1, 4)]))
    assert torch.equal(x.sort(0)[0], data.sort(0)[0]) and torch.equal(
        torch.linalg.inv(x[:4]).round(), torch.linalg.inv(data[:4]).round()
    )
    assert spec(torch.zeros_like(x) + x) == ROWS and (torch.randn_like(x) + x).shape == (16, 4)
    assert spec(torch.vmap(lambda row: row * 2)(x)) == ROWS
    assert torch.equal(torch.func.grad(lambda a: (a * a).sum())(x), 2 * data)
    f = torch.compile(lambda a, b: (a @ b).sin().sum())
    for _ in range(3):
        torch.testing.assert_close(f(x, w), (data @ w.to("cpu:0")).sin().sum())
    raised(IndexError, lambda: nn.functional.embedding(torch.tensor([99]), x), "index out of range")
    raised(RuntimeError, lambda: x @ torch.shard(torch.ones(5, 5), MESH), "cannot be multiplied")


def writing():
    data = torch.randn(16, 4)
    x = torch.shard(data, MESH, ROWS)
    view = x[2:5]
    view.add_(1)
    x[7] = 0.0
    data[2:5] += 1
    data[7] = 0.0
    assert torch.equal(x.to("cpu:0"), data) and spec(x) == ROWS
    x.copy_(torch.ones(16, 4))
    assert spec(x) == ROWS and x.sum().item() == 64
    x.copy_(torch.shard(torch.zeros(1, 4), MESH))
    assert spec(x) == ROWS and not x.any()
    net = torch.shard(model(), MESH, lambda name, p: ROWS if p.shape and p.shape[0] == 32 else None)
    net.load_state_dict(model().state_dict())
    assert spec(net[0].weight) == ROWS and torch.equal(net[0].weight.to("cpu:0"), model()[0].weight)


def moving():
    data = torch.randn(16, 4)
    x = torch.shard(data, MESH, ROWS)
    assert x.to("cpu") is x and x.to(x.device) is x and x.cpu() is x
    assert x.to("cpu:3").jax().devices() == {jax.devices()[3]} and x.to(
        "cpu:0"
    ).jax().devices() == {jax.devices()[0]}
    array = x.numpy()
    assert np.array_equal(array, data.numpy()) and spec(x) == ROWS
    raised(ValueError, lambda: array.__setitem__(0, 1), "read-only")
    for loaded in (pickle.loads(pickle.dumps(x)), torch_round_trip(x)):
        assert torch.equal(loaded, data) and len(loaded.jax().devices()) == 1
    w = nn.Parameter(torch.ones(8, 3))
    spread = torch.shard(w, MESH, ROWS)
    (spread * spread).sum().backward()
    assert w.grad.tolist() == [[2.0] * 3] * 8 and len(w.grad.jax().devices()) == 1
    gathered = spread.detach().requires_grad_()
    (gathered.to("cpu:0") * 3).sum().backward()
    assert spec(gathered.grad) is not None and gathered.grad.sum().item() == 72
    raised(TypeError, lambda: torch.shard(x, 3), "'mesh' must be jax.sharding.Mesh, not int")
    raised(
        TypeError,
        lambda: torch.shard(x, MESH, "d"),
        "'spec' must be jax.sharding.PartitionSpec, not str",
    )
    raised(TypeError, lambda: torch.shard(3, MESH), "must be Tensor or Module, not int")
    raised(ValueError, lambda: torch.shard(torch.ones(3), MESH, ROWS), "partitioned 8 times")
    raised(
        ValueError,
        lambda: torch.shard(torch.ones(8), MESH, PartitionSpec("e")),
        "not found in mesh",
    )
    net = nn.Linear(3, 8)
    raised(
        ValueError, lambda: torch.shard(net, MESH, PartitionSpec(None, "d")), "partitioned 8 times"
    )
    assert len(net.bias.jax().devices()) == 1  # nothing was changed


def torch_round_trip(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def under_jax():
    """What JAX spreads itself: a tensor where JAX would have put it is not bound to that device,
    however it was made."""
    double = jax.shard_map(lambda a: a * 2, mesh=MESH, in_specs=ROWS, out_specs=ROWS)
    other = jax.device_put(np.ones((8, 2), "float32"), NamedSharding(MESH, ROWS))
    ones = torch.ones(8, 4)
    for x in (
        ones[:, 2:] + 0,
        ones[:, :2],
        torch.from_numpy(np.ones((8, 2), "float32")),
        torch.ones(8, 2, device="cpu:0") * 1,
    ):
        assert (
            torch.equal(double(x).to("cpu:0"), x * 2)
            and len(jax.jit(lambda a, b: a + b.jax())(other, x).devices()) == 8
        )
        x += 1
        assert x.sum().item() == 32 and x.device == torch.device("cpu")
    raised(ValueError, lambda: double(torch.ones(8, 2, device="cpu:1")), "incompatible devices")


def derivatives_of_parts():
    """Derivatives inside ``jax.shard_map``: JAX's, of operations that state theirs, and PyTorch's,
    which are those of the part alone."""
    w, x = (
        np.linspace(-1, 1, 6, dtype="float32").reshape(3, 2),
        np.linspace(-2, 3, 24, dtype="float32").reshape(8, 3),
    )

    def loss(w, x):
        return torch.cdist((x @ w).tanh().softmax(-1), w).pow(2).sum()

    def summed(w, x):
        return jax.lax.psum(loss(torch.as_tensor(w), torch.as_tensor(x)).jax(), "d")

    def apart(w, x):
        return jax.lax.psum(
            torch.func.grad(loss)(torch.as_tensor(w), torch.as_tensor(x)).jax(), "d"
        )

    def pushed(w, x):
        w = torch.as_tensor(w)
        return jax.lax.psum(
            torch.func.jvp(lambda w: loss(w, torch.as_tensor(x)), (w,), (torch.ones_like(w),))[
                1
            ].jax(),
            "d",
        )

    there = {"mesh": MESH, "in_specs": (WHOLE, ROWS), "out_specs": WHOLE}
    one = {**there, "in_specs": ROWS}
    wanted = torch.func.grad(loss, argnums=(0, 1))(torch.tensor(w), torch.tensor(x))
    found = jax.jit(jax.grad(jax.shard_map(summed, **there), (0, 1)))(w, x)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b.numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        np.asarray(jax.jit(jax.shard_map(apart, **there))(w, x)),
        wanted[0].numpy(),
        rtol=1e-4,
        atol=1e-4,
    )
    np.testing.assert_allclose(
        jax.jit(jax.shard_map(pushed, **there))(w, x).item(), wanted[0].sum().item(), rtol=1e-4
    )
    # whose loop carries what differs, and whose parameters are on one device
    net = nn.GRU(3, 2, batch_first=True)
    of_rows = jax.jit(
        jax.grad(
            jax.shard_map(
                lambda x: jax.lax.psum(net(torch.as_tensor(x)[:, None])[0].sum().jax(), "d"), **one
            )
        )
    )(x)
    plain = torch.func.grad(lambda x: net(x[:, None])[0].sum())(torch.tensor(x))
    np.testing.assert_allclose(np.asarray(of_rows), plain.detach().numpy(), rtol=1e-4, atol=1e-5)


def formulas_of_parts():
    """What a kernel makes of parts differs between devices, as its operands do: else what is the
    same on all gets one device's gradient."""
    x, w = (
        np.linspace(0.05, 0.95, 64, dtype="float32").reshape(8, 8),
        np.linspace(1, 2, 8, dtype="float32"),
    )
    eye = torch.eye(8)

    def of_weights(f):
        def loss(w, x):
            return jax.lax.psum((f(torch.as_tensor(x)) * torch.as_tensor(w)).sum().jax(), "d")

        return jax.jit(
            jax.grad(jax.shard_map(loss, mesh=MESH, in_specs=(WHOLE, ROWS), out_specs=WHOLE))
        )(w, x)

    for f in (
        torch.sin,
        lambda x: torch.logcumsumexp(x, 1),
        # a loop that carries what is the same, and looks at what is not
        lambda x: torch.special.zeta(torch.full_like(x, 2.5), x),
        lambda x: torch.linalg.cholesky(3 * eye + x[:, :, None] * x[:, None])[:, :, 1],
    ):
        wanted = f(torch.tensor(x)).sum(0).numpy()
        np.testing.assert_allclose(np.asarray(of_weights(f)), wanted, rtol=1e-3, atol=1e-3)
    ones = torch.ones(8, 8)
    there = {"mesh": MESH, "in_specs": ROWS, "out_specs": ROWS}
    pulled = jax.jit(
        jax.grad(
            lambda x: jax.shard_map(lambda x: torch.logcumsumexp(x, 1), **there)(x).sum().jax()
        )
    )(torch.tensor(x))
    plain = torch.func.vjp(lambda x: torch.logcumsumexp(x, 1), torch.tensor(x))[1](ones)[0]
    np.testing.assert_allclose(pulled.numpy(), plain.numpy(), rtol=1e-4)
    with jax.set_mesh(jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))):
        cut = jax.device_put(x, ROWS)
        assert jax.jit(lambda x: torch.sin(torch.as_tensor(x)).jax())(cut).sharding.spec[0] == "d"


for part in (
    training,
    operations,
    writing,
    moving,
    under_jax,
    derivatives_of_parts,
    formulas_of_parts,
):
    part()
    sys.stdout.write(f"{part.__name__}\n")
