"""Small calls: what runs as it is called, what is recorded again, and the shorter code that runs
them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import LOCAL, array_of, execution, flush, record_one, tiers, values
from jtorch._src.engine.record import AT_ONCE
from jtorch._src.engine.tiers import FEW
from jtorch._src.engine.trie import ROOT

COSTS = {
    name: getattr(tiers, name)
    for name in ("TRACE", "TRACE_OP", "LAUNCH_TRACE", "KERNEL", "EQUATION", "ARRAY", "APART")
}
MODES = pytest.mark.parametrize("mode", ["deferred", "immediate"])


@pytest.fixture(autouse=True)
def _deferred(compiles_soon: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if values.tier == "xla":
        pytest.skip("nothing runs on the host")
    for name, seconds in COSTS.items():
        monkeypatch.setattr(tiers, name, seconds)
    with execution("deferred"):
        flush()
        yield
        flush()


def often(f: Callable[[], Any], times: int = AT_ONCE + 8) -> Any:
    """Calls and reads as often as it takes for the short ways to be taken."""
    found = None
    for _ in range(times):
        found = f()
        flush()
    return found


def is_there(t: Any) -> bool:
    return t._v is not None and t._v.array is not None


def test_what_is_read_one_by_one_runs_as_it_is_called() -> None:
    x = torch.arange(35.0).reshape(5, 7).clone()
    assert not is_there(x.exp2())
    often(x.exp2)
    y = x.exp2()
    assert is_there(y)
    assert LOCAL.trace.state is ROOT
    assert y[1, 2].item() == 2.0**9


def test_loops_without_reads_are_recorded_again() -> None:
    x = torch.full((3, 11), 2.0)
    often(lambda: x * 0.5)
    y = x
    for _ in range(FEW + 2):
        y = y * 0.5
    assert not is_there(y)
    assert y.sum().item() == pytest.approx(33 * 2.0 * 0.5 ** (FEW + 2))
    assert not is_there(x * 0.5)  # and stay so


def test_reading_is_what_counts() -> None:
    x = torch.full((3, 13), 2.0)
    often(lambda: x * 0.25)
    for _ in range(3 * FEW):
        y = x * 0.25
        assert is_there(y)
        assert y[0, 0].item() == 0.5


def test_what_is_part_of_long_traces_stays_recorded() -> None:
    x = torch.full((3, 17), 2.0)

    def long() -> float:
        y = x
        for _ in range(FEW + 4):
            y = torch.cosh(y) * 0.1
        return y.sum().item()

    for _ in range(3):
        long()
    often(lambda: torch.cosh(x), 12)
    assert not is_there(torch.cosh(x))


def test_what_runs_inside_a_compiled_function_is_recorded() -> None:
    x = torch.full((3, 19), 2.0)
    often(lambda: torch.square(x))

    @torch.compile
    def f(x: Any) -> Any:
        return torch.square(x) + 1

    assert f(x).tolist() == [[5.0] * 19] * 3
    assert f(x * 2).tolist() == [[17.0] * 19] * 3


@MODES
def test_numbers_may_change(mode: str) -> None:
    with execution(mode):
        x = torch.tensor([[1.0, -1.0], [0.0, 2.0]])
        often(lambda: x * 0.5)
        for number in (3.0, 0.0, -0.0, float("inf"), 0.1, 3.0, 7, 3, 0, float("nan")):
            with np.errstate(all="ignore"):
                expected = x.numpy() * np.float32(number)
            found = (x.clone() * number).numpy()
            assert np.array_equal(found, expected, equal_nan=True)
            assert np.array_equal(np.signbit(found), np.signbit(expected)) or number != number
        i = torch.tensor([[1, 2], [3, 4]])
        often(lambda: i + 1)
        assert (i + 100).tolist() == [[101, 102], [103, 104]]
        assert (i + True).tolist() == [[2, 3], [4, 5]]
        assert (i + 1.5).tolist() == [[2.5, 3.5], [4.5, 5.5]]
        assert (i > 2).tolist() == [[False, False], [True, True]]


@MODES
def test_several_numbers_may_change(mode: str) -> None:
    with execution(mode):
        x, y = torch.ones(2, 3), torch.full((2, 3), 2.0)
        often(lambda: torch.addcmul(x, y, y, value=0.5))
        often(lambda: torch.add(x, y, alpha=2))
        assert torch.addcmul(x, y, y, value=-1.0).tolist() == [[-3.0] * 3] * 2
        assert torch.add(x, y, alpha=3).tolist() == [[7.0] * 3] * 2
        assert torch.add(x, y, alpha=0.5).tolist() == [[2.0] * 3] * 2
        assert torch.clamp(x, -1.0, 0.5).tolist() == [[0.5] * 3] * 2


@MODES
def test_numpy_has_nothing_to_say(mode: str) -> None:
    x = torch.tensor([0.0, -1.0, float("inf"), float("nan"), 1e38, 1e-38])
    y = torch.tensor([-0.0, 0.0, float("-inf"), float("nan"), 1e38, 1e30])
    with execution(mode), warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for f in (
            lambda: x / y, lambda: torch.log(x), lambda: x * y, lambda: x - y, lambda: x + y,
            lambda: torch.sqrt(x), lambda: x > y, lambda: x.to(torch.int32),
            lambda: x.double().to(torch.float16), lambda: torch.maximum(x, y),
            lambda: torch.sign(x), lambda: x * 1e300, x.sum, lambda: torch.floor(x),
            lambda: torch.abs(x), lambda: -x, lambda: x.bfloat16() > y.bfloat16(),
            lambda: x.half() * y.half(), lambda: torch.softmax(x, 0), x.max, lambda: torch.round(x),
            lambda: x == y,
        ):  # fmt: skip
            often(f, 14)
        with pytest.raises(RuntimeWarning):  # the program's own settings are what they were
            np.float32(1) / np.zeros((), np.float32)


def test_threads_do_not_meet_in_the_short_way() -> None:
    x = torch.linspace(0.1, 1.0, 6000)  # NumPy lets others run meanwhile
    expected = np.exp(x.numpy().copy())
    wrong: list[int] = []

    def work() -> None:
        with execution("immediate"):
            wrong.extend(
                n for n in range(200) if not np.allclose(x.exp().numpy(), expected, rtol=1e-6)
            )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_finalizers_may_compute() -> None:
    x = torch.linspace(0.1, 1.0, 8).clone()
    found = []

    class Last:
        def __del__(self) -> None:
            found.append(x.exp().sum().item())

    with execution("immediate"):
        often(x.exp)
        for _ in range(3):
            a = Last()
            del a
            x.exp()
    assert len(found) == 3
    assert found[0] == pytest.approx(np.exp(x.numpy()).sum(), rel=1e-6)


@MODES
def test_small_arrays_are_in_row_major_order(mode: str) -> None:
    with execution(mode):
        x = torch.arange(12.0).reshape(3, 4).clone()
        for f in (
            lambda: x.t() + 0,
            lambda: torch.exp(x.t()),
            lambda: x.t().exp().t() * x,
            lambda: x[:, ::2] * 2,
            lambda: x.expand(2, 3, 4) + 1,
        ):
            made = often(f)
            flush()
            assert made._read().array.flags.c_contiguous
        assert (x.t() + 0).tolist() == np.arange(12.0).reshape(3, 4).T.tolist()


def test_errors_of_the_short_way_are_those_of_the_long_one() -> None:
    x = torch.arange(12).reshape(3, 4).clone()
    often(lambda: x // 2)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (x // 0).tolist()
    index = torch.tensor([0, 2])
    table = torch.arange(6.0).reshape(3, 2).clone()
    often(lambda: torch.nn.functional.embedding(index, table))
    index[1] = 3
    with pytest.raises(IndexError, match="out of range"):
        torch.nn.functional.embedding(index, table)


@MODES
def test_indices_are_looked_at_each_time(mode: str) -> None:
    F = torch.nn.functional
    with execution(mode):
        x = torch.log_softmax(torch.arange(12.0).reshape(3, 4), 1).clone()
        long = torch.arange(600.0).reshape(200, 3).clone()
        good, ignored, bad = (
            torch.tensor([0, 3, 1]),
            torch.tensor([0, -100, 1]),
            torch.tensor([0, 4, 1]),
        )
        often(lambda: F.nll_loss(x, good + 0))
        often(lambda: torch.gather(x, 1, good[:, None] + 0))
        often(lambda: x[good[:2] - 1])
        often(lambda: long[torch.arange(100) + 1])
        often(lambda: F.cross_entropy(x, good + 0))
        assert F.nll_loss(x, ignored).item() == pytest.approx(-(x[0, 0] + x[2, 1]).item() / 2)
        assert F.nll_loss(x, ignored * 0 - 100).isnan().item()
        assert torch.gather(x, 1, torch.tensor([[3], [0], [2]])).tolist() == [
            [x[0, 3].item()],
            [x[1, 0].item()],
            [x[2, 2].item()],
        ]
        assert x[torch.tensor([-3, 2])].tolist() == [x[0].tolist(), x[2].tolist()]
        with pytest.raises(IndexError, match="Target 4 is out of bounds"):
            F.nll_loss(x, bad)
        with pytest.raises(IndexError, match="Target 4 is out of bounds"):
            F.cross_entropy(x, bad)
        with pytest.raises(
            RuntimeError, match="index 4 is out of bounds for dimension 1 with size 4"
        ):
            torch.gather(x, 1, bad[:, None])
        for wrong in ([0, 3], [-4, 0]):
            with pytest.raises(
                IndexError, match=f"index {next(i for i in wrong if i)} is out of bounds"
            ):
                x[torch.tensor(wrong)]
        with pytest.raises(IndexError, match="index 200 is out of bounds"):
            long[torch.arange(101, 201)]


# ---- small views ---------------------------------------------------------------------------------


@MODES
def test_elements(mode: str) -> None:
    with execution(mode):
        a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
        x = torch.tensor(a)
        for _ in range(12):
            assert x[1, 2, 3].item() == a[1, 2, 3]
            assert x[-1, -3].tolist() == a[-1, -3].tolist()
            assert bool(x[0, 0, 0]) is False
            assert float(x[1, 0, 0]) == 12.0
            assert x[1, 1:, ::2].tolist() == a[1, 1:, ::2].tolist()
            assert x[0].t()[2, 1].item() == a[0].T[2, 1]
            assert x.permute(2, 0, 1)[3, 1, 0].item() == a[1, 0, 3]
            assert x[1, True].shape == (1, 3, 4)
            assert x[True, 1].shape == (1, 3, 4)
            assert x[0.0 == 0, 1].shape == (1, 3, 4)
            with pytest.raises(
                IndexError, match="index 3 is out of bounds for dimension 1 with size 3"
            ):
                x[1, 3]
            with pytest.raises(IndexError, match="too many indices"):
                x[1, 2, 3, 0]
        assert x[1, 2].stride() == (1,)
        assert x[1, 2].storage_offset() == 20
        assert x[:, :, 1].stride() == (12, 4)
        assert x[1, 2]._base is x
        assert x[1, 2].data_ptr() == x[1][2].data_ptr()


@MODES
def test_small_views_follow_their_memory(mode: str) -> None:
    with execution(mode):
        x = torch.zeros(3, 4)
        for n in range(14):
            x.fill_(n)
            row, element, column = x[1], x[1, 2], x.t()[3]
            assert element.item() == n
            x += 1
            assert (element.item(), row.tolist(), column.tolist()) == (
                n + 1,
                [n + 1.0] * 4,
                [n + 1.0] * 3,
            )
            element.mul_(0)
            column[1] = 7
            assert x.tolist() == [[n + 1.0] * 4, [n + 1.0, n + 1.0, 0.0, 7.0], [n + 1.0] * 4]
            assert (element.item(), row[3].item(), x[1, 3].item()) == (0.0, 7.0, 7.0)
        array = x.numpy()
        array[2, 2] = -1
        assert x[2, 2].item() == -1
        y = torch.ones(3, 4)
        row = y[2]
        assert y[2, 2].item() == 1
        y.resize_(5, 4)
        assert y[2, 2].item() == 1
        y[2, 2] = -1
        assert row.tolist() == [1, 1, -1, 1]


@MODES
def test_small_views_have_history(mode: str) -> None:
    with execution(mode):
        for _ in range(14):
            x = torch.ones(3, 4)
            w = torch.full((3, 4), 2.0, requires_grad=True)
            row = x[1]
            x.mul_(w)
            assert row.requires_grad
            (row.sum() + w[2, 3] * 5).backward()
            assert w.grad.tolist() == [[0.0] * 4, [1.0] * 4, [0.0] * 3 + [5.0]]


@MODES
def test_small_views_of_other_kinds(mode: str) -> None:
    with execution(mode):
        for _ in range(14):
            c = torch.tensor([[1 + 2j, 3 - 4j]])
            assert c.conj()[0, 1].item() == 3 + 4j
            assert c.imag[0, 1].item() == -4.0
            assert torch.view_as_real(c)[0, 1, 1].item() == -4.0
            h = torch.tensor([[1.5, 2.5]], dtype=torch.bfloat16)
            assert h.t()[1, 0].item() == 2.5
            assert h.view(torch.int16)[0, 0].item() == 0x3FC0
            assert torch.arange(6)[2:][1].item() == 3
            assert torch.arange(6).unfold(0, 2, 2)[2].tolist() == [4, 5]
            assert torch.arange(3).expand(2, 3)[1].tolist() == [0, 1, 2]


def test_one_operand_is_recorded_as_any_other() -> None:
    from jtorch._src.ops._declare import OPS
    from jtorch._src.ops._kernel import T, call_of

    x = torch.full((2, 23), 4.0)
    call = call_of(OPS["sqrt"], (T,))
    made = record_one(call, x._read())
    assert made.array is None
    flush()
    assert np.asarray(made.array).tolist() == [[2.0] * 23] * 2


@MODES
def test_results_of_the_same_numbers_are_each_callers_own(mode: str) -> None:
    with execution(mode):
        for _ in range(12):
            made = torch.linspace(0, 1, 5)
            assert made.tolist() == [0, 0.25, 0.5, 0.75, 1]
            made.numpy()[:] = 7
            made += 1
            filled = torch.full((2,), 2.5)
            filled.numpy()[0] = 0
            assert filled.tolist() == [0, 2.5]
        assert torch.linspace(0, 2, 5).tolist() == [0, 0.5, 1, 1.5, 2]
        assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
        assert torch.full((), 2.5).item() == 2.5
        one, other = torch.full((2,), 2.5), torch.full((2,), 2.5)
        assert not np.shares_memory(array_of(one._read()), array_of(other._read()))
