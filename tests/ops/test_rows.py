"""Rows that are taken and written at positions: the equations that JAX's own indexing gives."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jtorch._src.ops import _rows, indexing, scattering


@pytest.mark.parametrize("positions", [(7,), (2, 3), (1,)])
@pytest.mark.parametrize("shape", [(5,), (3, 2, 4), (2**31 + 8,), (2, 2**31 + 8)])
def test_equations_are_those_of_jax(shape: tuple[int, ...], positions: tuple[int, ...]) -> None:
    mode: Any = {"mode": "promise_in_bounds", "wrap_negative_indices": False}
    for kind in (np.int32, np.int64):
        for dtype in (np.float32, np.int64):
            x, i = jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct(positions, kind)
            v = jax.ShapeDtypeStruct((*positions, *shape[1:]), dtype)
            asked = jax.make_jaxpr(lambda x, i: x.at[(i,)].get(**mode))(x, i)
            assert str(jax.make_jaxpr(lambda x, i: indexing.fetch(x, (i,)))(x, i)) == str(asked)
            for how in ("set", "add", "multiply", "max", "min"):
                asked = jax.make_jaxpr(
                    lambda x, i, v, how=how: getattr(x.at[(i,)], how)(v, **mode)
                )(x, i, v)
                assert str(
                    jax.make_jaxpr(lambda x, i, v, how=how: scattering.write(x, (i,), v, how))(
                        x, i, v
                    )
                ) == str(asked), how


def test_what_says_more_is_left_to_jax() -> None:
    x, i = np.zeros((3, 4), np.float32), np.array([0, 2])
    assert _rows.positions_of_rows(x, (i,)) is i
    for index in ((i, i), (slice(None), i), (slice(None),), (np.array(1),)):
        assert _rows.positions_of_rows(x, index) is None
    assert _rows.positions_of_rows(x[:0], (i[:0],)) is None
    assert _rows.positions_of_rows(x[0, 0], (i,)) is None
    # values that are broadcast
    assert (
        scattering.write(jax.numpy.asarray(x), (i,), jax.numpy.ones((1, 4), np.float32)).sum() == 8
    )
