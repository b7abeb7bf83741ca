"""Distributed tensors among four processes."""

import contextlib
import io
import itertools
import warnings
from typing import Any

from _cases import RANK, WORLD, raises, run, same
from _dtensors import COLUMNS, ROWS, R, lies, mesh, numbers, spread

import jtorch as torch
import jtorch.distributed as dist
from jtorch import nn
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import DTensor, Partial, Shard, distribute_tensor
from jtorch.distributed.tensor import full as dfull
from jtorch.distributed.tensor import randn as drandn
from jtorch.distributed.tensor import zeros as dzeros
from jtorch.distributed.tensor.experimental import context_parallel, implicit_replication, local_map
from jtorch.distributed.tensor.experimental._attention import (
    context_parallel_unshard,
    set_rotate_method,
)
from jtorch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    input_reshard,
    parallelize_module,
)
from jtorch.distributed.tensor.placement_types import _StridedShard
from jtorch.nn import functional as F


def check_kept_inputs_are_cut() -> None:
    def gradients(cut: int | None) -> list[Any]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
        assert input_reshard(net, mesh(), cut) is net
        x = numbers(8, 4).requires_grad_()
        net(x).square().sum().backward()
        return [x.grad, *(p.grad for p in net.parameters())]

    for cut in (0, 1):
        for g, e in zip(gradients(cut), gradients(None), strict=True):
            assert torch.allclose(g, e, atol=1e-5), cut
    seen: list[int] = []
    x = numbers(8, 4).requires_grad_()
    whole = input_reshard(Square(), mesh(), 0)(x)
    # only a part of the rows is there when the backward pass asks for all
    before = DTensor.redistribute
    try:
        DTensor.redistribute = lambda t, *a, **k: (
            seen.append(t.to_local().shape[0]) or before(t, *a, **k)
        )  # type: ignore[method-assign]
        whole.sum().backward()
    finally:
        DTensor.redistribute = before  # type: ignore[method-assign]
    assert seen and set(seen) == {8 // WORLD}, seen
    same(x.grad, (2 * x).detach())


class Square(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * x


def check_parts_are_those_of_chunk() -> None:
    x = numbers(10, 6)
    for dim in (0, 1, -1):
        t = spread(x, Shard(dim))
        same(t.to_local(), [*x.chunk(WORLD, dim), x.narrow(dim, 0, 0)][RANK])
        same(t.full_tensor(), x)
        assert t.shape == x.shape and t.stride() == x.stride() and t.is_leaf
    few = spread(torch.arange(5.0), ROWS)
    assert few.to_local().shape == ((2, 2, 1, 0)[RANK],) and few.full_tensor().tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]


def check_redistribution_between_all_placements() -> None:
    x = numbers(7, 5)
    goals = (ROWS, COLUMNS, R)
    for a, b in itertools.product(goals, goals):
        t = spread(x, a).redistribute(placements=[b])
        lies(t, b)
        same(t.to_local(), spread(x, b).to_local())
    pairs = {b: spread(x, *b) for b in itertools.product(goals, goals)}
    for i, t in enumerate(pairs.values()):
        for b, wanted in list(pairs.items())[i % 2 :: 2]:
            same(t.redistribute(placements=list(b)).to_local(), wanted.to_local())
    with raises(RuntimeError, "for internal use only"):
        spread(x, ROWS).redistribute(placements=[Partial()])


def check_parts_lie_in_the_order_of_the_mesh() -> None:
    x = torch.arange(48.0).view(8, 6)
    for ranks in ([3, 1, 2, 0], [[3, 1], [2, 0]]):
        mesh = dist.DeviceMesh("cpu", ranks)
        cut = [Shard(0), Shard(1)][: mesh.ndim]
        t = distribute_tensor(x, mesh, cut)
        place = mesh.get_coordinate()
        mine = x.chunk(mesh.shape[0], 0)[place[0]]
        same(t.to_local(), mine if mesh.ndim == 1 else mine.chunk(2, 1)[place[1]])
        same(t.full_tensor(), x)
        same(
            t.redistribute(placements=cut[::-1] if mesh.ndim == 2 else [Shard(1)]).full_tensor(), x
        )
        same(
            DTensor.from_local(
                t.to_local() * 0 + 1, mesh, [Partial()] * mesh.ndim, run_check=False
            ).full_tensor()[0, 0],
            4.0,
        )


def check_the_smaller_operand_is_not_turned() -> None:
    mesh = init_device_mesh("cpu", (WORLD,))
    x, w = (
        distribute_tensor(torch.ones(8, 8), mesh, [Shard(1)]),
        distribute_tensor(torch.ones(4, 8), mesh, [Shard(0)]),
    )
    for y in (x @ w.t(), nn.functional.linear(x, w)):
        assert y.placements == (Shard(1),), y.placements
        same(y.full_tensor(), torch.full((8, 4), 8.0))


def check_dimensions_of_a_mesh_made_several_and_joined() -> None:
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("all",))
    parts = mesh._unflatten("all", (2, 2), ("a", "b"))
    assert parts.mesh.tolist() == [[0, 1], [2, 3]] and parts.mesh_dim_names == ("a", "b")
    assert dist.get_process_group_ranks(parts.get_group("a")) == [RANK % 2, RANK % 2 + 2]
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    assert (
        dist.DeviceMesh._concatenate([grid["a"], grid["b"]]) == grid
        and grid._get_mesh_dim_by_name("b") == 1
    )
    with raises(RuntimeError, "overlapping"):
        dist.DeviceMesh._concatenate([grid["a"], grid["a"]])
    with raises(RuntimeError, "different device mesh"):
        dist.DeviceMesh._concatenate([grid["a"], parts["b"]])
    with raises(KeyError, "does not exist"):
        grid._get_mesh_dim_by_name("c")
    with raises(ValueError, "out of range"):
        mesh._unflatten(1, (2, 2), ("a", "b"))


