"""Small public names without a file of their own: settings of files, checks of texts, events,
attention of packed sequences."""

from __future__ import annotations

import copy
import importlib
import io
import mmap
from datetime import datetime, timedelta
from typing import Any

import pytest

import jtorch as torch
from jtorch import serialization
from jtorch.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out
from jtorch.testing import FileCheck

TEXT = "one two\nthree two\nfour\n"


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("one").check("three"), FileCheck().check("three").check_not("one"),
        FileCheck().check_count("two", 2),
        FileCheck().check_count(str="two", count=2, exactly=True),
        FileCheck().check("one").check_next("three"), FileCheck().check("one").check_same("two"),
        FileCheck().check_dag("three").check_dag("one").check("four"),
        FileCheck().check_regex("t[hx]ree"), FileCheck().check_not("zzz").check("one"),
        FileCheck().check_count("two", 0),
    ],
)  # fmt: skip
def test_file_checks_that_hold(check: Any) -> None:
    assert check.run(TEXT) is None


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (FileCheck().check("five"),
         ('find "five" but did not find it\n'
          'Searched string:\n'
          'one two\n'
          '~~~~ <--- HERE\n'
          'three two\n'
          'four\n')),
        (FileCheck().check("four").check("one"), 'find "one" but did not find it'),
        (FileCheck().check_not("two"),
         ('not find "two" but found it\n'
          'one two\n'
          '    ~~~ <--- HERE\n'
          'three two\n'
          'four\n'
          'From CHECK-NOT: two')),
        (FileCheck().check_count("two", 1, exactly=True),
         'not find "two" but found it\none two\nthree two\n      ~~~ <--- HERE\nfour\n'),
        (FileCheck().check_count("two", 3), "From CHECK-COUNT-3: two"),
        (FileCheck().check("one").check_next("four"), 'not find "\\n" but found it'),
        (FileCheck().check("one").check_same("three"), "From CHECK-SAME: three"),
        (FileCheck().check("one").check_not("three").check("four"),
         'not find "three" but found it'),
        (FileCheck().check_regex("zz+"), 'find regex "zz+" but did not find it'),
        (FileCheck(), "No checks have been added"),
    ],
)  # fmt: skip
def test_file_checks_that_fail(check: Any, words: str) -> None:
    with pytest.raises(RuntimeError) as error:
        check.run(TEXT)
    assert words in str(error.value)


def test_file_checks_from_comments_and_marks() -> None:
    FileCheck().run("# CHECK: one\n# CHECK-NEXT: three\n# CHECK-NOT: five", TEXT)
    with pytest.raises(RuntimeError, match="CHECK-NOT: four"):
        FileCheck().run("# CHECK: one\n# CHECK-NOT: four", TEXT)
    FileCheck().check_source_highlighted("two").run("a two\n  ~~~ <--- HERE")
    with pytest.raises(RuntimeError, match="highlighted but it is not"):
        FileCheck().check_source_highlighted("two").run("a two\nxx")


def test_settings_of_files() -> None:
    order = serialization.LoadEndianness
    assert serialization.get_default_load_endianness() is None
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(
        TypeError, match="Invalid argument type in function set_default_load_endianness"
    ):
        serialization.set_default_load_endianness("big")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"expected mmap\.MAP_PRIVATE or mmap\.MAP_SHARED, but got 7"
    ):
        serialization.set_default_mmap_options(7)
    with serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
        pass
    with pytest.raises(NotImplementedError, match="MAP_SHARED"):
        serialization.set_default_mmap_options(mmap.MAP_SHARED)
    with pytest.raises(RuntimeError, match="on a HPU device"):
        serialization.validate_hpu_device("hpu:0")
    assert serialization.get_crc32_options()
    assert serialization.check_module_version_greater_or_equal(torch, (2, 0))
    assert list(order) == [order.NATIVE, order.LITTLE, order.BIG]


def test_byte_order_of_files_that_do_not_say_it() -> None:
    import zipfile

    whole, without = io.BytesIO(), io.BytesIO()
    torch.save(torch.tensor([1, 256]), whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(without, "w") as target:
        for name in source.namelist():
            if not name.endswith("byteorder"):
                target.writestr(name, source.read(name))
    for order, wanted in ((None, [1, 256]), (serialization.LoadEndianness.BIG, [1 << 56, 1 << 48])):
        serialization.set_default_load_endianness(order)
        without.seek(0)
        try:
            assert torch.load(without).tolist() == wanted
        finally:
            serialization.set_default_load_endianness(None)


def test_events_and_statistics() -> None:
    monitor, seen = torch.monitor, []
    handle = monitor.register_event_handler(lambda e: seen.append((e.name, e.data)))
    monitor.log_event(monitor.Event("x", datetime(2020, 1, 1), {"a": 1}))
    every = list(monitor.Aggregation)
    stat = monitor.Stat("n", every, timedelta(hours=1), 2)
    stat.add(1)
    assert stat.count == 1 and set(stat.get().values()) == {0.0}
    stat.add(3)
    assert stat.count == 0
    stat.add(7)
    del stat
    monitor.unregister_event_handler(handle)
    monitor.log_event(monitor.Event("y", datetime(2020, 1, 1), {}))
    names = ["value", "mean", "count", "sum", "max", "min"]
    first = dict(zip([f"n.{n}" for n in names], [3.0, 2.0, 2.0, 4.0, 3.0, 1.0], strict=True))
    assert seen[:2] == [("x", {"a": 1}), ("torch.monitor.Stat", first)]
    assert seen[2][1]["n.sum"] == 7.0 and len(seen) == 3
    with pytest.raises(TypeError):
        monitor.Event("x", 3, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0), (1, 1), (0, 0)])
