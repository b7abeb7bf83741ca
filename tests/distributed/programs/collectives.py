"""Collectives among three processes."""

import datetime
import os
import pickle
from typing import Any

from _cases import RANK, WORLD, raises, run, same

import jtorch as torch
import jtorch.distributed as dist
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import Shard, distribute_tensor


def check_helpers_of_wrappers() -> None:
    from jtorch.distributed import utils

    assert utils._unpack_kwargs(*utils._pack_kwargs(1, 2, a=3)) == ((1, 2), {"a": 3})
    given = {"x": (torch.ones(1), 2), "n": [torch.arange(1)]}
    made = utils._cast_forward_inputs(torch.float64, given)[0][0]
    assert (made["x"][0].dtype, made["x"][1], made["n"][0].dtype) == (torch.float64, 2, torch.int64)
    group = dist.group.WORLD
    utils._verify_param_shape_across_processes(group, [torch.ones(2)])
    with raises(RuntimeError, "appears not to match sizes of the same param in process"):
        utils._verify_param_shape_across_processes(group, [torch.ones(2 + RANK)])
    torch.manual_seed(RANK)
    layer = torch.nn.Linear(2, 1)
    utils._sync_module_states(layer, group, 1000, 1, {"bias"})
    rows: list[Any] = [None] * WORLD
    dist.all_gather_object(rows, (layer.weight.tolist(), layer.bias.tolist()))
    assert all(row[0] == rows[1][0] for row in rows) and rows[0][1] != rows[1][1]


def check_groups_that_have_been_destroyed() -> None:
    group = dist.new_group([0, 1, 2])
    assert dist.get_rank(group) == RANK
    dist.destroy_process_group(group)
    with raises(ValueError, "is not registered"):
        dist.get_rank(group)
    with raises(ValueError, "Invalid process group specified"):
        dist.destroy_process_group(group)
    used = dist.new_group([0, 1, 2])
    dist.all_reduce(torch.ones(1), group=used)
    dist.destroy_process_group(used)
    with raises(dist.DistBackendError, "the group has been destroyed"):  # and nobody waits
        dist.all_reduce(torch.ones(1), group=used)
    for call in (dist.broadcast, dist.reduce):
        with raises(ValueError, "Must specify global_rank or group_rank"):
            call(torch.ones(1))
    with raises(ValueError, "ranks list must not contain duplicate entries, got [0, 0]"):
        dist.new_group([0, 0])
    with raises(RuntimeError, "Number of tensor splits not equal to group size"):
        dist.all_to_all_single(torch.zeros(3), torch.zeros(3), [3], [1, 1, 1])
    with raises(ValueError, "Can't specify both group_rank and global_rank"):
        dist.broadcast(torch.ones(1), src=0, group_src=0)


def check_reductions_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(dist.ReduceOp.MAX)) == dist.ReduceOp.MAX


def check_all_reduce_with_every_operation() -> None:
    for op, expected in {"SUM": 6.0, "AVG": 2.0, "PRODUCT": 6.0, "MIN": 1.0, "MAX": 3.0}.items():
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            t = torch.full((3,), RANK + 1.0, dtype=dtype)
            dist.all_reduce(t, getattr(dist.ReduceOp, op))
            same(t, [expected] * 3)
    for op, expected in {"BAND": 0, "BOR": 3, "BXOR": 0, "SUM": 6}.items():
        for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
            t = torch.full((2, 2), RANK + 1, dtype=dtype)
            dist.all_reduce(t, getattr(dist.ReduceOp, op))
            same(t, [[expected] * 2] * 2)
    flag = torch.tensor([True, RANK == 1])
    dist.all_reduce(flag, dist.ReduceOp.BAND)
    same(flag, [True, False])
    z = torch.tensor([complex(RANK, -1)])
    dist.all_reduce(z)
    same(z, [3 - 3j])


