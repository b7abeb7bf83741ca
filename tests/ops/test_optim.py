"""The fused optimiser steps against their formulas written out, and gradient norms."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jtorch._src.ops import optim

R = np.random.RandomState(0)
PARAMS = [R.randn(3, 2), R.randn(4)]
GRADS = [R.randn(3, 2), R.randn(4)]


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_sgd(nesterov: bool, maximize: bool) -> None:
    options: dict[str, Any] = {
        "lr": 0.1,
        "momentum": 0.9,
        "dampening": 0.0 if nesterov else 0.3,
        "weight_decay": 0.01,
    }
    params, buffers = [jnp.asarray(p) for p in PARAMS], []
    expected, expected_buffers = [p.copy() for p in PARAMS], None
    for _ in range(3):
        grads = [jnp.asarray(g) for g in GRADS]
        found = list(
            optim._fused_sgd(
                params,
                grads,
                buffers,
                use_momentum=True,
                nesterov=nesterov,
                maximize=maximize,
                **options,
            )
        )
        params, buffers = found[:2], found[2:]
        updates = [(-g if maximize else g) + 0.01 * p for p, g in zip(expected, GRADS, strict=True)]
        if expected_buffers is None:
            expected_buffers = updates
        else:
            expected_buffers = [
                0.9 * b + (1 - options["dampening"]) * u
                for b, u in zip(expected_buffers, updates, strict=True)
            ]
        steps = [
            u + 0.9 * b if nesterov else b for u, b in zip(updates, expected_buffers, strict=True)
        ]
        expected = [p - 0.1 * s for p, s in zip(expected, steps, strict=True)]
    for p, e in zip(params, expected, strict=True):
        np.testing.assert_allclose(p, e, 1e-12)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam(decoupled: bool, amsgrad: bool) -> None:
    p, m, v, top = PARAMS[0], np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 2))
    state = [
        [jnp.asarray(PARAMS[0])],
        [jnp.zeros((3, 2))],
        [jnp.zeros((3, 2))],
        [jnp.zeros((3, 2))] if amsgrad else [],
        jnp.zeros(()),
    ]
    for t in range(1, 4):
        g = GRADS[0] / t
        options = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8}
        found = optim._fused_adam(
            state[0],
            [jnp.asarray(g)],
            *state[1:],
            amsgrad=amsgrad,
            maximize=False,
            decoupled=decoupled,
            **options,
        )
        state = [[found[0]], [found[1]], [found[2]], [found[3]] if amsgrad else [], found[-1]]
        if decoupled:
            p = p * (1 - 0.01 * 0.1)
        else:
            g = g + 0.1 * p
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        top = np.maximum(top, v) if amsgrad else v
        p = p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(top) / math.sqrt(1 - 0.99**t) + 1e-8)
    np.testing.assert_allclose(state[0][0], p, 1e-10)
    assert float(state[-1]) == 3


def test_no_decay_leaves_infinite_parameters_alone() -> None:
    found = optim._fused_sgd([jnp.asarray([math.inf])], [jnp.asarray([1.0])], [], lr=0.1,
                             momentum=0.0, dampening=0.0, weight_decay=0.0,
                             use_momentum=False, nesterov=False, maximize=False)  # fmt: skip
    assert float(found[0][0]) == math.inf


@pytest.mark.parametrize("order", [-math.inf, 0.0, 1.0, 2.0, 3.0, math.inf])
def test_total_norm(order: float) -> None:
    # of order 0, how many are not zero
    expected = np.linalg.norm([np.linalg.norm(g.ravel(), order) for g in GRADS], order)
    assert float(optim._total_norm([jnp.asarray(g) for g in GRADS], order)) == pytest.approx(
        expected
    )