def check_summands() -> None:
    mine = torch.arange(6.0).reshape(3, 2) + RANK
    every = torch.stack([torch.arange(6.0).reshape(3, 2) + r for r in range(WORLD)])
    wholes = {
        "sum": every.sum(0),
        "avg": every.mean(0),
        "max": every.amax(0),
        "min": every.amin(0),
        "product": every.prod(0),
    }
    for op, whole in wholes.items():
        t = DTensor.from_local(mine, mesh(), [Partial(op)])
        same(t.full_tensor(), whole)
        for goal in (ROWS, COLUMNS):
            same(t.redistribute(placements=[goal]).full_tensor(), whole)
    with raises(ValueError, "Mixed Partial"):
        DTensor.from_local(mine, mesh(2, 2), [Partial("sum"), Partial("max")])


def check_rounded_quotients_of_summands() -> None:
    parts = DTensor.from_local(torch.full((3,), 3.0), mesh(), [Partial()])  # 12 in all
    assert (parts / 8).full_tensor().tolist() == [1.5] * 3
    assert torch.div(parts, 8, rounding_mode="floor").full_tensor().tolist() == [1.0] * 3
    assert (
        torch.div(parts, spread(torch.full((3,), 8.0), R), rounding_mode="trunc")
        .full_tensor()
        .tolist()
        == [1.0] * 3
    )


def check_functions_that_fall_of_greatest_parts() -> None:
    mine = torch.tensor([float(RANK), -float(RANK)])  # the greatest are WORLD - 1 and 0
    parts = DTensor.from_local(mine, mesh(), [Partial("max")])
    whole = torch.tensor([WORLD - 1.0, 0.0])
    same(F.leaky_relu(-parts, -2.0).full_tensor(), F.leaky_relu(-whole, -2.0))
    same(F.leaky_relu(parts, -2.0).full_tensor(), F.leaky_relu(whole, -2.0))
    same(F.threshold(parts, 0.5, 9.0).full_tensor(), F.threshold(whole, 0.5, 9.0))
    same(torch.relu(parts).full_tensor(), torch.relu(whole))