def check_large_arrays_take_the_programs_of_xla() -> None:
    n = 100_003
    for dtype in (torch.float32, torch.int32, torch.bfloat16, torch.complex64, torch.bool):
        t = (torch.arange(n) % 5 + RANK).to(dtype)
        dist.all_reduce(t, dist.ReduceOp.SUM)
        expected = (
            (3 * (torch.arange(n) % 5) + 3).to(dtype)
            if dtype != torch.bool
            else torch.ones(n, dtype=torch.bool)
        )
        assert torch.equal(t, expected), dtype
    t = torch.full((n,), float(RANK))
    dist.all_reduce(t, dist.ReduceOp.MAX)
    assert torch.equal(t, torch.full((n,), 2.0))
    t = torch.arange(float(n)) * (RANK == 1) - 0.0
    dist.broadcast(t, 1)
    assert torch.equal(t, torch.arange(float(n)))
    out = torch.empty(WORLD, n)
    dist.all_gather_into_tensor(out, torch.full((n,), float(RANK)))
    assert torch.equal(out[:, -1], torch.arange(3.0))


def check_lists_of_tensors_for_a_process() -> None:
    pg: Any = dist.group.WORLD

    def given() -> Any:
        return [torch.full((2,), RANK + 1.0), torch.full((2,), RANK + 10.0)]

    for op, total in (
        (dist.ReduceOp.SUM, 39.0),
        (dist.ReduceOp.MAX, 12.0),
        (dist.ReduceOp.PRODUCT, 7920.0),
    ):
        t = given()
        pg.allreduce(t, op).wait()
        assert [part.tolist() for part in t] == [[total] * 2] * 2, op
    t[0][0] = 1
    assert t[1][0] == total  # they share no memory
    opts = dist.BroadcastOptions()
    opts.rootRank, opts.rootTensor = 2, 1
    pg.broadcast(t := given(), opts).wait()
    assert [part.tolist() for part in t] == [[12.0] * 2] * 2
    lists = [[torch.zeros(2) for _ in range(2 * WORLD)] for _ in range(2)]
    pg.allgather(lists, given()).wait()
    assert [[part[0].item() for part in places] for places in lists] == [
        [1.0, 10.0, 2.0, 11.0, 3.0, 12.0]
    ] * 2
    for call, kind, words in (
        (lambda: pg.allreduce([torch.ones(2), torch.ones(3)]), RuntimeError,
         "tensor size at index 0 (expected (2), got (3))"),
        (lambda: pg.allreduce([torch.ones(2), torch.ones(2).int()]), RuntimeError,
         "allreduce: invalid tensor type at index 0"),
        (lambda: pg.allreduce([]), NotImplementedError, "schema c10d::allreduce_"),
        (lambda: pg.allreduce(given(), dist.ReduceOp.AVG), NotImplementedError,
         "for several tensors"),
        (lambda: pg.allgather([lists[0][:3]] * 2, given()), RuntimeError,
         "list at index 0 (expected length 6, got 3)"),
        (lambda: pg.reduce(given()), RuntimeError,
         "ProcessGroupGloo::reduce: requires a single-element tensor list"),
        (lambda: pg.reduce_scatter(given(), [given()] * 2), RuntimeError,
         "reduce_scatter only supports 1 output"),
        (lambda: pg.send(given(), 0, 0), RuntimeError, "send takes a single tensor"),
    ):  # fmt: skip
        with raises(kind, words):
            call()


def check_what_is_received_becomes_the_memory() -> None:
    for n in (5, 50_001):
        t = torch.ones(n)
        row, address = t.view(-1)[1:3], t.data_ptr()
        before = t * 2  # is computed later, and of what was there before
        dist.all_reduce(t)
        first = t.clone()
        dist.all_reduce(t)
        assert t.data_ptr() == address
        assert (
            row.tolist() == [9.0, 9.0]
            and first.eq(3).all()
            and before.eq(2).all()
            and t.eq(9).all()
        )
        t += 1
        assert row.tolist() == [10.0, 10.0]
    leaf = torch.ones(3, requires_grad=True)
    dist.all_reduce(leaf)  # as every collective: no leaf is refused, and nothing is recorded
    assert leaf.is_leaf and leaf.tolist() == [3.0] * 3
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    dist.all_reduce(y.detach())
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


def check_the_transport_does_not_interrupt() -> None:
    if not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:  # not allowed here, nor to the transport
        return
    threads = {
        int(name): os.sched_getscheduler(int(name)) for name in os.listdir("/proc/self/task")
    }
    # as many as there are groups that have talked
    assert os.SCHED_BATCH in threads.values(), threads
    lane = dist.group.WORLD._lane._thread.native_id
    assert threads[os.getpid()] == threads[lane] == os.SCHED_OTHER


