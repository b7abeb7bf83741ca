"""Makes asv's benchmark classes from contests: jtorch's own contestants only, since asv compares
versions and not packages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from .contest import Contest, mode_of


class ContestBenchmark:
    """Times a contest's step; ``param`` chooses the contest and the execution mode. Subclasses set
    ``contests``."""

    contests: Mapping[str, Callable[[], Contest]]
    params: tuple[list[str], list[str]]
    param_names = ("program", "mode")
    timeout = 300

    def __init_subclass__(cls) -> None:
        cls.params = (list(cls.contests), ["deferred", "immediate", "compiled"])

    def setup(self, program: str, mode: str) -> None:
        self.mode: Any = contextlib.nullcontext()
        contest = self.contests[program]()
        if mode not in contest.builders:
            raise NotImplementedError  # asv's sign for "skip this combination"
        self.mode = mode_of(mode)
        self.mode.__enter__()
        self.step = contest.builders[mode]()
        for _ in range(contest.check):  # compiles, and waits until all is ready
            self._call()

    def teardown(self, program: str, mode: str) -> None:
        self.mode.__exit__(None, None, None)

    def _call(self) -> None:
        self.step.run()
        if self.step.after is not None:
            self.step.after()

    def time_step(self, program: str, mode: str) -> None:
        self._call()