def check_parts_of_parts_in_another_order() -> None:
    x = numbers(7, 3)
    # the second dimension of the mesh cuts first
    t = spread(x, _StridedShard(0, split_factor=2), ROWS)
    outer, inner = divmod(RANK, 2)
    same(t.to_local(), x.chunk(2)[inner].chunk(2)[outer])
    same(t.full_tensor(), x)
    same((t + 1).full_tensor(), x + 1)
    lies(t + 1, _StridedShard(0, split_factor=2), ROWS)
    alone = spread(numbers(8, 3), _StridedShard(0, split_factor=2), R)
    same(alone.to_local(), torch.cat([p.chunk(2)[outer] for p in numbers(8, 3).chunk(2)]))
    same(alone.full_tensor(), numbers(8, 3))


def check_gradients_of_redistribution() -> None:
    x = torch.full((2, 3), float(RANK), requires_grad=True)
    whole = DTensor.from_local(x, mesh(), [ROWS]).redistribute(placements=[R])
    (whole.to_local() * (RANK + 1)).sum().backward()
    # the gradient lies as the tensor does, so each process's own counts
    same(x.grad, torch.full((2, 3), RANK + 1.0))
    t = spread(torch.ones(5, 2), ROWS).requires_grad_()
    t.full_tensor(grad_placements=[Partial()]).mul(RANK + 1.0).sum().backward()
    same(t.grad.full_tensor(), torch.full((5, 2), 10.0))
    t = spread(torch.arange(4.0), ROWS).requires_grad_()
    (g,) = torch.autograd.grad((t.redistribute(placements=[R]) ** 3).sum(), t, create_graph=True)
    g.sum().backward()
    same(t.grad.full_tensor(), torch.arange(4.0) * 6)


def check_from_local() -> None:
    part = numbers(3 if RANK < 3 else 1, 6, seed=RANK)
    t = DTensor.from_local(part, mesh(), [ROWS], shape=torch.Size([10, 6]), stride=(6, 1))
    same(t.full_tensor(), torch.cat([numbers(3 if r < 3 else 1, 6, seed=r) for r in range(WORLD)]))
    assert DTensor.from_local(torch.ones(2, 3), mesh(), [Shard(-1)]).shape == (2, 12)
    checked = DTensor.from_local(torch.full((2,), float(RANK)), mesh(), [R], run_check=True)
    assert checked.to_local().tolist() == [0, 0]
    with raises(ValueError, "Inconsistent tensor metadata"):
        DTensor.from_local(torch.ones(2 + RANK), mesh(), [ROWS], run_check=True)
    with raises(RuntimeError, "only accepts torch.Tensor"):
        DTensor.from_local(checked, mesh(), [R])


def check_elementwise() -> None:
    x, y = numbers(10, 6), numbers(6, seed=1)
    rows, columns = spread(x, ROWS), spread(y, ROWS)
    lies(rows + 1, ROWS)
    same((rows * columns).full_tensor(), x * y)
    same(torch.where(rows > 0, rows, -rows).full_tensor(), x.abs())
    p = DTensor.from_local(torch.ones(3), mesh(), [Partial()])
    lies(p * 2, Partial())
    lies(p + p, Partial())
    lies(p + 1, R)
    same((p + 1).full_tensor(), [5.0] * 3)
    half = DTensor.from_local(torch.full((3,), 0.4), mesh(), [Partial()])
    lies(half.double(), Partial())  # another dtype in the same place of the call
    lies(half.int(), R)
    same(half.int().full_tensor(), [1] * 3)
    assert half.half().dtype is torch.float16
    lies(half.count_nonzero(), R)
    lies(rows.count_nonzero(0), Partial())
    same(rows.count_nonzero(0).full_tensor(), [10] * 6)
    lies(p * p, Partial())
    same((p * p).full_tensor(), [16.0] * 3)
    for cut in (ROWS, COLUMNS):
        # a result of another shape; gradients of both operands
        for f in (F.logsigmoid, lambda t: torch.ldexp(t, t)):
            whole = x.clone().requires_grad_()
            parts = spread(x.clone(), cut).requires_grad_()
            f(whole).sum().backward()
            out = f(parts)
            lies(out, cut)
            out.sum().backward()
            same(parts.grad.full_tensor(), whole.grad)
    with raises(RuntimeError, "mixed torch.Tensor and DTensor"):
        rows + x
    with implicit_replication():
        same((rows + x).full_tensor(), x + x)


