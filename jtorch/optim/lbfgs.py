"""L-BFGS, optionally with a line search under the strong Wolfe conditions (Nocedal and Wright,
chapters 3 and 7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import check_lr
from .optimizer import Optimizer, ParamsT, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["LBFGS"]

Evaluate = Callable[[Any, float, torch.Tensor], tuple[float, torch.Tensor]]


def _cubic_interpolate(
    x1: float,
    f1: float,
    g1: float,
    x2: float,
    f2: float,
    g2: float,
    bounds: tuple[float, float] | None = None,
) -> float:
    """The minimum of the cubic through two points with values ``f`` and slopes ``g``, kept within
    ``bounds``."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        found = x2 - (x2 - x1) * _quotient(g2 + d2 - d1, g2 - g1 + 2 * d2)
    else:
        found = x1 - (x1 - x2) * _quotient(g1 + d2 - d1, g1 - g2 + 2 * d2)
    return min(max(found, low), high)


def _quotient(a: float, b: float) -> float:
    """``a / b`` as tensors have it: on a straight line, where both slopes are one, the divisor is
    0."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


class _Point:
    """A place on the search line: step, value, gradient and slope."""

    __slots__ = ("f", "g", "slope", "t")

    def __init__(self, t: float, f: float, g: torch.Tensor, slope: float) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _strong_wolfe(
    obj_func: Evaluate,
    x: list[torch.Tensor] | torch.Tensor,
    t: float,
    d: torch.Tensor,
    f: float,
    g: torch.Tensor,
    gtd: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, torch.Tensor, float, int]:
    """Finds a step ``t`` along ``d`` that decreases enough and flattens enough; returns value,
    gradient, step and evaluations.

    ``obj_func(x, t, d)`` gives value and gradient at a step. Libraries call this for optimisers of
    their own.
    """
    d_norm = d.abs().max().item()
    evaluations = 0

    def at(step: float) -> _Point:
        nonlocal evaluations
        evaluations += 1
        value, grad = obj_func(x, step, d)
        return _Point(step, value, grad, grad.dot(d).item())

    start = previous = _Point(0, f, g.clone(), gtd)
    new = at(t)
    bracket: list[_Point] | None = None
    done = False
    iterations = 0
    while iterations < max_ls:  # widen until a minimum lies in between
        if new.f > f + c1 * new.t * gtd or (iterations > 1 and new.f >= previous.f):
            bracket = [previous, new]
            break
        if abs(new.slope) <= -c2 * gtd:
            bracket, done = [new], True
            break
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        t = _cubic_interpolate(
            previous.t, previous.f, previous.slope, new.t, new.f, new.slope, bounds
        )
        previous, new = new, at(t)
        iterations += 1
    if bracket is None:
        bracket = [start, new]

    stuck = False
    low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    while not done and iterations < max_ls:  # narrow
        a, b = bracket
        if abs(b.t - a.t) * d_norm < tolerance_change:
            break
        t = _cubic_interpolate(a.t, a.f, a.slope, b.t, b.f, b.slope)
        # A step near a border of the bracket makes too little progress: move it inwards the second
        # time.
        left, right = min(a.t, b.t), max(a.t, b.t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = at(t)
        iterations += 1
        if new.f > f + c1 * t * gtd or new.f >= bracket[low].f:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if abs(new.slope) <= -c2 * gtd:
                done = True
            elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    best = bracket[low]
    return best.f, best.g, best.t, evaluations


class LBFGS(Optimizer):
    """L-BFGS. ``step`` needs a closure; there is one parameter group only. Each evaluation reads
    its loss on the host.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        max_iter: iterations in a step.
        max_eval: evaluations in a step; 5/4 of the iterations if None.
        tolerance_grad: gradients smaller than this end the step.
        tolerance_change: changes smaller than this end the step.
        history_size: how many past steps are remembered.
        line_search_fn: ``"strong_wolfe"``, or None for steps of length ``lr``.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[torch.Tensor]:
        return self.param_groups[0]["params"]

    def _gather_flat_grad(self) -> torch.Tensor:
        views = []
        for p in self._params:
            if p.grad is None:
                view = torch.zeros_like(p).view(-1)
            else:
                view = (p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1)
            views.append(torch.view_as_real(view).view(-1) if torch.is_complex(view) else view)
        return torch.cat(views, 0).detach()

    def _add_grad(self, step_size: float, update: torch.Tensor) -> None:
        offset = 0
        for p in self._params:
            p = torch.view_as_real(p) if torch.is_complex(p) else p
            n = p.numel()
            p.add_(update[offset : offset + n].view_as(p), alpha=step_size)
            offset += n

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[torch.Tensor], d: torch.Tensor, t: float
    ) -> tuple[float, torch.Tensor]:
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        for p, old in zip(self._params, x):
            p.copy_(old)
        return loss, flat_grad

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> torch.Tensor:
        """Updates the parameters by up to ``max_iter`` iterations; returns the loss before them."""
        closure = torch.enable_grad()(closure)
        group = self.param_groups[0]
        lr = float(_to_scalar(group["lr"]))
        max_iter, max_eval, history_size = (
            group["max_iter"],
            group["max_eval"],
            group["history_size"],
        )
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        line_search_fn = group["line_search_fn"]
        # torch's format: the state of the whole lies with the first parameter
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        orig_loss = closure()
        loss = float(orig_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        if flat_grad.abs().max().item() <= tolerance_grad:
            return orig_loss
        d, t = state.get("d"), state.get("t")
        old_dirs, old_stps, ro = state.get("old_dirs"), state.get("old_stps"), state.get("ro")
        h_diag, prev_flat_grad, prev_loss = (
            state.get("H_diag"),
            state.get("prev_flat_grad"),
            state.get("prev_loss"),
        )

        n_iter = 0
        while n_iter < max_iter:
            n_iter += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d, old_dirs, old_stps, ro, h_diag = flat_grad.neg(), [], [], [], 1
            else:
                y, s = flat_grad - prev_flat_grad, d * t
                ys = y.dot(s)
                if ys.item() > 1e-10:
                    if len(old_dirs) == history_size:
                        for history in (old_dirs, old_stps, ro):
                            history.pop(0)
                    old_dirs.append(y)
                    old_stps.append(s)
                    ro.append(1.0 / ys)
                    h_diag = ys / y.dot(y)
                # torch keeps this list between steps, and saves it
                al = state.setdefault("al", [None] * history_size)
                d = _two_loops(flat_grad, old_dirs, old_stps, ro, h_diag, al)
            prev_flat_grad = (
                flat_grad.clone() if prev_flat_grad is None else prev_flat_grad.copy_(flat_grad)
            )
            prev_loss = loss
            size = flat_grad.abs().sum().item()
            t = (min(1.0, 1.0 / size) if size else 1.0) * lr if state["n_iter"] == 1 else lr
            gtd = flat_grad.dot(d).item()
            if gtd > -tolerance_change:
                break
            spent = 0
            flat = False
            if line_search_fn is not None:
                if line_search_fn != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                x = [p.clone() for p in self._params]

                def evaluate(
                    x: list[torch.Tensor], t: float, d: torch.Tensor
                ) -> tuple[float, torch.Tensor]:
                    return self._directional_evaluate(closure, x, d, t)

                loss, flat_grad, t, spent = _strong_wolfe(
                    evaluate, x, t, d, loss, flat_grad, gtd, max_ls=max_eval - evaluations
                )
                self._add_grad(t, d)
                flat = flat_grad.abs().max().item() <= tolerance_grad
            else:
                self._add_grad(t, d)
                if n_iter != max_iter:  # the last evaluation is not needed
                    loss = float(closure())
                    flat_grad = self._gather_flat_grad()
                    flat = flat_grad.abs().max().item() <= tolerance_grad
                    spent = 1
            evaluations += spent
            state["func_evals"] += spent
            if n_iter == max_iter or evaluations >= max_eval or flat:
                break
            if (d * t).abs().max().item() <= tolerance_change or abs(
                loss - prev_loss
            ) < tolerance_change:
                break
        state.update(d=d, t=t, old_dirs=old_dirs, old_stps=old_stps, ro=ro, H_diag=h_diag)
        state.update(prev_flat_grad=prev_flat_grad, prev_loss=prev_loss)
        return orig_loss


def _two_loops(
    grad: torch.Tensor,
    dirs: list[torch.Tensor],
    steps: list[torch.Tensor],
    ro: list[torch.Tensor],
    h_diag: Any,
    al: Values,
) -> torch.Tensor:
    """The inverse Hessian's approximation times ``-grad``; ``al`` is filled with the coefficients
    of the first loop."""
    q = grad.neg()
    for i in range(len(dirs) - 1, -1, -1):
        al[i] = steps[i].dot(q) * ro[i]
        q = q - dirs[i] * al[i]
    r = q * h_diag
    for i in range(len(dirs)):
        r = r + steps[i] * (al[i] - dirs[i].dot(r) * ro[i])
    return r
