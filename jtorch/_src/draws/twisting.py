"""Many words of a Mersenne twister (mt19937) at once, compiled by XLA: NumPy computes them one
after the other.

Each round makes 624 words of those before. A word depends on the ones 624, 623 and 227 places back,
so that 227 at a time are computed by vectors, which leaves three pieces a round. Integers alone:
the words are NumPy's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import forking, values

if TYPE_CHECKING:
    from ..facts.kinds import Operand


#: Words of a state, and the distance from which the nearest one is taken.
WORDS, _FAR = 624, 397
_NEAR = WORDS - _FAR
#: Rounds of one call, and from how many words on calls are quicker than NumPy, whose state must be
#: read and written.
ROUNDS = 64
CALL = ROUNDS * WORDS
LARGE = 2 * CALL
#: How many words are drawn by so many at a time until compiling, a quarter of a second, has paid:
#: about 2.5 ns are saved on each.
_PRICE = 10**8
_drawn = 0


def _joined(high: Operand, low: Operand, far: object) -> Operand:
    """New words of those 624, 623 and 227 places back."""
    y = (high & np.uint32(0x80000000)) | (low & np.uint32(0x7FFFFFFF))
    return (
        far ^ (y >> np.uint32(1)) ^ ((np.uint32(0) - (low & np.uint32(1))) & np.uint32(0x9908B0DF))
    )


def _round(key: Any) -> object:
    a = _joined(key[:_NEAR], key[1 : _NEAR + 1], key[_FAR:])
    b = _joined(key[_NEAR : 2 * _NEAR], key[_NEAR + 1 : 2 * _NEAR + 1], a)
    c = _joined(
        key[2 * _NEAR :], jnp.concatenate([key[2 * _NEAR + 1 :], a[:1]]), b[: WORDS - 2 * _NEAR]
    )
    return jnp.concatenate([a, b, c])


def _tempered(y: Operand) -> object:
    y = y ^ (y >> np.uint32(11))
    y = y ^ ((y << np.uint32(7)) & np.uint32(0x9D2C5680))
    y = y ^ ((y << np.uint32(15)) & np.uint32(0xEFC60000))
    return y ^ (y >> np.uint32(18))


def _rounds(key: object) -> tuple[object, object]:
    def step(key: object, _: None) -> tuple[Any, Any]:
        key = _round(key)
        return key, _tempered(key)

    key, words = lax.scan(step, key, None, length=ROUNDS)
    return key, words.reshape(-1)


@functools.cache
def _compiled() -> Any:
    with jax.default_device(jax.devices("cpu")[0]), jax.disable_jit(False):
        return jax.jit(_rounds).lower(jax.ShapeDtypeStruct((WORDS,), np.uint32)).compile()


def worth(n: int) -> bool:
    """Whether ``n`` words are to be made here: so many have been drawn by now that compiling has
    paid. No clock is asked."""
    global _drawn
    if n < LARGE or forking.cannot_run() or values.tier == "host":
        return False
    _drawn += n
    return _drawn > _PRICE


def fill(key: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Writes the words that follow a state, and gives the state after them.

    Shapes: (624), (CALL n) -> (624).
    """
    with jax.ensure_compile_time_eval():  # inside a JAX transformation too, these are numbers
        compute, state = _compiled(), key
        for at in range(0, words.size, CALL):
            state, part = compute(state)
            words[at : at + CALL] = np.asarray(part)
        return np.asarray(state)
