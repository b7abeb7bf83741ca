"""Checkpoints that keep what a policy wants: gradients, what the policy is asked, what is refused;
and checkpoints below dispatch modes."""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def _module(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


def _data(t: Any) -> tuple[Any, Any]:
    return t.arange(6.0).reshape(2, 3).requires_grad_(), (
        t.arange(9.0).reshape(3, 3) / 9
    ).requires_grad_()


def _usual(t, x, w):
    return t.mm(x.sin(), w).cos().exp()


def _written(t, x, w):
    y = t.mm(x.sin(), w)
    z = y.cos()
    with t.no_grad():
        y.add_(1)
    return z.exp()


def _in_place(t, x, w):
    y = x @ w
    y.sin_()
    return y * y


def _two_results(t, x, w):
    a, b = t.max(x @ w, 1)
    return (a * 2).sin() + b


def _within(t, x, w, **options):
    return (
        _module(t, "utils.checkpoint")
        .checkpoint(functools.partial(_usual, t), x * 2, w, use_reentrant=False, **options)
        .tanh()
    )


def _within_selectively(t, x, w):
    contexts = _module(t, "utils.checkpoint").create_selective_checkpoint_contexts
    return _within(t, x, w, context_fn=functools.partial(contexts, [t.ops.aten.mm.default]))


FUNCTIONS = {
    "usual": _usual, "written": _written, "in place": _in_place, "two results": _two_results,
    "within": _within, "within selectively": _within_selectively, "views": lambda t, x,
    w: (x @ w).t().reshape(-1).sin() * 2, "a number": lambda t, x,
    w: (x @ w) * float((x @ w).sum().detach()),
}  # fmt: skip
CASES = {
    "list": ("[A.mm.default]", "usual", {}),
    "nothing": ("[]", "usual", {}),
    "tuple": ("(A.mm.default,)", "usual", {}),
    "name": ("['mm']", "usual", {}),
    "number": ("3", "usual", {}),
    **{
        f"all {p}": (f"lambda c, op, *a, **k: P.{p}", "usual", {})
        for p in jtorch.utils.checkpoint.CheckpointPolicy.__members__
    },
    "truth": ("lambda c, op, *a, **k: op == A.mm.default", "usual", {}),
    "text": ("lambda c, op, *a, **k: 'x'", "usual", {}),
    "whole": ("[A.mm.default]", "usual", {"early_stop": False}),
    "twice": ("[A.mm.default]", "usual", {"twice": True}),
    "twice nothing": ("[]", "usual", {"twice": True}),
    "changes": (
        "lambda c, op, *a, **k: P.MUST_SAVE if c.is_recompute else P.MUST_RECOMPUTE",
        "usual",
        {},
    ),
    "counts": ("counting", "a number", {}),
    "written": ("[A.mm.default]", "written", {}),
    "written, allowed": ("[A.mm.default]", "written", {"allow_cache_entry_mutation": True}),
    "in place": ("[A.mm.default]", "in place", {}),
    "in place, kept": ("[A.sin_.default]", "in place", {}),
    "two results": ("[A.max.dim]", "two results", {}),
    "views": ("[A.t.default, A.mm.default]", "views", {}),
    "views kept": ("[A.view.default, A._unsafe_view.default, A.sin.default]", "views", {}),
    "number read": ("[A.mm.default]", "a number", {}),
    "within": ("[A.mm.default]", "within", {}),
    "within selectively": ("[A.tanh.default]", "within selectively", {}),
}


def _told(t: Any, case: str) -> Any:
    text, function, options = CASES[case]
    checkpoint = _module(t, "utils.checkpoint")
    calls: list[int] = []

    def counting(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
        calls.append(0)
        return len(calls) % 2 == 0

    options = dict(options)
    stop, twice = options.pop("early_stop", True), options.pop("twice", False)
    x, w = _data(t)
    try:
        policy = eval(
            text, {"A": t.ops.aten, "P": checkpoint.CheckpointPolicy, "counting": counting}
        )
        contexts = functools.partial(
            checkpoint.create_selective_checkpoint_contexts, policy, **options
        )
        run = functools.partial(FUNCTIONS[function], t)
        y = checkpoint.checkpoint(
            run, x, w, use_reentrant=False, early_stop=stop, context_fn=contexts
        )
        y.sum().backward(retain_graph=twice)
        if twice:
            y.sum().backward()
    except Exception as error:
        return type(error).__name__, str(error)
    return [round(v, 3) + 0.0 for g in (x.grad, w.grad) for v in g.flatten().tolist()]


@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_changes_no_gradient(case):
    ours, theirs = _told(jtorch, case), _told(torch, case)
    assert ours == (theirs if type(theirs) is tuple else pytest.approx(theirs, rel=1e-3, abs=2e-3))


def test_policies_are_asked_once():
    def asked(t: Any) -> list[Any]:
        checkpoint = _module(t, "utils.checkpoint")
        found = []

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            found.append((context.is_recompute, str(op), len(args), sorted(kwargs)))
            return (
                checkpoint.CheckpointPolicy.MUST_SAVE
                if op == t.ops.aten.mm.default
                else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
            )

        contexts = functools.partial(checkpoint.create_selective_checkpoint_contexts, policy)
        y = checkpoint.checkpoint(
            functools.partial(_usual, t), *_data(t), use_reentrant=False, context_fn=contexts
        )
        y.sum().backward()
        return found

    assert asked(jtorch) == asked(torch)


def test_packets_are_no_operators():
    with pytest.raises(
        ValueError,
        match=r"Expected op in `op_list` to be an OpOverload but got: aten\.mm of type "
        r".*mm\.default`\.",
    ):
        jtorch.utils.checkpoint.create_selective_checkpoint_contexts([jtorch.ops.aten.mm])


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_both_computations_save_alike_whatever_modes_are_on(first, second):
    class Passing(_module(jtorch, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def gradients(forward: bool, backward: bool) -> list[Any]:
        x, w = (jtorch.arange(9.0).reshape(3, 3) / n for n in (5, 9))
        x.requires_grad_()
        w.requires_grad_()
        with Passing() if forward else contextlib.nullcontext():
            y = jtorch.utils.checkpoint.checkpoint(
                lambda x, w: jtorch.mm(x.sin(), w).cos(), x, w, use_reentrant=False
            )
        with Passing() if backward else contextlib.nullcontext():
            y.sum().backward()
        return [x.grad, w.grad]

    for ours, plain in zip(gradients(first, second), gradients(False, False), strict=True):
        jtorch.testing.assert_close(ours, plain)