def check_reduce_scatter_is_right_many_times() -> None:
    chunk = 1 << 17
    for i in range(30):
        parts = torch.stack([torch.full((chunk,), float(i + r)) for r in range(WORLD)]) * (RANK + 1)
        out = torch.empty(chunk)
        dist.reduce_scatter_tensor(out, parts)
        assert torch.equal(out, torch.full((chunk,), 6.0 * (i + RANK))), i


def check_views_are_written_in_place() -> None:
    base = torch.zeros(4, 6)
    part = base.t()[1:3]
    part.fill_(RANK + 1.0)
    dist.all_reduce(part)
    assert base[:, 1:3].eq(6).all() and base[:, 3:].eq(0).all()
    p = torch.nn.Parameter(torch.full((2,), float(RANK)))
    dist.broadcast(p.data, 2)
    same(p.detach(), [2.0, 2.0])


def check_broadcast_keeps_bits() -> None:
    t = torch.tensor([-0.0, float("nan"), float("-inf")]) if RANK == 0 else torch.zeros(3)
    dist.broadcast(t, 0)
    same(t.view(torch.int32), [-2147483648, 2143289344, -8388608])


def check_states_of_modules_come_from_one_rank() -> None:
    from jtorch.distributed.utils import _sync_module_states

    m = torch.nn.BatchNorm1d(2)
    with torch.no_grad():
        for t in (*m.parameters(), m.running_mean, m.running_var):
            t.fill_(RANK)
    _sync_module_states(m, dist.group.WORLD, 1 << 20, 2, {"bias"}, broadcast_buffers=True)
    same(m.weight, [2.0, 2.0])
    same(m.bias, [float(RANK)] * 2)
    same(m.running_mean, [2.0, 2.0])
    _sync_module_states(m, dist.group.WORLD, 1 << 20, 1, (), broadcast_buffers=False)
    same(m.bias, [1.0, 1.0])


def check_parts_that_do_not_fit_are_all_left_out() -> None:
    # Rank 1 sends too much to rank 0, the others what is expected of them: only rank 0 can tell,
    # and writes nothing.
    outs = [torch.zeros(2) for _ in range(WORLD)]
    ins = [torch.ones(4 if (RANK, i) == (1, 0) else 2) for i in range(WORLD)]
    if RANK == 0:
        with raises(
            dist.DistBackendError,
            "[Rank 0] all_to_all of group 0 (default_pg) of ranks [0, 1, 2] failed: rank 1 sent 16 "
            "bytes",
        ):
            dist.all_to_all(outs, ins)
        assert all(t.sum() == 0 for t in outs)
    else:
        dist.all_to_all(outs, ins)
        assert all(t.tolist() == [1, 1] for t in outs)
    # All that comes is as much as there is room for, but not each part: it must not slip into the
    # place of another.
    out = torch.zeros(6)
    with raises(
        dist.DistBackendError,
        f"[Rank {RANK}] all_to_all_single of group 0 (default_pg) of ranks [0, 1, 2] failed: rank "
        "0 sent",
    ):
        dist.all_to_all_single(out, torch.ones(3 * (RANK + 1)), [2, 2, 2], [RANK + 1] * 3)
    assert out.sum() == 0
    dist.all_to_all_single(out, torch.ones(3 * (RANK + 1)), [1, 2, 3], [RANK + 1] * 3)
    same(out, [1.0] * 6)
    rows = [torch.zeros(1), torch.zeros(2), torch.zeros(3)]
    with raises(
        dist.DistBackendError,
        f"[Rank {RANK}] all_gather of group 0 (default_pg) of ranks [0, 1, 2] failed: rank 1 sent "
        "4 bytes",
    ):
        dist.all_gather(rows, torch.ones(1))
    assert sum(t.sum() for t in rows) == 0


