"""Running passes one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._compatibility import compatibility as compatibility
from .pass_base import PassResult

if TYPE_CHECKING:
    pass


def this_before_that_pass_constraint(
    this: Callable[..., object], that: Callable[..., object]
) -> Callable[..., bool]:
    """The rule that a pass must not stand behind another, for ``PassManager``.

    Example:
        >>> from jtorch.fx.passes.infra.pass_manager import this_before_that_pass_constraint
        >>> rule = this_before_that_pass_constraint(len, str)
        >>> rule(len, str), rule(str, len)
        (True, False)
    """
    return lambda first, second: not (first == that and second == this)


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Callable[..., PassResult] | None:
    """A pass that gives a ``PassResult``: of one that gives a module, or None for the module it was
    given, which counts as changed."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(module: Any) -> PassResult:
        found = fn(module)
        if isinstance(found, PassResult):
            return found
        return PassResult(module if found is None else found, True)

    return wrapped


class PassManager:
    """Runs passes in order, as often as ``steps`` says.

    Args:
        run_checks_after_each_pass: also run the checks between passes.
        suppress_check_failures: keep silent about constraints that do not hold.
    """

    def __init__(
        self,
        passes: list[Callable[..., PassResult | None]] | None = None,
        constraints: Any = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Callable[..., Any]] = list(passes or [])
        self.constraints: list[Callable[..., bool]] = list(constraints or [])
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self.checks: list[Callable[[Any], None]] = []

    def add_pass(self, _pass: Callable[..., PassResult | None]) -> None:
        """Adds a pass."""
        self.passes.append(_pass)

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Adds a rule ``constraint(a, b)`` that must hold for passes ``a`` before ``b``."""
        self.constraints.append(constraint)

    def add_checks(self, check: Callable[[Any], None]) -> None:
        """Adds a check of the module."""
        self.checks.append(check)

    def validate_constraints(self) -> None:
        """Checks the order of passes."""
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for b in self.passes[i + 1 :]:
                    if not constraint(a, b) and not self.suppress_check_failures:
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {a} before {b} but found "
                            f"{a} at index {i}"
                        )

    def check(self, module: Any) -> None:
        """Runs the checks."""
        for check in self.checks:
            check(module)

    def __call__(self, module: Any) -> PassResult:
        """Runs the passes."""
        self.validate_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for run in self.passes:
                result = run(module)
                if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                    raise TypeError(
                        f"The result of the pass {run} should be type PassResult. Please wrap it "
                        "with pass_result_wrapper()"
                    )
                module, modified = result.graph_module, modified or result.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            module.recompile()
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