def check_products_and_reductions() -> None:
    x, w = numbers(10, 6), numbers(6, 8, seed=1)
    for a, b, out in (
        (ROWS, R, ROWS),
        (R, COLUMNS, COLUMNS),
        (COLUMNS, ROWS, Partial()),
        (R, R, R),
    ):
        t = spread(x, a) @ spread(w, b)
        lies(t, out)
        same(t.full_tensor(), x @ w)
    clash = spread(x, R, COLUMNS) @ spread(w, ROWS, R)
    lies(clash, R, Partial())  # what the later dimension of the mesh has cut is not cut before it
    same(clash.full_tensor(), x @ w)
    rows, grid = spread(x, ROWS), spread(x, ROWS, COLUMNS) @ spread(w, R, ROWS)
    lies(grid, ROWS, Partial())
    same(grid.full_tensor(), x @ w)
    for f in (torch.sum, torch.mean, torch.amax, torch.prod, torch.std, torch.norm):
        same(f(rows).full_tensor(), f(x))
    same(rows.mean(0).full_tensor(), x.mean(0))  # of parts of different sizes
    lies(rows.sum(1), ROWS)
    lies(rows.sum(0), Partial())
    lies(rows.amax(0), Partial("max"))
    same(rows.argmax(0).full_tensor(), x.argmax(0))
    same(rows.softmax(0).full_tensor(), x.softmax(0))
    assert torch.equal(rows, spread(x, COLUMNS)) and not torch.equal(rows, rows + 1)
    assert abs(rows.sum().item() - x.sum().item()) < 1e-4  # the whole's, in every process


def check_shapes() -> None:
    x = numbers(8, 12)
    rows = spread(x, ROWS)
    for f, out in {
        lambda t: t.t(): COLUMNS, lambda t: t.reshape(8, 3, 4): ROWS,
        lambda t: t.unsqueeze(0): COLUMNS,
        lambda t: t.reshape(4, 2, 12): ROWS,
        lambda t: t.flatten(): ROWS, lambda t: t[:, 2:5]: ROWS, lambda t: t[2:7]: R,
        lambda t: t[..., 1]: ROWS, lambda t: t[3]: R, lambda t: torch.cat([t, t], 1): ROWS,
        lambda t: torch.cat([t, t]): R, lambda t: torch.stack([t, t]): COLUMNS,
        lambda t: t.expand(2, 8, 12): COLUMNS, lambda t: t.split(5, 1)[1]: ROWS,
        lambda t: F.pad(t, (1, 2)): ROWS, lambda t: t.tril(): R,
    }.items():  # fmt: skip
        made = f(rows)
        lies(made, out)
        same(made.full_tensor(), f(x))
    t = spread(x, COLUMNS).view(96)
    lies(t, _StridedShard(0, split_factor=8))
    same(t.full_tensor(), x.view(96))
    same(t.view(8, 12).full_tensor(), x)


def check_indices_and_embeddings() -> None:
    x, i = numbers(8, 5), torch.tensor([[1, 7], [0, 3], [4, 4]])
    for p in (ROWS, COLUMNS, R):
        t, index = spread(x, p), spread(i, R)
        same(t[index].full_tensor(), x[i])
        same(F.embedding(index, t).full_tensor(), F.embedding(i, x))
        same(
            t.gather(0, spread(i[:, :1].expand(3, 5).contiguous(), R)).full_tensor(),
            x.gather(0, i[:, :1].expand(3, 5)),
        )
    table = spread(x, ROWS).requires_grad_()
    out = F.embedding(spread(i, R), table)
    assert out.placements[0].is_partial()
    (out * out).sum().backward()
    plain = x.clone().requires_grad_()
    F.embedding(i, plain).square().sum().backward()
    same(table.grad.full_tensor(), plain.grad)


