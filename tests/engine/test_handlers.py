"""Errors that depend on values reach the handlers that programs put around the call, although calls are recorded."""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Callable, Iterator

import pytest

import jtorch as torch
from jtorch.engine import stats

BAD = -torch.eye(2)
TABLE = torch.zeros(3, 2)


def _factor(a: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(a)


def _factor_quietly(a: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return _factor(a)


def _unread(f: Callable[[], object]) -> str:
    """What is caught around a call whose result nobody reads."""
    try:
        f()
    except torch.linalg.LinAlgError:
        return "caught"
    return "missed"


def test_a_handler_gets_the_error_of_a_result_that_is_not_read() -> None:
    assert _unread(lambda: _factor(BAD)) == "caught"
    assert _unread(lambda: _factor_quietly(BAD)) == "caught"
    assert _unread(lambda: torch.linalg.inv(torch.zeros(2, 2))) == "caught"
    assert _unread(lambda: _factor(-BAD)) == "missed"


def test_jitter_is_added_until_a_matrix_can_be_factored() -> None:
    a = torch.ones(3, 3, dtype=torch.float64)
    a[2, 2] = 0.5
    jitter, tries = 1e-3, 0
    while True:
        try:
            factor = torch.linalg.cholesky(a + jitter * torch.eye(3, dtype=torch.float64))
            break
        except RuntimeError:
            jitter, tries = jitter * 10, tries + 1
    assert tries == 3
    assert factor.isfinite().all()


def _tuple(kinds: tuple[type[Exception], ...]) -> bool:
    try:
        _factor(BAD)
    except (ValueError, *kinds):
        return True
    return False


def _attribute() -> bool:
    try:
        _factor(BAD)
    except KeyError:
        return False
    except (OSError, torch._C._LinAlgError):
        return True
    return False


def _bare() -> bool:
    try:
        _factor(BAD)
    except:  # noqa: E722
        return True
    return False


def _through_finally(log: list[str]) -> bool:
    try:
        try:
            _factor(BAD)
        except KeyError:
            return False
        finally:
            log.append("left")
    except RuntimeError:
        return True
    return False


def _in_a_loop() -> bool:
    try:
        for sign in (1, -1):
            with torch.enable_grad():
                _factor(sign * -BAD)
    except Exception:
        return True
    return False


def _local() -> bool:
    kind = RuntimeError
    try:
        _factor(BAD)
    except kind:
        return True
    return False


def _suppressed() -> bool:
    with contextlib.suppress(RuntimeError):
        _factor(BAD)
        return False
    return True


def _generated() -> Iterator[bool]:
    try:
        yield bool(_factor(BAD) is None)
    except RuntimeError:
        yield True


@pytest.mark.parametrize(
    "program",
    [
        lambda: _tuple((RuntimeError,)),
        _attribute,
        _bare,
        lambda: _through_finally([]),
        _in_a_loop,
        _local,
        _suppressed,
        lambda: next(_generated()),
    ],
    ids=["tuple", "attribute", "bare", "finally", "loop", "local", "suppress", "generator"],
)
def test_handlers_of_all_kinds(program: Callable[[], bool]) -> None:
    assert program() is True


def test_assertions_on_errors() -> None:
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        _factor(BAD)
    case = unittest.TestCase()
    with case.assertRaises(RuntimeError):  # noqa: PT027
        _factor(BAD)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.nn.functional.embedding(torch.tensor([7]), TABLE),
        lambda: TABLE[torch.tensor([5])],
        lambda: TABLE.gather(0, torch.tensor([[5]])),
        lambda: torch.multinomial(torch.tensor([-1.0, 2.0]), 1),
    ],
)
def test_wrong_indices_and_values(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        return
    pytest.fail("nothing was raised")


def _look_up() -> torch.Tensor:
    return torch.nn.functional.embedding(torch.tensor([1]), TABLE)


def test_handlers_of_everything_far_away_leave_calls_recorded() -> None:
    """A trainer that catches whatever happens does not run its step at each look-up."""
    if torch.execution_mode() == "immediate":
        pytest.skip("nothing is recorded")
    _look_up().sum().item()
    before = stats.flushes
    try:
        rows = _look_up()
    except Exception:
        pytest.fail("a right index")
    assert stats.flushes == before
    try:
        rows = _look_up()
    except IndexError:
        pytest.fail("a right index")
    assert stats.flushes == before + 1
    assert rows.shape == (1, 2)


def test_without_a_handler_calls_stay_recorded() -> None:
    if torch.execution_mode() == "immediate":
        pytest.skip("nothing is recorded")
    a = torch.eye(3)
    torch.linalg.cholesky(a).sum().item()
    before = stats.flushes
    try:
        factor = _factor(a)
    except KeyError:
        pytest.fail("no such error")
    assert stats.flushes == before
    assert factor.shape == (3, 3)


def test_the_error_has_its_own_name() -> None:
    assert torch.linalg.LinAlgError is torch._C._LinAlgError
    assert torch.linalg.LinAlgError.__name__ == "_LinAlgError"
    assert torch.linalg.LinAlgError.__module__ == "torch._C"