def check_gather_scatter_and_all_to_all() -> None:
    rows = [torch.zeros(2) for _ in range(WORLD)] if RANK == 1 else None
    dist.gather(torch.full((2,), float(RANK)), rows, dst=1)
    if rows is not None:
        same(torch.stack(rows), [[0, 0], [1, 1], [2, 2]])
    t = torch.zeros(2)
    dist.scatter(
        t, [torch.full((2,), 10.0 + i) for i in range(WORLD)] if RANK == 2 else None, src=2
    )
    same(t, [10.0 + RANK] * 2)
    outs = [torch.zeros(RANK + 1) for _ in range(WORLD)]
    dist.all_to_all(outs, [torch.full((i + 1,), float(RANK)) for i in range(WORLD)])
    same(torch.cat(outs), [float(i) for i in range(WORLD) for _ in range(RANK + 1)])
    single = torch.zeros(6)
    dist.all_to_all_single(single, torch.arange(6.0) + 10 * RANK)
    same(single, [10.0 * r + 2 * RANK + i for r in range(WORLD) for i in range(2)])
    out, part = torch.zeros(WORLD, dtype=torch.int64), torch.zeros(1)
    dist.all_gather_single(out, torch.tensor([RANK]))
    same(out, [0, 1, 2])
    dist.reduce_scatter_single(part, torch.arange(3.0))
    same(part, [3.0 * RANK])


