"""Selective checkpointing keeps the results that the policy names, computes the others again, and
says so where it cannot."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch.utils._python_dispatch import TorchDispatchMode
from jtorch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

A = torch.ops.aten


class Counts(TorchDispatchMode):
    """Counts the operators that are run."""

    def __init__(self) -> None:
        super().__init__()
        self.of: Counter[Any] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.of[func] += 1
        return func(*args, **(kwargs or {}))


def plain(x: Any) -> Any:
    return x.tan().cos().exp()


def run(
    policy: Any, f: Callable[..., Any] = plain, mutated: bool = False, times: int = 1
) -> tuple[Counter[Any], list[float]]:
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    contexts = functools.partial(
        create_selective_checkpoint_contexts, policy, allow_cache_entry_mutation=mutated
    )
    with Counts() as counts:
        y = checkpoint(f, x, use_reentrant=False, context_fn=contexts).sum()
        for _ in range(times):
            y.backward(retain_graph=True)
    assert x.grad is not None
    return counts.of, x.grad.tolist()


def gradient(f: Callable[..., Any]) -> Any:
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    return pytest.approx(torch.autograd.grad(f(x).sum(), x)[0].tolist(), rel=1e-6)


@pytest.mark.parametrize(
    ("policy", "tangents"),
    [
        ([A.tan.default], 1),
        ([A.cos.default], 2),
        (lambda _ctx, op, *_a, **_k: op is A.tan.default, 1),
        *[(lambda *_a, p=p, **_k: p, 1 if p.value < 2 else 2) for p in CheckpointPolicy],
    ],
)
def test_what_is_computed_again(policy: Any, tangents: int) -> None:
    counts, found = run(policy)
    assert counts[A.tan.default] == tangents
    assert found == gradient(plain)


def test_a_model_trains_alike() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )

    def gradients(policy: Any) -> list[Any]:
        torch.manual_seed(1)
        x = torch.ones(5, 3, requires_grad=True)
        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        y = (
            model(x)
            if policy is None
            else checkpoint(model, x, use_reentrant=False, context_fn=contexts)
        )
        return [g.tolist() for g in torch.autograd.grad(y.square().sum(), [x, *model.parameters()])]

    for policy in (
        [A.addmm.default],
        [A.tanh.default],
        lambda _ctx, op, *_a, **_k: "mm" in str(op),
    ):
        for mine, plain in zip(gradients(policy), gradients(None), strict=True):
            assert torch.allclose(torch.tensor(mine), torch.tensor(plain))


def test_what_a_policy_is_told() -> None:
    seen: list[tuple[bool, str, tuple[int, ...]]] = []

    def policy(ctx: Any, op: Any, *args: Any, **_: Any) -> bool:
        seen.append((ctx.is_recompute, str(op), tuple(ctx.op_output.shape)))
        assert len(args) == 1
        return False

    run(policy)
    assert seen == [(False, f"aten.{name}.default", (2,)) for name in ("tan", "cos", "exp")]


def written(x: Any) -> Any:
    y = x.sin()
    y.add_(1)
    return y.cos().exp()


@pytest.mark.parametrize("policy", [[A.sin.default], [A.add_.Tensor]])
def test_what_is_written_after_it_was_kept(policy: Any) -> None:
    with pytest.raises(
        RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"
    ):
        run(policy, written)


def test_operators_that_write_are_never_replaced_by_what_they_gave() -> None:
    assert run([A.add_.Tensor], written, mutated=True)[1] == gradient(written)


def test_backward_a_second_time() -> None:
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        run([A.tan.default], times=2)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (
            lambda x: x.sin().cos().exp(),
            r"aten.sin.default encountered during backward but not found in storage",
        ),
        (
            lambda x: x.tan().tan().exp(),
            r"aten.tan.default invocation index 1 encountered during backward but not found",
        ),
    ],
)
def test_a_function_that_changes_its_mind(second: Any, words: str) -> None:
    turns = iter([plain, second])

    def f(x: Any) -> Any:
        return next(turns)(x)

    with pytest.raises(RuntimeError, match=words):
        run([A.tan.default], f)


def test_what_is_no_policy() -> None:
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 2"):
        create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match=r"change it to `torch\.ops\.aten\.mm\.default`"):
        create_selective_checkpoint_contexts([A.mm])
    with pytest.raises(
        TypeError, match="policy_fn_or_list must be either a function or a list of ops"
    ):
        create_selective_checkpoint_contexts(2)


@pytest.mark.parametrize("which", ["first", "second", "both"])
def test_a_mode_in_one_of_the_contexts_sees_operators_and_changes_no_gradient(which: str) -> None:
    modes = {"first": Counts(), "second": Counts()}
    nothing = contextlib.nullcontext()
    contexts = tuple(modes[name] if which in (name, "both") else nothing for name in modes)

    def f(x: Any) -> Any:
        return torch.mm(x.sin(), x.t()).cos()

    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    checkpoint(f, x, use_reentrant=False, context_fn=lambda: contexts).sum().backward()
    assert x.grad is not None
    y = torch.arange(9.0).reshape(3, 3).requires_grad_()
    f(y).sum().backward()
    assert torch.allclose(x.grad, y.grad)
    assert {name: mode.of[A.sin.default] > 0 for name, mode in modes.items()} == {
        name: which in (name, "both") for name in modes
    }


@pytest.mark.parametrize("zeros", [True, False])
def test_operators_with_numbers_among_their_results(zeros: bool) -> None:
    seen: list[Any] = []

    @torch.library.custom_op("selective_tests::waves", mutates_args=())
    def waves(x: torch.Tensor) -> tuple[torch.Tensor, int, torch.Tensor]:
        return x.sin(), 2, x.cos()

    def set_up(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(zeros)
        seen.append(output[1])

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([None if g is None else g.tolist() for g in grads])
        (x,) = ctx.saved_tensors
        return grads[0] * x.cos()

    waves.register_autograd(backward, setup_context=set_up)
    waves_operator = torch.ops.selective_tests.waves.default
    context_fn = functools.partial(create_selective_checkpoint_contexts, [waves_operator])
    x = torch.tensor([1.0], requires_grad=True)
    out = checkpoint(lambda x: waves(x)[0] * 3, x, use_reentrant=False, context_fn=context_fn)
    out.sum().backward()
    assert x.grad is not None and torch.allclose(x.grad, 3 * x.detach().cos())
    assert set(filter(lambda s: isinstance(s, int), seen[:-1])) == {2}
    assert seen[-1] == [[3.0], None, [0.0] if zeros else None]
