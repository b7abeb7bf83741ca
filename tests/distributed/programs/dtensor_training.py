"""Networks of distributed tensors among four processes: training, losses, styles of tensor
parallelism."""

import contextlib
import functools
import itertools
import warnings

from _cases import RANK, raises, run, same
from _dtensors import COLUMNS, ROWS, R, lies, mesh, numbers, spread

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed.tensor import DTensor, Partial, Shard, distribute_module, distribute_tensor
from jtorch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from jtorch.nn import functional as F


def check_training() -> None:
    x = numbers(4, 6)
    plain = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.LayerNorm(9), nn.Linear(9, 3))
    for p in plain.parameters():
        dist.broadcast(p.data, 0)
    first = [p.detach().clone() for p in plain.parameters()]

    def cut(name: str, m: nn.Module, on: object) -> None:
        del name
        for key, p in list(m.named_parameters(recurse=False)):
            m.register_parameter(key, nn.Parameter(distribute_tensor(p.data, on, [ROWS])))

    momentum = functools.partial(torch.optim.SGD, momentum=0.9, nesterov=True)
    for kind in (momentum, torch.optim.AdamW):
        results = []
        for spread_it in (False, True):
            net = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.LayerNorm(9), nn.Linear(9, 3))
            for p, value in zip(net.parameters(), first, strict=True):
                p.data.copy_(value)
            if spread_it:
                net = distribute_module(net, mesh(), cut)
                with raises(RuntimeError, "only be called once"):
                    distribute_module(net, mesh())
            optimizer = kind(net.parameters(), lr=0.05)
            for _ in range(3 if kind is momentum else 2):
                optimizer.zero_grad()
                net(spread(x, R) if spread_it else x).square().sum().backward()
                norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
            results.append([norm, *net.parameters()])
        for a, b in zip(*results, strict=True):
            assert isinstance(b, DTensor)
            assert torch.allclose(b.full_tensor(), a, atol=1e-5), kind
    p = results[1][1]
    assert isinstance(optimizer.state[p]["exp_avg"], DTensor)
    before = p._version
    optimizer.step()
    assert p._version > before


def check_losses() -> None:
    x, t, w = (
        numbers(8, 12),
        torch.tensor([1, 11, -100, 4, 0, 7, 3, 3]),
        torch.rand(12, generator=torch.Generator().manual_seed(2)),
    )
    for weight, reduction in itertools.product((None, w), ("none", "sum", "mean")):
        plain = x.clone().requires_grad_()
        wanted = F.cross_entropy(plain, t, weight=weight, reduction=reduction)
        wanted.sum().backward()
        for p in (ROWS, COLUMNS):
            d = spread(x, p).requires_grad_()
            if p is COLUMNS:
                with loss_parallel():
                    loss = F.cross_entropy(d, t, weight=weight, reduction=reduction)
                    loss.sum().backward()
                lies(loss, R)
                lies(d.grad, COLUMNS)
            else:  # parts whose means weigh differently, since one target is left out
                loss = F.cross_entropy(
                    d,
                    spread(t, ROWS),
                    weight=None if weight is None else spread(weight, R),
                    reduction=reduction,
                )
                loss.sum().backward()
                lies(d.grad, ROWS)
            same(loss.full_tensor(), wanted)
            same(d.grad.full_tensor(), plain.grad)
    with loss_parallel(), raises(ValueError, "exactly one mesh dim"):
        F.cross_entropy(spread(x, ROWS), t)
    for f in (F.mse_loss, F.smooth_l1_loss):
        d, plain = spread(x, ROWS).requires_grad_(), x.clone().requires_grad_()
        f(d, spread(x * 2, ROWS)).backward()
        f(plain, x * 2).backward()
        same(d.grad.full_tensor(), plain.grad)