def check_tables_of_which_a_process_has_no_column() -> None:
    # the last of four has none
    table = distribute_tensor(numbers(7, 5), mesh(), [COLUMNS]).requires_grad_()
    F.embedding(spread(torch.tensor([1, 3, 1]), R), table).square().sum().backward()
    whole = numbers(7, 5).requires_grad_()
    F.embedding(torch.tensor([1, 3, 1]), whole).square().sum().backward()
    same(table.grad.full_tensor(), whole.grad)


def check_writing() -> None:
    x = numbers(6, 4)
    t = spread(x.clone(), ROWS)
    t.add_(1).mul_(spread(x, COLUMNS))
    same(t.full_tensor(), (x + 1) * x)
    t.copy_(spread(x, R))
    t[:, 0] = 7.0
    t[1] = 5.0  # a row that one process has
    t[2:5].fill_(3.0)
    wanted = x.clone()
    wanted[:, 0], wanted[1] = 7.0, 5.0
    wanted[2:5] = 3.0
    same(t.full_tensor(), wanted)
    with raises(RuntimeError, "in-place operations that require placement changes"):
        DTensor.from_local(torch.ones(2), mesh(), [Partial()]).add_(1)


def check_operators_without_a_rule() -> None:
    x = numbers(6, 4)
    t = spread(x, ROWS)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            same(torch.cdist(t, t).full_tensor(), torch.cdist(x, x))
    found = [str(w.message) for w in said if "no sharding rule" in str(w.message)]
    assert len(found) == 1 and "cdist" in found[0], found
    same(t.cumsum(0).full_tensor(), x.cumsum(0))
    assert (t > 0).nonzero().full_tensor().tolist() == (x > 0).nonzero().tolist()


def check_masks_as_indices() -> None:
    """How many elements a mask takes is known once it is read: the whole is gathered."""
    x = torch.arange(-5.0, 7.0).reshape(4, 3)
    t, plain = spread(x, ROWS).requires_grad_(), x.clone().requires_grad_()
    same(t[t > 0].full_tensor().detach(), x[x > 0])
    (t[t.sum(1) > 0] ** 2).sum().backward()
    (plain[plain.sum(1) > 0] ** 2).sum().backward()
    same(t.grad.full_tensor(), plain.grad)


def check_random_numbers() -> None:
    x = torch.zeros(6, 4)
    torch.manual_seed(5)
    first = spread(x, ROWS).uniform_()
    torch.manual_seed(5)
    # each draws its part from its own generator
    same(first.to_local(), torch.zeros(first.to_local().shape).uniform_())
    assert drandn(5, 3, device_mesh=mesh(), placements=[ROWS]).to_local().shape == (
        (2, 2, 1, 0)[RANK],
        3,
    )
    kept = F.dropout(spread(torch.ones(8, 8), COLUMNS), 0.5)
    assert set(kept.full_tensor().unique().tolist()) <= {0.0, 2.0}
    scores = spread(torch.zeros(8, 4), ROWS).requires_grad_()
    drawn = F.gumbel_softmax(scores, dim=1)
    lies(drawn, ROWS)
    assert torch.allclose(drawn.full_tensor().sum(1), torch.ones(8)) and not torch.allclose(
        drawn.full_tensor(), torch.full((8, 4), 0.25)
    )
    F.gumbel_softmax(scores, hard=True).sum().backward()
    assert scores.grad.placements == (ROWS,)


def check_factories_and_copies() -> None:
    assert dzeros(5, 3, device_mesh=mesh(), placements=[ROWS]).to_local().shape == (
        (2, 2, 1, 0)[RANK],
        3,
    )
    same(
        dfull((3, 9), 2.5, device_mesh=mesh(), placements=[COLUMNS]).full_tensor(),
        torch.full((3, 9), 2.5),
    )
    t = spread(numbers(5, 2), ROWS)
    f = io.BytesIO()
    torch.save(t, f)
    f.seek(0)
    back = torch.load(f)
    lies(back, ROWS)
    assert back.device_mesh is t.device_mesh or back.device_mesh == t.device_mesh
    same(back.full_tensor(), t.full_tensor())
    assert repr(t).startswith("DTensor(local_tensor=tensor(")


