"""Collectives among three processes that give new tensors, and the operators below them."""

from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist


def check_operators_that_write_and_those_with_gradients() -> None:
    operators, name = torch.ops._c10d_functional, dist.group.WORLD.group_name
    t = torch.full((2,), RANK + 1.0)
    assert operators.all_reduce_(t, "sum", name) is t
    same(t, [6.0, 6.0])
    u = torch.full((1,), float(RANK))
    assert operators.broadcast_(u, 1, name) is u
    same(u, [1.0])
    pair = [torch.ones(1), torch.full((2,), 2.0)]
    operators.all_reduce_coalesced_(pair, "sum", name)
    same(torch.cat(pair), [3.0, 6.0, 6.0])
    out = torch.zeros(WORLD)
    assert (
        operators.all_gather_into_tensor_out(torch.tensor([float(RANK)]), WORLD, name, out=out)
        is out
    )
    same(out, [0.0, 1.0, 2.0])
    same(
        operators.reduce_scatter_tensor_out(
            torch.arange(3.0), "sum", WORLD, name, out=torch.zeros(1)
        ),
        [3.0 * RANK],
    )
    x = torch.ones(1, requires_grad=True)
    (
        torch.ops._c10d_functional_autograd.all_gather_into_tensor(x, WORLD, name) * (RANK + 1)
    ).sum().backward()
    same(x.grad, [6.0])


def check_functional_collectives_in_place() -> None:
    from jtorch.distributed import _functional_collectives as f

    t = torch.full((2,), RANK + 1.0)
    assert f.all_reduce_inplace(t) is t and t.tolist() == [6.0, 6.0]
    out = torch.zeros(2, WORLD)
    assert f.all_gather_tensor_inplace(out, torch.full((2, 1), float(RANK)), gather_dim=1) is out
    same(out, [[0.0, 1.0, 2.0]] * 2)
    part = torch.zeros(2)
    assert f.reduce_scatter_tensor_inplace(part, torch.arange(6.0), "avg") is part
    same(part, [2.0 * RANK, 2.0 * RANK + 1])
    swapped = torch.zeros(WORLD)
    assert f.all_to_all_inplace(swapped, torch.arange(3.0) + 10 * RANK) is swapped
    same(swapped, [float(RANK), 10.0 + RANK, 20.0 + RANK])
    rows = [torch.zeros(i + 1) for i in range(WORLD)]
    assert f.all_gather_inplace(rows, torch.full((RANK + 1,), float(RANK))) is rows
    assert [r.tolist() for r in rows] == [[0.0], [1.0, 1.0], [2.0, 2.0, 2.0]]
    with raises(AssertionError, "async version"):
        f.all_reduce_inplace(t, async_op=True)
    same(f.all_gather_single(torch.ones(1) * RANK, 0, dist.group.WORLD), [0.0, 1.0, 2.0])


def check_functional_collectives_in_vmap() -> None:
    from jtorch.distributed import _functional_collectives as f

    group, rows = dist.group.WORLD, torch.arange(12.0).view(2, 6) + RANK
    ways = (
        lambda x: f.all_reduce(x, "sum", group), lambda x: f.broadcast(x, 1, group),
        lambda x: f.all_gather_tensor(x, -1, group), lambda x: f.reduce_scatter_tensor(x, "sum", 0,
            group), lambda x: f.all_to_all_single(x, None, None, group),
        lambda x: f.permute_tensor(x, [1, 2, 0], group),
        lambda x: f.all_reduce_coalesced([x], "max", group)[0],
    )  # fmt: skip
    for i, way in enumerate(ways):
        one_by_one = torch.stack([f.wait_tensor(way(row)) for row in rows])
        assert torch.equal(torch.vmap(way)(rows), one_by_one), i
        assert torch.equal(torch.vmap(way, 1)(rows.T), one_by_one), i