def check_asynchronous_works() -> None:
    tensors = [torch.full((3,), float(RANK + i)) for i in range(5)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    assert all(w.wait() for w in works) and all(w.is_completed() and w.is_success() for w in works)
    for i, t in enumerate(tensors):
        same(t, [3.0 + 3 * i] * 3)
    t = torch.ones(2)
    same(dist.all_reduce(t, async_op=True).get_future().wait()[0], [3.0, 3.0])
    t = torch.ones(2)
    dist.all_reduce(t, async_op=True)  # never waited for: the barrier comes after it
    dist.barrier()
    same(t, [3.0, 3.0])


def check_coalesced_forms() -> None:
    a, b = torch.ones(2), torch.full((3,), float(RANK))
    dist.all_reduce_coalesced([a, b])
    same(torch.cat([a, b]), [3.0] * 5)
    outs = [[torch.zeros(1), torch.zeros(2)] for _ in range(WORLD)]
    dist.all_gather_coalesced(outs, [torch.full((1,), float(RANK)), torch.full((2,), RANK + 0.5)])
    same(torch.cat(outs[2]), [2.0, 2.5, 2.5])


def check_methods_of_groups() -> None:
    pg: Any = dist.new_group([0, 1, 2])
    pair: Any = dist.new_group([1, 2])
    t = torch.ones(2) * RANK
    assert pg.allreduce([t]).wait()
    same(t, [3.0, 3.0])
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MAX
    t = torch.ones(2) * RANK
    pg.allreduce(t, options).wait()
    same(t, [2.0, 2.0])
    t = torch.ones(2) * RANK
    pg.allreduce(t, op=dist.ReduceOp.MIN).wait()
    same(t, [0.0, 0.0])
    assert (
        pg._get_backend(torch.device("cpu")).name() == "gloo"
        and torch.device("cpu") in pg._device_types
    )
    t = torch.ones(2) * RANK
    if RANK:
        pair.broadcast(t, 0).wait()  # a rank of the group
        same(t, [1.0, 1.0])
    rows = [torch.zeros(1) for _ in range(WORLD)]
    pg.allgather([rows], [torch.ones(1) * RANK]).wait()
    assert [r.item() for r in rows] == [0.0, 1.0, 2.0]
    own = torch.zeros(1)
    pg.reduce_scatter([own], [[torch.ones(1) * i for i in range(WORLD)]]).wait()
    same(own, [3.0 * pg.rank()])
    flat = torch.zeros(WORLD)
    pg._allgather_base(flat, own).wait()
    same(flat, [0.0, 3.0, 6.0])
    if pg.rank() == 0:
        pg.send([torch.ones(3)], 1, 4).wait()
    elif pg.rank() == 1:
        got = torch.zeros(3)
        pg.recv([got], 0, 4).wait()
        same(got, [1.0] * 3)
    pg.barrier().wait()


def check_backends_of_devices() -> None:
    assert dist.get_backend_config() == "cpu:gloo,cuda:gloo"
    both = dist.new_group(backend="cpu:gloo,cuda:nccl")
    assert dist.get_backend_config(both) == "cpu:gloo,cuda:nccl"
    assert dist.BackendConfig(dist.Backend("nccl")).get_device_backend_map() == {"cuda": "nccl"}
    for bad in ("cpu:gloo,cpu:nccl", "cpu:gloo:x"):
        with raises(ValueError, "evice"):
            dist.BackendConfig(dist.Backend(bad))
    with raises(ValueError, "Invalid process group"):
        dist.get_backend_config(dist.GroupMember.NON_GROUP_MEMBER)


def check_groups() -> None:
    pair, other = dist.new_group([0, 2]), dist.new_group([1, 2])
    assert dist.get_rank(pair) == {0: 0, 1: -1, 2: 1}[RANK] and dist.get_world_size() == 3
    if RANK != 1:
        t = torch.ones(2)
        dist.all_reduce(t, group=pair)
        same(t, [2.0, 2.0])
        assert (
            dist.get_global_rank(pair, 1) == 2
            and dist.get_group_rank(pair, 2) == 1
            and dist.get_process_group_ranks(pair) == [0, 2]
        )
        dist.destroy_process_group(pair)
    assert dist.all_reduce(torch.ones(1), group=dist.GroupMember.NON_GROUP_MEMBER) is None
    if RANK:
        t = torch.full((1,), float(RANK))
        dist.broadcast(t, group=other, group_src=1)
        same(t, [2.0])
    own, everyone = dist.new_subgroups_by_enumeration([[0], [1, 2]])
    assert len(everyone) == 2 and dist.get_world_size(own) == (1 if RANK == 0 else 2)
    local = dist.new_group([RANK], use_local_synchronization=True)
    t = torch.ones(1)
    dist.all_reduce(t, group=local)
    same(t, [1.0])
    reordered = dist.new_group([2, 0, 1], sort_ranks=False)
    assert dist.get_rank(reordered) == [1, 2, 0][RANK]
    rows = [torch.zeros(1) for _ in range(3)]
    dist.all_gather(rows, torch.tensor([float(RANK)]), group=reordered)
    same(torch.cat(rows), [2.0, 0.0, 1.0])


def check_objects() -> None:
    everyone = [None] * WORLD
    for size in (1, 5000, 3):
        dist.all_gather_object(everyone, {"rank": RANK, "text": "x" * size * (RANK + 1)})
        assert [len(e["text"]) for e in everyone] == [size, 2 * size, 3 * size]
    box = ["a" * 9000, torch.ones(2), None] if RANK == 1 else [None] * 3
    dist.broadcast_object_list(box, src=1)
    assert len(box[0]) == 9000 and box[1].tolist() == [1, 1]
    out = [None]
    dist.scatter_object_list(
        out, [{"to": i, "text": "y" * 3000 * i} for i in range(WORLD)] if RANK == 0 else None, src=0
    )
    assert out[0]["to"] == RANK and len(out[0]["text"]) == 3000 * RANK
    got = [None] * WORLD if RANK == 2 else None
    dist.gather_object((RANK, "z"), got, dst=2)
    assert got is None or got == [(0, "z"), (1, "z"), (2, "z")]


def check_messages() -> None:
    following, before = (RANK + 1) % WORLD, (RANK - 1) % WORLD
    x, y = torch.arange(4.0) + RANK, torch.zeros(4)
    dist.send(x, following)  # all send first
    assert dist.recv(y, before) == before
    same(y, [before + i + 0.0 for i in range(4)])
    if RANK == 0:
        for tag in (7, 3):
            dist.isend(torch.full((2,), float(tag)), 1, tag=tag)
        dist.send(torch.full((100_000,), 5.0), 1)
    if RANK == 1:
        a, b, c = torch.zeros(2), torch.zeros(2), torch.zeros(100_000)
        first, second = dist.irecv(a, 0, tag=3), dist.irecv(b, 0, tag=7)
        second.wait()
        first.wait()
        assert a[0] == 3 and b[0] == 7
        assert dist.recv(c) == 0 and c.eq(5).all()  # from anyone
    ops = [dist.P2POp(dist.isend, x, following), dist.P2POp(dist.irecv, y, before)]
    assert all(w.wait() for w in dist.batch_isend_irecv(ops))
    assert ops[0].group_peer == ops[0].peer == following and repr(ops[0]).endswith(
        "torch.Size([4]), torch.float32)"
    )
    late = dist.new_group([2, 1])
    if RANK:
        op = dist.P2POp(dist.isend if RANK == 2 else dist.irecv, y, group=late, group_peer=RANK % 2)
        assert op.peer == 3 - RANK and op.group is late
        (work,) = dist.batch_isend_irecv([op])
        assert work.wait() and (RANK == 2 or work._source_rank() == 1)
        with raises(ValueError, "not part of group"):
            dist.P2POp(dist.isend, y, 0, late)
    if RANK == 2:
        dist.send_object_list(["a", {"b": torch.ones(1)}], dst=0)
    if RANK == 0:
        box = [None, None]
        assert dist.recv_object_list(box, src=2) == 2 and box[0] == "a"
    with raises(ValueError, "should not be the same as the rank of the current process"):
        dist.send(x, RANK)
    if RANK == 1:
        dist.send(torch.zeros(3), 0, tag=11)
    if RANK == 0:
        with raises(dist.DistBackendError, "12 bytes of float32"):
            dist.recv(torch.zeros(2), 1, tag=11)


def check_disagreements_are_errors_everywhere() -> None:
    with raises(dist.DistBackendError, "do not call the same collective"):
        dist.all_reduce(torch.ones(3 if RANK == 1 else 4))
    with raises(dist.DistBackendError, "do not call the same collective"):
        dist.all_reduce(torch.ones(50_000 if RANK == 1 else 40_000))
    with raises(dist.DistBackendError, "float64"):
        dist.broadcast(torch.ones(4, dtype=torch.float64 if RANK == 2 else torch.int64), 0)
    with raises(dist.DistBackendError, "barrier"):
        dist.barrier() if RANK == 0 else dist.all_reduce(torch.ones(1))
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    with raises(dist.DistBackendError, "(2, 3)"):
        dist.all_reduce(torch.ones(3, 2) if RANK == 1 else torch.ones(2, 3))
    dist.set_debug_level(dist.DebugLevel.OFF)
    t = torch.ones(1)
    dist.all_reduce(t)  # the group is as good as before
    same(t, [3.0])


def check_lists_are_compared_tensor_by_tensor() -> None:
    sizes = [5, 3] if RANK == 1 else [3, 5]  # as many elements in all
    with raises(dist.DistBackendError, "do not call the same collective"):
        dist.all_gather_coalesced(
            [[torch.zeros(n) for n in sizes] for _ in range(WORLD)], [torch.ones(n) for n in sizes]
        )
    with raises(dist.DistBackendError, "do not call the same collective"):
        dist.all_reduce_coalesced([torch.ones(n) for n in sizes])
    many = [1] * 100 + sizes  # what is done has more letters than a round
    with raises(dist.DistBackendError, "do not call the same collective"):
        dist.all_reduce_coalesced([torch.ones(n) for n in many])
    with raises(dist.DistBackendError, "int32"):  # as many bytes
        given = [torch.ones(2, dtype=torch.int32 if RANK == 1 else torch.float32)] * WORLD
        dist.all_to_all([torch.zeros_like(t) for t in given], given)


def check_lists_of_tensors_travel_together() -> None:
    rows = [[torch.zeros(3, 2).t(), torch.zeros(0), torch.zeros(4)] for _ in range(WORLD)]
    given = [torch.arange(6.0).reshape(2, 3) + RANK, torch.zeros(0), torch.full((4,), float(RANK))]
    future = dist.all_gather_coalesced(rows, given, async_op=True)
    assert future.wait() is rows or future.done()
    for rank, (a, b, c) in enumerate(rows):
        same(a, [[float(3 * i + j + rank) for j in range(3)] for i in range(2)])
        same(c, [float(rank)] * 4)
        assert b.shape == (0,)
    with raises(RuntimeError, "output lists should be equal to world size"):
        dist.all_gather_coalesced(rows[:1], given)
    with raises(RuntimeError, r"invalid output size: (expected length 3, got 1)"):
        dist.all_gather_coalesced([row[:1] for row in rows], given)
    with raises(
        RuntimeError, "invalid size of output tensor at index 0 (expected length (6), got (2, 3))"
    ):
        dist.all_gather_coalesced(rows, [torch.zeros(6), *given[1:]])
    with raises(ValueError, "different dtypes"):
        dist.all_gather_coalesced(rows, [torch.zeros(6), torch.zeros(1).long()])
    with raises(TypeError, "output_tensor_lists"):
        dist.all_gather_coalesced([torch.zeros(6)] * WORLD, [torch.zeros(6)])
    with raises(NotImplementedError, "no tensor arguments"):
        dist.all_reduce_coalesced([])
    pair = [torch.ones(2), torch.full((3,), float(RANK))]
    dist.all_reduce_coalesced(pair, async_op=True).wait()
    same(pair[1], [3.0] * 3)


def check_equal_splits_may_be_left_out_by_some() -> None:
    for n in (2, 4000):
        given, got = torch.arange(float(WORLD * n)) + 10_000 * RANK, torch.zeros(WORLD * n)
        splits = ([], [[n] * WORLD], [None, [n] * WORLD])[RANK]
        dist.all_to_all_single(got, given, *splits)
        for rank in range(WORLD):
            same(
                got[rank * n : (rank + 1) * n],
                (torch.arange(float(n)) + 10_000 * rank + RANK * n).tolist(),
            )
    # One process's parts travel in the round, another's do not.
    sent = [[1, 1, 3000], [1, 1, 1], [1, 1, 1]][RANK]
    expected = [row[RANK] for row in ([1, 1, 3000], [1, 1, 1], [1, 1, 1])]
    got = torch.zeros(sum(expected))
    dist.all_to_all_single(got, torch.full((sum(sent),), float(RANK)), expected, sent)
    same(got, [float(rank) for rank, n in enumerate(expected) for _ in range(n)])
    empty = torch.zeros(0, 2)
    dist.all_to_all_single(empty, torch.zeros(0, 2))
    with raises(RuntimeError, "Split sizes"):
        dist.all_to_all_single(torch.zeros(3), torch.zeros(3), [4, -1, 0], [4, -1, 0])
    with raises(RuntimeError, "without dimensions"):
        dist.all_to_all_single(torch.tensor(0.0), torch.tensor(0.0))


def check_room_of_other_shapes_is_refused() -> None:
    x, y = torch.zeros(2, 3), torch.zeros(3, 2)
    with raises(
        RuntimeError,
        "ProcessGroupGloo::allgather: invalid tensor size at index 0 (expected (2, 3), got (3, 2))",
    ):
        dist.all_gather([y] * WORLD, x)
    with raises(
        RuntimeError,
        "ProcessGroupGloo::gather: invalid tensor size at index 1 (expected (2, 3), got (5))",
    ):
        dist.gather(x, [x, torch.zeros(5), x], RANK)
    with raises(RuntimeError, "Incorrect output list size 2"):
        dist.gather(x, [x, x], RANK)
    with raises(
        RuntimeError,
        "ProcessGroupGloo::scatter: invalid tensor size at index 0 (expected (2, 3), got (3, 2))",
    ):
        dist.scatter(x, [y] * WORLD, RANK)
    with raises(RuntimeError, "reduce_scatter"):
        dist.reduce_scatter(x, [y] * WORLD)
    with raises(RuntimeError, "list size, must be world size"):
        dist.reduce_scatter(x, [x])
    with raises(RuntimeError, "input tensor list size 1 does not match world size 3"):
        dist.all_to_all([x], [x])


def check_uneven_gathers_end_everywhere() -> None:
    # Some processes have room for equal parts, others for unequal ones; those whose room fits get
    # what is sent.
    n = 6000 if RANK == 1 else 5000
    fits = [torch.zeros(5000), torch.zeros(6000), torch.zeros(5000)]
    if RANK == 1:
        dist.all_gather(fits, torch.full((n,), float(RANK)))
        same(fits[1][-2:], [1.0, 1.0])
    else:
        with raises(dist.DistBackendError, "rank 1 sent 24000 bytes where 20000 are expected"):
            dist.all_gather(
                [torch.zeros(5000) for _ in range(WORLD)], torch.full((n,), float(RANK))
            )
    with raises(dist.DistBackendError, "bytes where"):
        lists = [[2, 4, 2], [4, 2, 2], [2, 2, 4]][RANK]
        dist.reduce_scatter(torch.zeros(lists[RANK]), [torch.ones(k) for k in lists])
    t = torch.ones(1)
    dist.all_reduce(t)
    same(t, [3.0])


def check_refused_arguments() -> None:
    with raises(RuntimeError, "non-integral dtype"):
        dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND)
    with raises(ValueError, "RedOpType.MAX on complex tensors"):
        dist.all_reduce(torch.ones(1, dtype=torch.complex64), dist.ReduceOp.MAX)
    with raises(ValueError, "out of range"):
        dist.new_group([9])
    with raises(ValueError, "different dtypes"):
        dist.all_gather([torch.ones(1)] * WORLD, torch.ones(1).double())
    with raises(RuntimeError, "invalid output tensor list"):
        dist.all_gather([torch.ones(1)], torch.ones(1))
    with raises(RuntimeError, "output size times world size"):
        dist.reduce_scatter_tensor(torch.ones(2), torch.ones(3))
    with raises(TypeError, "`tensor` of type torch.Tensor"):
        dist.all_reduce(3)