@pytest.mark.parametrize("gqa", [False, True])
def test_packed_attention_is_that_of_each_sequence(window: tuple[int, int], gqa: bool) -> None:
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(6, 2, 4),
        torch.randn(7, 1 if gqa else 2, 4),
        torch.randn(7, 1 if gqa else 2, 4),
    )
    cu_q, cu_k = (
        torch.tensor([0, 2, 6], dtype=torch.int32),
        torch.tensor([0, 3, 7], dtype=torch.int32),
    )
    out, lse = varlen_attn(
        q,
        k,
        v,
        cu_q,
        cu_k,
        4,
        4,
        window_size=window,
        enable_gqa=gqa,
        return_aux=AuxRequest(lse=True),
    )
    for a, b, c, d in ((0, 2, 0, 3), (2, 6, 3, 7)):
        n, m = b - a, d - c
        where = torch.arange(m)[None] - (torch.arange(n)[:, None] + m - n)
        allowed = torch.ones(n, m, dtype=torch.bool)
        if window[1] >= 0:
            allowed &= where <= window[1]
        if window[0] >= 0:
            allowed &= where >= -window[0]
        parts = (q[a:b].transpose(0, 1), k[c:d].transpose(0, 1), v[c:d].transpose(0, 1))
        expected = torch.nn.functional.scaled_dot_product_attention(
            *parts, attn_mask=allowed, enable_gqa=gqa
        )
        torch.testing.assert_close(out[a:b], expected.transpose(0, 1))
        scores = (parts[0] @ parts[1].transpose(1, 2) / 2).masked_fill(~allowed, float("-inf"))
        torch.testing.assert_close(lse[:, a:b], scores.logsumexp(-1))
    assert (
        varlen_attn_out(torch.empty_like(q), q, k, v, cu_q, cu_k, 4, 4, enable_gqa=gqa).shape
        == q.shape
    )


def test_packed_attention_with_unused_keys() -> None:
    q = torch.zeros(3, 1, 2)
    v = torch.tensor([1.0, 3.0, 5.0]).view(3, 1, 1).expand(3, 1, 2)
    found = varlen_attn(
        q, q, v, torch.tensor([0, 2, 3]), None, 2, 2, seqused_k=torch.tensor([1, 0])
    )
    assert found[:, 0, 0].tolist() == [1.0, 1.0, 0.0]
    with pytest.raises(NotImplementedError, match="block_table"):
        varlen_attn(q, q, v, torch.tensor([0, 3]), None, 3, 3, block_table=torch.zeros(1, 1))


def test_questions_about_the_gpu() -> None:
    cuda = torch.cuda
    assert (
        cuda.get_sync_debug_mode() == 0
        and cuda.get_gencode_flags() == ""
        and cuda.memory_snapshot() == []
    )
    cuda.set_sync_debug_mode("warn")
    assert cuda.get_sync_debug_mode() == 1
    cuda.set_sync_debug_mode(0)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        cuda.set_sync_debug_mode("loud")
    with pytest.raises(cuda.CudaError):
        cuda.check_error(3)
    cuda.check_error(cuda.cudaStatus.SUCCESS)
    assert isinstance(cuda.memory_stats_as_nested_dict(), dict)
    assert (
        torch.backends.cusparselt.is_available() is torch.backends.kleidiai.is_available() is False
    )


def test_a_baton_is_held_once(tmp_path: Any) -> None:
    from jtorch.utils.file_baton import FileBaton

    path = str(tmp_path / "lock")
    first, second = FileBaton(path), FileBaton(path)
    assert first.try_acquire() and not second.try_acquire()
    first.release()
    second.wait()
    assert second.try_acquire()
    second.release()


def test_an_optimizer_works_on_other_parameters_for_a_while() -> None:
    p, q = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    p.grad, q.grad = torch.ones(2), torch.ones(2)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    kept = optimizer.state[p]["momentum_buffer"].clone()
    state["state"][0]["momentum_buffer"] = torch.full((2,), 4.0)
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, state):
        optimizer.step()
    assert p.tolist() == [0.0, 0.0] and q.tolist() == [-3.0, -3.0]
    assert optimizer.param_groups[0]["params"][0] is p and torch.equal(
        optimizer.state[p]["momentum_buffer"], kept
    )
    with (
        pytest.raises(ValueError, match="has 1 parameters, but 2 were given"),
        torch.optim.swap_in_optimizer_params_and_state(optimizer, {"a": p, "b": q}, state),
    ):
        pass


@pytest.mark.parametrize("module", ["", ".autograd", ".cuda", ".sparse", ".utils.data"])
def test_names_that_load_late_are_listed(module: str) -> None:
    found = importlib.import_module(f"jtorch{module}")
    assert set(getattr(found, "__all__", ())) <= set(dir(found))
    assert [name for name in dir(found) if not hasattr(found, name)] == []


def test_what_completion_shows() -> None:
    assert {"FloatTensor", "GradScaler", "optim", "distributed"} <= set(dir(torch))
    assert {"backward", "grad", "Function", "functional", "detect_anomaly"} <= set(
        dir(torch.autograd)
    )


def test_classes_that_are_not_offered_can_be_imported() -> None:
    from jtorch.sparse import SparseSemiStructuredTensor

    assert not isinstance(torch.ones(2, 2), SparseSemiStructuredTensor)
    with pytest.raises(NotImplementedError, match="two-in-four sparsity"):
        SparseSemiStructuredTensor(torch.ones(2, 2))
