"""Lines of numbers: ``arange``, ``linspace`` and ``logspace`` have PyTorch's bits."""

from __future__ import annotations

import random

import jax
import numpy as np
import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity

SIZES = (1, 2, 3, 7, 8, 11, 16, 17, 31, 33, 64, 100, 257)


def bits(x):
    return x.to(torch.float64 if isinstance(x, torch.Tensor) else oracle.float64).numpy()


def cases(seed, count=60):
    draw = random.Random(seed)
    for _ in range(count):
        yield draw.uniform(-3, 3), draw.uniform(-3, 6), draw.choice(SIZES)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
def test_linspace(dtype: str) -> None:
    for a, b, n in cases(0):
        first, last = (abs(v) * 20 if dtype == "uint8" else v * 10 for v in (a, b))
        wanted, found = (
            bits(t.linspace(first, last, n, dtype=getattr(t, dtype))) for t in (oracle, torch)
        )
        assert np.array_equal(wanted, found), (first, last, n)


def test_linspace_of_complex_numbers() -> None:
    for a, b, n in cases(1):
        wanted, found = (
            t.view_as_real(t.linspace(complex(a, b), complex(b, 1.3), n)) for t in (oracle, torch)
        )
        assert np.array_equal(bits(wanted), bits(found)), (a, b, n)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("base", [10.0, 2.7])
def test_logspace(dtype: str, base: float) -> None:
    for a, b, n in cases(2):
        first, last = (abs(v) / 3 if dtype == "uint8" else v for v in (a, b))
        wanted, found = (
            bits(t.logspace(first, last, n, base=base, dtype=getattr(t, dtype)))
            for t in (oracle, torch)
        )
        assert np.array_equal(wanted, found), (first, last, n)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_arange(dtype: str) -> None:
    for a, b, n in cases(3):
        step = b / 7 or 0.1
        end = a + step * n
        wanted, found = (
            bits(t.arange(a, end, step, dtype=getattr(t, dtype))) for t in (oracle, torch)
        )
        assert np.array_equal(wanted, found), (a, end, step)


def test_compiled_programs_have_the_same_bits() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for a, b, n in cases(4, 5):

            def lines(dtype=dtype, a=a, b=b, n=n):
                return (
                    torch.linspace(a, b, n, dtype=dtype),
                    torch.arange(a, a + n * 0.3, 0.3, dtype=dtype),
                )

            compiled = jax.jit(lambda lines=lines: [x.jax() for x in lines()])()
            for x, y in zip(lines(), compiled, strict=True):
                assert np.array_equal(bits(x), bits(torch.from_jax(y)))


def test_lengths_that_are_not_known_when_a_program_is_traced() -> None:
    class Net(torch.nn.Module):
        def forward(self, x):
            return tuple(torch.arange(x.size(0), dtype=d) / 3 for d in (torch.float32, torch.half))

    sizes = ({0: torch.export.Dim("n", min=2)},)
    program = torch.export.export(Net(), (torch.ones(5),), dynamic_shapes=sizes).module()
    for n in (2, 16, 100):
        for x, y in zip(program(torch.zeros(n)), Net()(torch.zeros(n)), strict=True):
            assert np.array_equal(bits(x), bits(y))
