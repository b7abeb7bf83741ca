"""Decompositions and norms: gradients that PyTorch refuses because a phase is nobody's, orders that
are no orders, and their neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity


def matrix(t: Any, kind: str, hermitian: bool = False) -> Any:
    a = t.tensor([[1.0, 2.0, -0.5], [0.3, -1.0, 0.7], [2.0, 0.1, 0.4]], dtype=t.float64)
    if kind == "complex":
        a = t.complex(
            a, t.tensor([[0.2, -1.0, 0.5], [1.3, 0.4, -0.7], [0.6, 0.9, -0.1]], dtype=t.float64)
        )
    return (a + a.mH if hermitian else a).requires_grad_()


def total(x: Any) -> Any:
    return x.abs().pow(3).sum()


#: Losses by name: of what they are, and whether they depend on the phases of vectors.
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "svd": lambda t, a: (lambda u, _, v: (u + v).sum().abs())(
        *t.linalg.svd(a, full_matrices=False)
    ),
    "the older svd": lambda t, a: t.svd(a)[0].sum().abs(),
    "svd, u alone": lambda t, a: t.linalg.svd(a)[0].real.sum(),
    "svd, together": lambda t, a: (lambda u, s, v: (u @ v).real.sum() + s.sum())(*t.linalg.svd(a)),
    "eig": lambda t, a: t.linalg.eig(a)[1].sum().abs(),
    "eig, sizes": lambda t, a: total(t.linalg.eig(a)[1]),
    "eig, values": lambda t, a: total(t.linalg.eig(a)[0]),
    "eigh": lambda t, a: t.linalg.eigh(a)[1].sum().abs(),
    "eigh, sizes": lambda t, a: total(t.linalg.eigh(a)[1]),
    "eigh, values": lambda t, a: total(t.linalg.eigh(a)[0]),
}


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("again", [False, True])
def test_gradients_that_depend_on_phases(name: str, kind: str, again: bool) -> None:
    def found(t: Any) -> Any:
        a = matrix(t, kind, "eigh" in name)
        try:
            (g,) = t.autograd.grad(LOSSES[name](t, a), a, create_graph=again)
        except RuntimeError as error:
            return str(error)
        return g.detach().resolve_conj().numpy()

    mine, theirs = found(jtorch), found(torch)
    if isinstance(theirs, str):
        assert mine == theirs
    else:
        assert not isinstance(mine, str)
        # Signs and phases of vectors are the library's, gradients of losses that are the same for
        # all are not.
        assert mine == pytest.approx(theirs, abs=1e-9) or (
            kind == "real" and name in ("svd", "the older svd", "svd, u alone", "eigh")
        )


def special(t: Any) -> Any:
    parts = (-math.inf, 1.0, math.inf, math.nan)
    numbers = [
        complex(a, b)
        for a in parts
        for b in (0.0, 2.0, *((math.inf,) if a < math.inf else ()), math.nan)
    ]
    return [
        t.logcumsumexp(t.tensor(row), 0) for z in numbers for row in ([z], [z, z], [z, 1 + 1j, z])
    ]


def dense_layer(t: Any, **options: Any) -> Any:
    m, a, b = (
        t.tensor([[0.5, -1.0]]),
        t.tensor([[1.0, 2.0, -1.0]]),
        t.tensor([[0.5, 1.0], [0.25, -1.0], [2.0, 0.5]]),
    )
    out = t.empty(1, 2)
    return (
        t._addmm_activation(m, a, b, **options),
        m._addmm_activation(a, b, **options),
        t._addmm_activation(m, a, b, out=out, **options),
        out,
    )


def bytes_of(t: Any, *shape: int) -> Any:
    return t.arange(math.prod(shape)).reshape(shape).to(t.int8)


CALLS: dict[str, Callable[[Any], Any]] = {
    "vector_norm of a complex order": lambda t: t.linalg.vector_norm(t.ones(2), 1 + 2j),
    "vector_norm of an order that equals a real one": lambda t: [
        t.linalg.vector_norm(t.ones(2), p) for p in (2.0, 2 + 0j)
    ],
    "linalg.norm of a complex order": lambda t: t.linalg.norm(t.ones(2), 1 + 2j),
    "norm of a complex order": lambda t: t.norm(t.ones(2), 1 + 2j),
    "dist of a complex order": lambda t: t.dist(t.ones(2), t.zeros(2), 1 + 2j),
    "renorm of a complex order": lambda t: t.renorm(t.ones(2, 2), 1 + 2j, 0, 1.0),
    "matrix_norm of a complex order": lambda t: t.linalg.matrix_norm(t.ones(2, 2), 1 + 2j),
    "logcumsumexp of complex infinities": special,
    "gelu of a layer": lambda t: dense_layer(t, use_gelu=True),
    "gelu of a scaled layer": lambda t: dense_layer(t, use_gelu=True, beta=0.5, alpha=2.0),
    "relu of a layer": dense_layer,
    "_int_mm": lambda t: t._int_mm(
        bytes_of(t, 3, 4), bytes_of(t, 4, 2), out=t.empty(3, 2, dtype=t.int32)
    ),
    "_int_mm of another dtype": lambda t: t._int_mm(
        bytes_of(t, 3, 4), bytes_of(t, 4, 2), out=t.empty(3, 2)
    ),
    "_int_mm of another size": lambda t: t._int_mm(
        bytes_of(t, 3, 4), bytes_of(t, 4, 2), out=t.empty(3, 4, dtype=t.int32)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_pytorchs(name: str) -> None:
    def answer(t: Any) -> str:
        try:
            return repr(CALLS[name](t))
        except RuntimeError as error:
            return f"{type(error).__name__}: {error}"

    assert answer(jtorch) == answer(torch)