def check_functional_collectives_may_be_waited_for() -> None:
    from jtorch.distributed import _functional_collectives as f

    group = dist.group.WORLD
    x = torch.ones(3, requires_grad=True)
    for found in (
        f.all_reduce(x, "sum", group),
        f.all_reduce_coalesced([x], "sum", group)[0],
        f.all_gather_tensor(x, 0, group)[:3] * 3,
    ):
        assert (
            f.wait_tensor(found).tolist() == [3.0] * 3
            and type(f.wait_tensor(found)) is torch.Tensor
            and type(found + 1) is torch.Tensor
        )
    found = f.all_reduce(x, "sum", group)
    assert (
        isinstance(found, f.AsyncCollectiveTensor)
        and found.trigger_wait().tolist() == found.wait().tolist() == [3.0] * 3
    )
    assert found.completed and repr(found).startswith("AsyncCollectiveTensor(tensor([3., 3., 3.]")
    (found.wait() * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6.0] * 3
    # joined since, as in PyTorch
    assert type(f.all_gather_tensor(x.reshape(1, 3), 1, group)) is torch.Tensor


def check_functional_collectives_have_gradients() -> None:
    from jtorch.distributed import _functional_collectives as f

    group, ops = dist.group.WORLD, torch.ops._c10d_functional
    name = group.group_name
    thrice = torch.arange(3.0).repeat(WORLD)
    ways = {
        "all_reduce": (lambda x: f.all_reduce(x, "sum", group),
                       lambda x: ops.all_reduce(x, "sum", name), 6.0),
        "all_reduce_coalesced": (
            lambda x: f.all_reduce_coalesced([x, 2 * x], "sum", group)[1],
            lambda x: 2 * ops.all_reduce_coalesced([x], "sum", name)[0],
            12.0,
        ),
        "gather": (lambda x: f.all_gather_tensor(x, 0, group),
                   lambda x: ops.all_gather_into_tensor(x, WORLD, name), 6.0),
        "broadcast": (lambda x: f.broadcast(x, 1, group), lambda x: ops.broadcast(x, 1, name),
                      RANK + 1.0),
        "permuted": (lambda x: f.permute_tensor(x, [1, 2, 0], group), None,
                     (RANK + 1) % WORLD + 1.0),
    }  # fmt: skip
    for what, (function, operator, factor) in ways.items():
        for way in filter(None, (function, operator)):
            x = torch.ones(3, requires_grad=True)
            # nor is a part of it cut off
            ((ops.wait_tensor(way(x)).reshape(-1, 3) * (RANK + 1)).sum() + x.sum()).backward()
            assert x.grad is not None and x.grad.tolist() == [factor + 1] * 3, (what, x.grad)
    found: list[Any] = []
    for way in (
        lambda x: f.reduce_scatter_tensor(x, "sum", 0, group),
        lambda x: ops.reduce_scatter_tensor(x, "sum", WORLD, name),
        lambda x: f.all_to_all_single(x, None, None, group),
        lambda x: ops.all_to_all_single(x, [3] * WORLD, [3] * WORLD, name)[:3] * 3,
    ):  # fmt: skip
        x = thrice.clone().requires_grad_()
        (way(x).sum() * (RANK + 1)).backward()
        found.append(x.grad)
    weights = torch.arange(1.0, WORLD + 1).repeat_interleave(3)
    same(found[0], weights)
    same(found[1], weights)
    same(found[2], weights)
    same(found[3], 3.0 * (RANK == 0) * weights)
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((f.all_reduce(x**3, "sum", group) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    same(x.grad, [2.0 * WORLD * (WORLD * 6.0 + 3.0 * 3.0 * WORLD)] * 3)
    for op in ("avg", "max"):
        with raises(RuntimeError, f"backward only supports 'sum' reduction, got '{op}'"):
            f.all_reduce(x, op, group).sum().backward()
    t = torch.ones(2)
    assert ops.wait_tensor(ops.all_reduce_(t, "sum", name)) is t and isinstance(
        dist.ReduceOp.SUM, dist.ReduceOp
    )
    rows, options = (
        [[torch.zeros(1), torch.zeros(2)] for _ in range(WORLD)],
        dist.BroadcastOptions(),
    )
    group.allgather_coalesced(rows, [torch.ones(1) * RANK, torch.ones(2) * RANK]).wait()
    assert [[t.tolist() for t in row] for row in rows] == [
        [[float(i)], [float(i)] * 2] for i in range(WORLD)
    ]
    options.rootTensor = 1
    with raises(RuntimeError, "invalid root tensor"):
        group.broadcast([t], options)


run(dict(globals()))