def check_monitored_barrier_names_who_is_missing() -> None:
    dist.monitored_barrier()
    pair = dist.new_group([0, 1, 2])
    if RANK == 0:
        with raises(RuntimeError, "Rank 1 failed to pass monitoredBarrier in 300 ms"):
            dist.monitored_barrier(pair, datetime.timedelta(seconds=0.3))
    elif RANK == 2:
        with raises(RuntimeError, "Rank 2 successfully reached monitoredBarrier"):
            dist.monitored_barrier(pair, datetime.timedelta(seconds=5))
    dist.barrier()


def check_late_barriers_raise() -> None:
    group = dist.new_group([0, 1])
    if RANK == 0:
        dist.barrier(group)
        with raises(dist.DistBackendError, "barrier of group"):
            dist.barrier(group, timeout=datetime.timedelta(seconds=0.3))
        with raises(dist.DistBackendError, "an earlier call failed"):
            dist.barrier(group)
    elif RANK == 1:
        dist.barrier(group)
    dist.barrier()


def check_groups_that_some_do_not_come_to() -> None:
    for late in (0, 1):
        group = dist.new_group([0, 1, 2], timeout=datetime.timedelta(seconds=0.4))
        if late == RANK:  # it waits for others who never come, and must not be ended for it
            with raises(dist.DistBackendError, "all_reduce of group"):
                dist.all_reduce(torch.ones(1), group=group)
        dist.barrier()
        if late != RANK:  # the one has given up
            with raises(dist.DistBackendError, "all_reduce of group"):
                dist.all_reduce(torch.ones(1), group=group)
        dist.barrier()