def check_collectives_are_counted() -> None:
    from jtorch.distributed.tensor.debug import CommDebugMode

    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    parallelize_module(model, mesh(), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    mode = CommDebugMode()
    with mode:
        model(torch.ones(3, 6)).sum().backward()
        spread(torch.ones(8, 4), ROWS).redistribute(placements=[R])
        dist.all_reduce(torch.ones(2))
    functional = torch.ops.c10d_functional
    counts = {
        functional.all_reduce: 1,
        functional.all_gather_into_tensor: 1,
        torch.ops.c10d.allreduce_: 1,
        torch.ops.c10d.broadcast_: 1,
    }
    assert mode.get_comm_counts() == counts and mode.get_total_counts() == 4, mode.get_comm_counts()
    assert mode.comm_module_counts["Sequential.2"]["forward"] == {functional.all_reduce: 1}
    assert mode.get_sharding_info()["Sequential.0.weight"] == (ROWS,)
    assert "Sequential.2" in mode.generate_comm_debug_tracing_table()
    dist.all_reduce(torch.ones(2))  # outside of the block
    assert mode.get_total_counts() == 4
    name, t = dist.group.WORLD.group_name, torch.arange(4.0) + RANK
    same(
        torch.ops._c10d_functional.all_reduce(t, "sum", name),
        torch.arange(4.0) * WORLD + sum(range(WORLD)),
    )
    same(
        torch.ops._c10d_functional.reduce_scatter_tensor(t, "sum", WORLD, name),
        [RANK * WORLD + 6.0],
    )


def check_rules_of_programs() -> None:
    from jtorch.distributed.tensor.experimental import register_sharding

    library = torch.library.Library("dtensor_rules", "FRAGMENT")
    library.define("sum(Tensor x, int dim) -> Tensor")  # whose name is that of another operator
    library.impl("sum", lambda x, dim: x.softmax(dim), "CPU")
    library.impl("sum", lambda x, dim: torch.empty_like(x), "Meta")
    operator = torch.ops.dtensor_rules.sum.default
    x = numbers(8, 4)
    lies(operator(spread(x, ROWS), 1), R)  # without a rule: gathered

    @register_sharding(operator)
    def rule(x: Any, dim: int) -> Any:
        assert x.shape == (8, 4)
        return [([Shard(d)], [Shard(d), None]) for d in range(x.ndim) if d != dim]

    for _ in range(2):
        y = operator(spread(x, ROWS), 1)
        lies(y, ROWS)
        same(y.full_tensor(), x.softmax(1))
        y = operator(spread(x, COLUMNS), 1)
        lies(y, R)
        same(y.full_tensor(), x.softmax(1))


def check_calls_like_one_before() -> None:
    x, y = numbers(8, 4), numbers(4, 6, seed=1)
    for k in (1, 2.5, 0.5, True):
        a = spread(x, ROWS).requires_grad_()
        b = spread(y, COLUMNS)
        whole = x.clone().requires_grad_()
        for left, right in ((a, b), (whole, y)):
            out = ((left * k + 1).relu() @ right).view(2, 4, 6).sum(0).t()
            (out * out).sum().backward()
        lies(a.grad, ROWS)
        same(a.grad.full_tensor(), whole.grad)
        with torch.no_grad():
            lies(a * 2, ROWS)
            assert not (a * 2).requires_grad and (a.t().t() is not a)
    for dtype in (torch.float64, torch.float32):
        torch.set_default_dtype(dtype)
        halves = spread(torch.arange(8), ROWS) / 2
        assert halves.dtype is dtype and halves.to_local().dtype is dtype
    with torch.device("meta"):
        nothing = spread(torch.empty(8, 4), ROWS)
    assert [t.detach().device.type for t in (nothing, spread(x, ROWS), nothing)] == [
        "meta",
        "cpu",
        "meta",
    ]


def check_functions_of_parts() -> None:
    w, x = numbers(4, 8), numbers(8, 6, seed=1)
    dw, dx = spread(w, COLUMNS).requires_grad_(), spread(x, ROWS).requires_grad_()
    y = local_map(
        lambda a, b: a @ b, out_placements=[Partial()], in_placements=([COLUMNS], [ROWS])
    )(dw, dx)
    lies(y, Partial())
    same(y.full_tensor(), w @ x)
    y.sum().backward()
    same(dw.grad.full_tensor(), x.sum(1).expand(4, 8))
    with raises(ValueError, "mismatched placements"):
        local_map(lambda a: a, out_placements=[ROWS], in_placements=([ROWS],))(dw)
    moved = local_map(
        lambda a, k: (a * k, "said"),
        out_placements=([ROWS], None),
        in_placements=([ROWS], None),
        redistribute_inputs=True,
    )
    out, said = moved(dw, 2.0)
    assert said == "said"
    same(out.full_tensor(), w * 2)


def check_results_that_are_not_what_was_written() -> None:
    x = numbers(6, 5)
    for placed in (ROWS, COLUMNS, R):
        same(F.rrelu(spread(x, placed)).full_tensor(), F.leaky_relu(x, (1 / 8 + 1 / 3) / 2))
    part = DTensor.from_local(x / WORLD, mesh(), [Partial()])
    same(F.rrelu(part).full_tensor(), F.rrelu(x))


def check_quantiles() -> None:
    x = numbers(8, 4)
    x[3, 1] = float("nan")
    for placed, dim in itertools.product((ROWS, COLUMNS, R), (None, 0, 1)):
        for function in (torch.quantile, torch.nanquantile):
            with implicit_replication():  # of the position, which is a plain tensor
                found = function(spread(x, placed), 0.3, dim=dim)
            same(found.full_tensor(), function(x, 0.3, dim=dim))
            assert found.shape == found.full_tensor().shape
    held = spread(numbers(8, 1, 4), ROWS)
    expected = held.full_tensor().squeeze(1)
    assert held.squeeze_(1) is held and held.shape == (8, 4)
    same(held.full_tensor(), expected)
    x = numbers(8, 4)
    leaf, plain = spread(x, COLUMNS).requires_grad_(), x.clone().requires_grad_()
    with implicit_replication():
        leaf.quantile(0.3, dim=0).square().sum().backward()
    plain.quantile(0.3, dim=0).square().sum().backward()
    same(leaf.grad.full_tensor(), plain.grad)


def check_summands_are_parted_where_that_costs_less() -> None:
    x = numbers(8, 4)
    part = DTensor.from_local(x / WORLD, mesh(), [Partial()])
    for found, expected in (
        (part.sort(1), x.sort(1)),
        (part.topk(2, 1), x.topk(2, 1)),
        (part.cummax(1), x.cummax(1)),
    ):
        lies(found[0], ROWS)
        same(found[0].full_tensor(), expected[0])
        same(found[1].full_tensor(), expected[1])
    low, high = spread(x, ROWS).aminmax()
    lies(low, Partial("min"))
    lies(high, Partial("max"))
    assert (low.full_tensor(), high.full_tensor()) == (x.min(), x.max())


def check_enlarged_images() -> None:
    x = numbers(4, 8, 3, 3)
    for placed, mode in itertools.product((ROWS, COLUMNS), ("nearest", "bilinear", "bicubic")):
        leaf, plain = spread(x, placed).requires_grad_(), x.clone().requires_grad_()
        for t in (leaf, plain):
            F.interpolate(t, scale_factor=2, mode=mode).square().sum().backward()
        lies(leaf.grad, placed)
        same(leaf.grad.full_tensor(), plain.grad)


def check_spectra_halves_and_buckets() -> None:
    x = numbers(8, 4)
    edges = spread(torch.tensor([-0.5, 0.5]), R)
    for made, expected in (
        (torch.fft.rfft(spread(x, ROWS), dim=1), torch.fft.rfft(x, dim=1)),
        (torch.fft.fft(spread(x, COLUMNS), dim=0), torch.fft.fft(x, dim=0)),
        (F.glu(spread(x, ROWS), 1), F.glu(x, 1)),
        (torch.bucketize(spread(x, ROWS), edges), torch.bucketize(x, edges.to_local())),
    ):
        assert made.placements[0].is_shard()
        same(made.full_tensor(), expected)


def check_order_of_a_mesh() -> None:
    grid = mesh(2, 2)
    with raises(KeyError, "ascending order"):
        grid["b", "a"]
    assert grid["a", "b"] is grid
    with raises(ValueError, "must not contain duplicate entries, got [0, 0]"):
        dist.DeviceMesh("cpu", [0, 0])


def check_inference_mode() -> None:
    a, b = spread(numbers(8, 4), ROWS), spread(numbers(8, 4, seed=1), ROWS)
    for _ in range(3):  # the later calls go the short way
        with torch.inference_mode():
            for made in (
                a + b,
                a @ b.t(),
                spread(torch.ones(8), ROWS),
                a.redistribute(placements=[R]),
                (a + b).t(),
            ):
                assert made.is_inference() and made.to_local().is_inference()
            assert not a.detach().is_inference() and not a.t().is_inference()
            kept = a * 2
        assert not (kept + 1).is_inference() and not (a + 1).is_inference()
        with raises(RuntimeError, "Inplace update to inference tensor"):
            kept.add_(1)
        assert torch.nn.Parameter(kept).requires_grad


def check_context_parallel() -> None:
    names = ("query", "key", "value")
    for length, causal in ((16, True), (16, False), (12, True)):  # 12 has no two stretches for each
        whole = [numbers(2, 2, length, 4, seed=i).requires_grad_() for i in range(3)]
        result = F.scaled_dot_product_attention(*whole, is_causal=causal, scale=0.7)
        result.square().sum().backward()
        parts = (
            [t.detach().clone() for t in whole]
            + [t.grad.clone() for t in whole]
            + [torch.arange(length)]
        )
        before = [t.clone() for t in parts]
        plain = F.scaled_dot_product_attention
        with context_parallel(
            mesh(), buffers=parts, buffer_seq_dims=[2] * 6 + [0], no_restore_buffers={parts[-1]}
        ):
            mine = [t.clone().requires_grad_() for t in parts[:3]]
            assert mine[0].shape == (2, 2, length // WORLD, 4)
            own = F.scaled_dot_product_attention(*mine, is_causal=causal, scale=0.7)
            own.square().sum().backward()
            for name, t, grad in zip(names, mine, parts[3:6], strict=True):
                assert torch.allclose(t.grad, grad, atol=1e-5), name
            same(context_parallel_unshard(mesh(), [own], [2])[0], result.detach())
            with raises(NotImplementedError, "attn_mask"):
                F.scaled_dot_product_attention(*mine, attn_mask=torch.zeros(1))
            with raises(NotImplementedError, "need_weights"):
                nn.MultiheadAttention(4, 2)(*(t[0] for t in mine))
        assert F.scaled_dot_product_attention is plain
        for t, was in zip(parts[:-1], before, strict=False):
            same(t, was)
        places = (
            [RANK * 2, RANK * 2 + 1, 14 - 2 * RANK, 15 - 2 * RANK]
            if length == 16
            else [3 * RANK, 3 * RANK + 1, 3 * RANK + 2]
        )
        assert parts[-1].tolist() == places
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    for training, context in (
        (True, contextlib.nullcontext),
        (False, contextlib.nullcontext),
        (False, torch.no_grad),
    ):
        layer.train(training)
        x = numbers(16, 3, 8)
        with context():
            result = layer(x)
            with context_parallel(mesh(), buffers=[x], buffer_seq_dims=[0]):
                own = layer(x.clone())  # which attends to the whole sequence
        same(context_parallel_unshard(mesh(), [own], [0])[0], result.detach())
    with (
        raises(ValueError, "no part for each"),
        context_parallel(mesh(), buffers=[torch.zeros(5)], buffer_seq_dims=[0]),
    ):
        pass
    with (
        raises(ValueError, "same number"),
        context_parallel(mesh(), buffers=[torch.zeros(8)], buffer_seq_dims=[]),
    ):
        pass
    with raises(NotImplementedError, "nope"):
        set_rotate_method("nope")


run(dict(globals()))
