"""``Timer``: runs a statement until its time is known. What each run records is computed before the
next one begins.

Otherwise little would be measured: a result that nothing refers to any more when it is time to
compute it is not computed.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import timeit as _timeit
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, NoReturn

import jtorch as torch

from ..._src.facts.errors import not_offered
from .measurement import Measurement, TaskSpec


class Language(enum.Enum):
    """Languages of statements; C++ is not offered."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The time in seconds, after everything pending was computed."""
    torch.synchronize()
    return perf_counter()


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A block in which ``torch.get_num_threads()`` is ``n``."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Timer:
    """Measures how long a statement takes.

    Each run ends with computing what it recorded, while the value of the statement, if it is an
    expression, and the names that it binds are still there. So what is measured is computing, as in
    PyTorch, and not that it was asked for. Accelerators are waited for where the clock is read.

    Args:
        stmt: what is run, again and again.
        setup: what is run before each measurement.
        globals: the names that both see.
        label, sub_label, description, env: words for reports and tables.
        num_threads: what ``torch.get_num_threads()`` is meanwhile.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.utils.benchmark import Timer
        >>> m = Timer("x + 1", globals={"x": torch.ones(3)}, label="add").timeit(2)
        >>> m.number_per_run, m.title, m.mean > 0
        (2, 'add', True)
    """

    _timer_cls = _timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise not_offered("Timer(language='c++')", "nothing here compiles C++")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        names = dict(globals or {})
        names.setdefault("torch", torch)
        stmt, setup = _dedented(stmt), _dedented(setup)
        from ..._src.engine import flush

        names["_compute"] = flush
        self._timer = self._timer_cls(stmt=_computed(stmt), setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # a clock may stand still for short statements

    def timeit(self, number: int = 1000000) -> Measurement:
        """Runs the statement ``number`` times, after some runs that do not count."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not offered, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> NoReturn:
        """Not offered, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """How many runs take long enough that reading the clock does not matter, a thousandth of
        the whole time at the most."""
        overhead = min(self._timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if (overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Repeats blocks of runs, each long enough to be timed well, until ``min_run_time`` seconds
        have passed."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._repeated(number, callback, lambda found: sum(found) < min_run_time)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As ``blocked_autorange``, until the spread of the times is below ``threshold``, or
        ``max_run_time`` is over."""

        def unclear(found: list[float]) -> bool:
            if sum(found) >= max_run_time:
                return False
            return len(found) < 4 or not Measurement(
                number, found, self._task_spec
            ).meets_confidence(threshold)

        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._repeated(number, callback, unclear)
        return Measurement(number, times, self._task_spec)

    def _repeated(
        self,
        number: int,
        callback: Callable[[int, float], object] | None,
        unfinished: Callable[[list[float]], bool],
    ) -> list[float]:
        times: list[float] = []
        while not times or unfinished(times):
            times.append(self._timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return times

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not offered: instructions are those of compiled programs and of Python."""
        raise not_offered(
            "Timer.collect_callgrind", "it counts the instructions of PyTorch's compiled code"
        )


def _dedented(code: str) -> str:
    import textwrap

    return textwrap.dedent(code).strip()


def _computed(stmt: str) -> str:
    """The statement, and then the computing of what it has recorded."""
    try:
        lines = ast.parse(stmt).body
    except SyntaxError:  # which is raised, with its place, where the statement is compiled
        return stmt
    if lines and isinstance(lines[-1], ast.Expr):
        lines[-1] = ast.Assign([ast.Name("_kept", ast.Store())], lines[-1].value, lineno=0)
    return ast.unparse(ast.Module([*lines, *ast.parse("_compute()").body], []))