def check_groups_of_their_own_are_made_again() -> None:
    for _ in range(3):
        if RANK:
            group = dist.new_group([1, 2], use_local_synchronization=True)
            t = torch.ones(2)
            dist.all_reduce(t, group=group)
            same(t, [2.0, 2.0])
            dist.destroy_process_group(group)
    dist.barrier()


def check_destroyed_and_made_again() -> None:
    import os

    before = dist.new_group([0, 1, 2])
    spread = distribute_tensor(torch.arange(4.0), init_device_mesh("cpu", (WORLD,)), [Shard(0)])
    for _ in range(2):
        dist.destroy_process_group()
        assert not dist.is_initialized()
        dist.init_process_group("gloo")
        t = torch.ones(1)
        dist.all_reduce(t)
        same(t, [3.0])
        # a mesh finds the new world's groups
        same((spread * 2).full_tensor(), [0.0, 2.0, 4.0, 6.0])
    assert before is not None
    dist.destroy_process_group()
    store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), WORLD, RANK == 0)
    for _ in range(2):
        dist.init_process_group("gloo", store=store, rank=RANK, world_size=WORLD)
        t = torch.ones(1)
        dist.all_reduce(t)
        dist.destroy_process_group()
        same(t, [3.0])
    assert store.add("left", 1) > 0  # a store that is given stays the program's
    while store.add("left", 0) < WORLD:
        pass
    dist.init_process_group(
        "nccl", f"file://{os.environ['WORLD_FOLDER']}/meet", world_size=WORLD, rank=RANK
    )
    assert dist.get_backend() == "nccl"
    rows = [None] * WORLD
    dist.all_gather_object(rows, RANK)
    assert rows == [0, 1, 2]


run(dict(globals()))
