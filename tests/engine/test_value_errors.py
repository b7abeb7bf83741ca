"""Errors that depend on values are raised by the call that causes them, whoever calls, before
anything that depends on them is visible."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import subprocess
import sys
import threading
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import stats

F = torch.nn.functional
TABLE = torch.zeros(3, 2)
NEGATIVE = -torch.eye(2)


def _look_up(index: int = 7) -> torch.Tensor:
    """An index that is there when the call is made."""
    return F.embedding(torch.tensor([index]), TABLE)


def _look_up_computed(index: float = 7.0) -> torch.Tensor:
    """An index that nothing bounds, and that is pending when the call is made."""
    return TABLE[(torch.tensor([index]) + 0).long()]


def _factor() -> torch.Tensor:
    return torch.linalg.cholesky(NEGATIVE + 0)


CULPRITS = pytest.mark.parametrize("culprit", [_look_up, _look_up_computed, _factor])


def _helper(culprit: Callable[[], Any]) -> bool:
    def inner() -> Any:
        return culprit()

    try:
        inner()
    except Exception:
        return True
    return False


def _base(culprit: Callable[[], Any]) -> bool:
    try:
        culprit()
    except BaseException:
        return True
    return False


def _bare(culprit: Callable[[], Any]) -> bool:
    try:
        culprit()
    except:  # noqa: E722
        return True
    return False


def _generator(culprit: Callable[[], Any]) -> bool:
    def items() -> Iterator[Any]:
        for _ in range(2):
            yield culprit()

    with pytest.raises((IndexError, RuntimeError)):
        list(items())
    return True


def _callback(culprit: Callable[[], Any]) -> bool:
    with pytest.raises((IndexError, RuntimeError)):
        sorted([2, 1], key=lambda _: culprit())
    return True


def _hook(culprit: Callable[[], Any]) -> bool:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: culprit())
    with pytest.raises((IndexError, RuntimeError)):
        (x * 2).sum().backward()
    return True


def _block(culprit: Callable[[], Any]) -> bool:
    seen: list[Any] = []

    class Taking:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: Any, *rest: object) -> bool:
            seen.append(kind)
            return True

    with Taking():
        culprit()
    return seen[0] is not None


def _decorator(culprit: Callable[[], Any]) -> bool:
    def safe(f: Callable[[], Any]) -> Callable[[], Any]:
        @functools.wraps(f)
        def wrapped() -> Any:
            try:
                return f()
            except (IndexError, RuntimeError):
                return True

        return wrapped

    return safe(culprit)() is True


def _suppress(culprit: Callable[[], Any]) -> bool:
    with contextlib.suppress(IndexError, RuntimeError):
        culprit()
        return False
    return True


def _assertion(culprit: Callable[[], Any]) -> bool:
    case = unittest.TestCase()
    case.assertRaises((IndexError, RuntimeError), culprit)  # noqa: PT027
    with case.assertRaisesRegex(  # noqa: PT027
        (IndexError, RuntimeError), "out of (range|bounds)|positive-definite"
    ):
        culprit()
    return True


def _finally(culprit: Callable[[], Any]) -> bool:
    log = []
    try:
        try:
            culprit()
            log.append("went on")
        finally:
            log.append("left")
    except Exception:
        return log == ["left"]
    return False


def _exit_stack(culprit: Callable[[], Any]) -> bool:
    seen: list[Any] = []
    with contextlib.ExitStack() as stack:
        stack.push(lambda kind, *_: seen.append(kind) or True)
        culprit()
    return bool(seen) and seen[0] is not None


def _thread(culprit: Callable[[], Any]) -> bool:
    seen: list[BaseException] = []

    def work() -> None:
        try:
            culprit()
        except Exception as error:
            seen.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    return len(seen) == 1


def _executor(culprit: Callable[[], Any]) -> bool:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return isinstance(pool.submit(culprit).exception(60), (IndexError, RuntimeError))


def _asyncio(culprit: Callable[[], Any]) -> bool:
    async def work() -> Any:
        await asyncio.sleep(0)
        return culprit()

    async def main() -> bool:
        found = await asyncio.gather(work(), work(), return_exceptions=True)
        return all(isinstance(f, (IndexError, RuntimeError)) for f in found)

    return asyncio.run(main())


WAYS = [
    _helper, _base, _bare, _generator, _callback, _hook, _block, _decorator, _suppress, _assertion,
    _finally, _exit_stack, _thread, _executor, _asyncio,
]  # fmt: skip


@CULPRITS
@pytest.mark.parametrize("way", WAYS, ids=[w.__name__[1:] for w in WAYS])
def test_ways_to_catch(
    way: Callable[[Callable[[], Any]], bool], culprit: Callable[[], Any]
) -> None:
    assert way(culprit) is True


def test_errors_at_exit_and_of_unread_results_are_shown() -> None:
    program = (
        "import atexit, sys, jtorch as torch\n"
        "def last():\n"
        "    try: torch.zeros(3)[torch.tensor([5])]\n"
        "    except IndexError: print('at exit', flush=True)\n"
        "atexit.register(last)\n"
        "torch.zeros(3).index_select(0, (torch.tensor([9.0]) + 0).long())\n"
        "print('went on')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert done.stdout == "at exit\n"
    assert "IndexError: index out of range in self" in done.stderr


# ---- what is not lost ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label",
    [
        torch.tensor([0, 9]),
        torch.tensor([[0, 9, 1]])[:, :2].reshape(-1),
        torch.tensor([0.0, 9.0]).mul(1).long(),
    ],
)
def test_a_step_with_a_bad_label_changes_nothing(label: torch.Tensor) -> None:
    layer = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(2, 4)

    def step(y: torch.Tensor) -> None:
        optimizer.zero_grad()
        F.cross_entropy(layer(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step(torch.tensor([0, 2]))
    before = [p.tolist() for p in layer.parameters()]
    with pytest.raises(IndexError, match="Target 9 is out of bounds"):
        step(label)
    assert [p.tolist() for p in layer.parameters()] == before
    step(torch.tensor([1, 2]))
    assert layer.weight.tolist() != before[0]


def test_what_was_pending_is_right_after_an_error() -> None:
    x = torch.arange(4.0) * 2
    y = x + 1
    with pytest.raises(IndexError):
        y[(x + 7).long()]
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
    z = torch.zeros(4)
    z += y
    with pytest.raises((IndexError, RuntimeError)):
        z.index_fill_(0, (x + 7).long(), 5.0)
    assert z.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert z._version == 1


def test_compiled_functions_raise_before_anything_is_written() -> None:
    total = torch.zeros(2)
    table = torch.arange(6.0).reshape(3, 2)

    @torch.compile
    def add_row(index: torch.Tensor) -> torch.Tensor:
        row = table[index].sum(0)
        total.add_(row)
        return row

    for _ in range(3):
        add_row(torch.tensor([1]))
    before = total.tolist()
    assert before == [6.0, 9.0]
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        add_row(torch.tensor([5]))
    assert total.tolist() == before
    add_row(torch.tensor([0]))
    assert total.tolist() == [6.0, 10.0]


def test_a_function_that_fails_while_it_is_first_compiled_may_be_called_again() -> None:
    total = torch.zeros(2)

    @torch.compile
    def factor(a: torch.Tensor) -> torch.Tensor:
        found = torch.linalg.cholesky(a + 0)
        total.add_(found.sum(0))
        return found

    with pytest.raises(torch.linalg.LinAlgError):
        factor(NEGATIVE)
    assert total.tolist() == [0.0, 0.0]
    for n in (1, 2, 3):
        assert factor(torch.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert total.tolist() == [n, n]
    with pytest.raises(torch.linalg.LinAlgError):
        factor(NEGATIVE)
    assert total.tolist() == [3.0, 3.0]


# ---- what is answered without running anything ---------------------------------------------------

X = torch.randn(5, 5)
IDS = torch.tensor([[1, 2, 3], [4, 0, 2]])
LABELS = torch.tensor([[0, 1, -100, 4]])
PADDED = torch.tensor([[1, 2, 9, 9]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: X[IDS],
        lambda: X[-1 - IDS],
        lambda: X.gather(1, (X > 0).long()),
        lambda: X.scatter(0, IDS, 1.0),
        lambda: X.take(IDS * 5 - 3),
        lambda: F.embedding(IDS[:, 1:].reshape(-1).flip(0), X),
        lambda: F.embedding(torch.cat([IDS, IDS.clone()]).T.contiguous(), X),
        lambda: F.embedding(torch.where(IDS == 4, torch.zeros_like(IDS), IDS).int(), X),
        lambda: F.embedding(PADDED.masked_fill(PADDED == 9, 0).clamp(max=4), X),
        lambda: F.cross_entropy(X[:3], LABELS[:, 1:].reshape(-1)),
        lambda: F.nll_loss(X, X.argmax(1)),
        lambda: X[X.argmin(0)],
        lambda: X[X.max(0).indices],
        lambda: X[X[0].sort(descending=True).indices],
        lambda: X[X[0].argsort()[:2]],
        lambda: X[X[0].topk(2).indices],
        lambda: X[X.median(0).indices, X.mode(1).indices],
        lambda: X[X.kthvalue(2, 0).indices],
        lambda: X[X.cummax(0).indices],
        lambda: X[torch.arange(4) + 1],
        lambda: X[torch.arange(10) // 2],
        lambda: X[(IDS * 17 + 3) % 5],
        lambda: X[torch.randint(0, 5, (3,))],
        lambda: X[torch.randperm(5)],
        lambda: X[torch.bucketize(X[0], torch.tensor([-1.0, 0.0, 1.0]))],
        lambda: X[(X[0] > 0).cumsum(0) - 1],
        lambda: F.one_hot(IDS + 1, 6),
        lambda: IDS // 2,
        lambda: (IDS + 1) % (IDS + 1),
        lambda: torch.zeros(3, dtype=torch.uint8).fill_(255),
        lambda: F.max_unpool2d(*F.max_pool2d(X[None, None, :4, :4], 2, return_indices=True), 2),
        lambda: torch.func.vmap(lambda i: X[i])(IDS),
    ],
)
def test_known_bounds_need_no_run(call: Callable[[], torch.Tensor]) -> None:
    if torch.execution_mode() == "immediate":
        pytest.skip("nothing is recorded")
    call()
    torch.synchronize()
    before = stats.flushes
    call()
    assert stats.flushes == before


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: X[IDS + 1], IndexError),
        (lambda: X[IDS - 6], IndexError),
        (lambda: F.embedding(IDS[:, :1] + 1, X), IndexError),
        (lambda: F.embedding(PADDED.masked_fill(PADDED == 1, 5)[:, :2], X), IndexError),
        (lambda: F.cross_entropy(X[:3], LABELS[:, 1:].reshape(-1), ignore_index=-1), IndexError),
        (lambda: F.cross_entropy(X[:3, :4], LABELS[:, 1:].reshape(-1)), IndexError),
        (lambda: F.cross_entropy(X[:3], (LABELS[:, 1:] - 1).reshape(-1)), IndexError),
        (lambda: X[:, :4][:, X.argmax(1) * 0 + 4], IndexError),
        (lambda: X[torch.arange(6)], IndexError),
        (lambda: F.one_hot(IDS + 1, 5), RuntimeError),
        (lambda: IDS // (IDS - 2), RuntimeError),
        (lambda: IDS % (IDS - 2), RuntimeError),
        (lambda: IDS // 0, RuntimeError),
        (lambda: torch.zeros(3, dtype=torch.uint8).fill_(256), RuntimeError),
        (lambda: F.binary_cross_entropy(X * torch.nan, X * 0), RuntimeError),
        (lambda: F.embedding(torch.tensor([2**32]).int() + 5, X), IndexError),
        (lambda: F.embedding((torch.tensor([2**62]) * 4 + 2**62) * 3 - 1, X), IndexError),
        (lambda: torch.func.vmap(lambda i: X[i])(IDS + 2), IndexError),
    ],
)
def test_what_is_out_of_bounds_raises(
    call: Callable[[], torch.Tensor], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call()


def test_inside_jax_what_is_there_is_checked() -> None:
    def loss(index: torch.Tensor) -> Callable[[Any], Any]:
        return lambda table: F.embedding(index, torch.from_jax(table)).sum().jax()

    table = jnp.ones((3, 2), np.float32)
    good, bad = loss(torch.tensor([0, 2, 2])), loss(torch.tensor([0, 3]))
    assert jax.grad(good)(table)[:, 0].tolist() == [1.0, 0.0, 2.0]
    assert jax.jit(good)(table) == 6.0
    for run in (jax.grad(bad), jax.jit(bad)):
        with pytest.raises(IndexError, match="index out of range in self"):
            run(table)


def test_other_work_stays_recorded_when_a_concrete_operand_is_looked_at() -> None:
    if torch.execution_mode() == "immediate":
        pytest.skip("nothing is recorded")
    a = torch.eye(3)
    torch.linalg.cholesky(a).sum().item()
    pending = torch.ones(3) * 2
    before = stats.flushes
    factor = torch.linalg.cholesky(a)
    assert stats.flushes == before
    assert (factor @ pending).tolist() == [2.0, 2.0, 2.0]


def test_the_error_has_its_own_name() -> None:
    assert torch.linalg.LinAlgError is torch._C._LinAlgError
    assert torch.linalg.LinAlgError.__name__ == "_LinAlgError"
    assert torch.linalg.LinAlgError.__module__ == "torch._C"
