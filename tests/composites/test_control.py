"""Branches and loops that depend on tensors, eagerly and inside jax.jit; numbers in place of
symbolic sizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import jtorch as torch


def test_cond_takes_one_branch() -> None:
    x = torch.tensor([1.0, -2.0])
    assert torch.cond(x[0] > 0, lambda t: t + 1, lambda t: t - 1, (x,)).tolist() == [2.0, -1.0]
    assert torch.cond(False, lambda t: t + 1, lambda t: t - 1, (x,)).tolist() == [0.0, -3.0]


def test_cond_inside_jit() -> None:
    def f(array: jax.Array) -> jax.Array:
        x = torch.from_jax(array)
        return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: -t, (x,)).jax()

    assert jax.jit(f)(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert jax.jit(f)(jnp.array([-1.0, -2.0])).tolist() == [1.0, 2.0]


def test_while_loop() -> None:
    def run(start: torch.Tensor) -> torch.Tensor:
        return torch.while_loop(lambda i: i < 10, lambda i: (i * 3,), (start,))[0]

    assert run(torch.tensor(1)).item() == 27
    assert jax.jit(lambda a: run(torch.from_jax(a)).jax())(jnp.asarray(2)) == 18


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.cond("yes", len, len), "Expected pred to be bool or tensor, but got yes."),
        (lambda: torch.cond(torch.ones(2), len, len), "single-element tensor"),
        (lambda: torch.cond(True, 1, len), "both branches to be callable"),
        (lambda: torch.cond(True, len, len, ("a",)), "only consists of tensor leaves"),
        (lambda: torch.while_loop(len, 1, ()), "Expect cond_fn and body_fn to be callable"),
    ],
)
def test_refuses(call, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()


def test_numbers_for_sizes() -> None:
    assert (
        torch.sym_max(1, 0.5),
        torch.sym_min(1, 2),
        torch.sym_int(-2.5),
        torch.sym_float(3),
    ) == (1.0, 1, -2, 3.0)
    assert isinstance(torch.sym_max(1, 0.5), float)
    assert (
        torch.sym_not(0),
        torch.sym_ite(False, 1, 2),
        torch.sym_sum(1, 2, 3),
        torch.sym_sqrt(9),
    ) == (True, 2, 6, 3.0)
    with pytest.raises(
        RuntimeError, match=r"Invalid value range for 5 between \[6, 9223372036854775807\]."
    ):
        torch.sym_constrain_range(5, min=6)
    with pytest.raises(RuntimeError, match=r"between \[0,"):
        torch.sym_constrain_range_for_size(-1)