class Block(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.n1(x)
        q, k, v = (
            f(h).unflatten(-1, (-1, h.shape[-1] // self.heads)).transpose(1, 2)
            for f in (self.q, self.k, self.v)
        )
        x = x + self.o(
            F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        )
        return x + self.down(F.gelu(self.up(self.n2(x))))


def _loss(net: nn.Module, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    out = net(ids)
    return F.cross_entropy(out.flatten(0, 1), targets.flatten())


def check_tensor_parallel_training() -> None:
    ids, targets = (
        torch.randint(24, (2, 8), generator=torch.Generator().manual_seed(i)) for i in (0, 1)
    )
    losses = []
    for way in ("plain", "tensor", "sequence"):
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Embedding(24, 16), Block(16, 4), nn.LayerNorm(16), nn.Linear(16, 24, bias=False)
        )
        if way != "plain":
            lay = Shard(1) if way == "sequence" else R
            apart = {"use_local_output": False} if way == "sequence" else {}
            plan = {
                f"1.{k}": ColwiseParallel(input_layouts=lay, **apart) for k in ("q", "k", "v", "up")
            }
            plan |= {f"1.{k}": RowwiseParallel(output_layouts=lay, **apart) for k in ("o", "down")}
            plan["0"] = RowwiseParallel(input_layouts=R, output_layouts=lay, **apart)
            plan["3"] = ColwiseParallel(
                input_layouts=lay, output_layouts=Shard(-1), use_local_output=False
            )
            if way == "sequence":
                plan |= {"1.n[12]": SequenceParallel(), "2": SequenceParallel()}
            parallelize_module(net, mesh(), plan)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        for _ in range(2):
            optimizer.zero_grad()
            with contextlib.nullcontext() if way == "plain" else loss_parallel():
                loss = _loss(net, ids, targets)
                loss.backward()
            losses.append(loss.item())
            optimizer.step()
    assert all(abs(a - b) < 1e-4 for a, b in zip(losses[:2] * 2, losses[2:], strict=True)), losses


def check_styles() -> None:
    class Twice(nn.Module):
        def forward(self, a: torch.Tensor, b: object) -> tuple[torch.Tensor, object]:
            return a * 2, b

    m = parallelize_module(
        Twice(),
        mesh(),
        PrepareModuleInput(input_layouts=(ROWS, None), desired_input_layouts=(R, None)),
    )
    parallelize_module(
        m,
        mesh(),
        PrepareModuleOutput(output_layouts=(R, None), desired_output_layouts=(COLUMNS, None)),
    )
    a, b = m(torch.full((1, 4), float(RANK)), "as it is")
    assert b == "as it is" and a.shape == (4, 1)
    same(a, [[0.0], [2.0], [4.0], [6.0]])
    with raises(NotImplementedError, "only support nn.Linear and nn.Embedding"):
        parallelize_module(nn.Conv2d(1, 1, 1), mesh(), ColwiseParallel())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        parallelize_module(nn.Sequential(), mesh(), {"none.such": ColwiseParallel()})
    assert "could not be resolved" in str(said[0].message)
    layouts = "input_layouts=(Shard(dim=-1),), output_layouts=(Replicate(),)"
    assert repr(RowwiseParallel()) == f"RowwiseParallel({layouts}, use_local_output=True)"


def check_two_dimensions_of_a_mesh() -> None:
    grid = mesh(2, 2)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    plain.load_state_dict(net.state_dict())
    parallelize_module(net, grid["b"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x = numbers(4, 8)
    net(x.chunk(2)[grid.get_local_rank("a")]).sum().backward()
    plain(x.chunk(2)[grid.get_local_rank("a")]).sum().backward()
    for a, b in zip(net.parameters(), plain.parameters(), strict=True):
        assert a.device_mesh == grid["b"]
        same(a.grad.full_tensor(), b.grad)
    scores, targets = (
        spread(numbers(4, 6), ROWS, COLUMNS).requires_grad_(),
        spread(torch.tensor([1, 5, 0, 2]), ROWS, R),
    )
    with loss_parallel():
        loss = F.cross_entropy(scores, targets, reduction="sum")
        loss.backward()
        with raises(NotImplementedError, "only supported on one-dimensional"):
            F.cross_entropy(scores, targets)
    lies(loss, Partial(), R)
    same(
        loss.full_tensor(),
        F.cross_entropy(numbers(4, 6), torch.tensor([1, 5, 0, 2]), reduction="sum"),
    )
    lies(scores.grad, ROWS, COLUMNS)


run(dict(globals()))
