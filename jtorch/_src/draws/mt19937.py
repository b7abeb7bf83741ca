"""The Mersenne twister behind a generator, with states exchangeable with PyTorch's CPU generators
byte for byte.

Words of 32 and 64 bits come out, seeds and states go in. NumPy draws them, and ``twisting`` where
there are very many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import twisting

if TYPE_CHECKING:
    from ..facts.kinds import Row


_WORDS = twisting.WORDS
#: Up to so many words are given as numbers of 64 bits: what is made of pairs of them takes fewer
#: calls.
FEW = 256
_NONE = np.empty(0, np.uint32)
#: What a state consists of: PyTorch's record, with the alignment of the C compiler that laid it
#: out.
_RECORD = np.dtype(
    {
        "names": [
            "seed", "left", "seeded", "next", "words", "normal_x", "normal_y", "normal_rho",
            "has_normal", "normal32", "has_normal32",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", f"({_WORDS},)<u8", "<f8", "<f8", "<f8", "<i4",
                    "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5016, 5024, 5032, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)  # fmt: skip
STATE_BYTES: int = _RECORD.itemsize


#: What twisters that are gone have left: seeding one anew is many times faster than making one,
#: which asks the operating system.
_spare: list[tuple[np.random.MT19937, np.random.Generator]] = []
_MANY = 16


class Twister:
    """A Mersenne twister (mt19937), and the second half of a pair of normal numbers whose first
    half was taken.

    ``lock`` is held by whoever draws: what one draw takes of the stream must lie together.

    NumPy's twister, which makes 624 words at a time, is asked for all that it has made: ``_block``
    holds them, and ``_at`` tells which comes next. So small draws are slices, and what is made of
    words can be made of many that come next (``ahead``, ``at_hand``). NumPy's own position,
    ``_made``, is the end of its words wherever a block was taken.
    """

    __slots__ = (
        "_ahead",
        "_at",
        "_bits",
        "_block",
        "_made",
        "_of_block",
        "_words",
        "lock",
        "pending_normal",
        "seed",
    )

    def __init__(self, seed: int) -> None:
        try:
            self._bits, self._words = _spare.pop()
        except IndexError:
            self._bits = np.random.MT19937()
            self._words = np.random.Generator(self._bits)
        self.lock = threading.RLock()
        self.reseed(seed)

    def __del__(
        self, spare: list[tuple[np.random.MT19937, np.random.Generator]] = _spare, many: int = _MANY
    ) -> None:
        if len(spare) < many and hasattr(self, "_words"):
            spare.append((self._bits, self._words))

    def reseed(self, seed: int) -> None:
        """Starts anew. The twister itself takes the seed's low 32 bits."""
        self.seed = seed
        self.pending_normal: float | None = None
        # NumPy's own seeding by one number is the reference initialisation (init_genrand).
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)
        self._stands(_WORDS)

    def _stands(self, made: int) -> None:
        """Notes that NumPy's twister was put to a position among its words, all of which are to be
        asked for."""
        self._made = made
        self._block, self._at = _NONE, 0
        self._ahead: tuple[np.ndarray, int, np.ndarray] | None = None
        self._of_block = {}

    def _next_block(self) -> None:
        """Asks NumPy for what it has made, or makes next."""
        n = _WORDS - self._made if self._made < _WORDS else _WORDS
        self._block, self._at, self._made = self._bits.random_raw(n).astype(np.uint32), 0, _WORDS

    def bits32(self, n: int) -> np.ndarray:
        """The next ``n`` words, uint32."""
        at = self._at
        end = at + n
        if end <= self._block.size:
            self._at = end
            return self._block[at:end].copy()
        if at == self._block.size and self._made < _WORDS:  # put into the midst of NumPy's words
            self._next_block()
            return self.bits32(n)
        found = np.empty(n, np.uint32)
        done = self._block.size - at
        found[:done] = self._block[at:]
        if whole := (n - done) // _WORDS * _WORDS:
            self._fill(found[done : done + whole])
            done += whole
        self._at = self._block.size
        if done < n:
            self._next_block()
            self._at = n - done
            found[done:] = self._block[: self._at]
        return found

    def _fill(self, words: np.ndarray) -> None:
        """Gives whole blocks of words, behind a block."""
        at = 0
        if words.size >= twisting.LARGE and twisting.worth(words.size):
            at = words.size - words.size % twisting.CALL
            key = twisting.fill(self._bits.state["state"]["key"].astype(np.uint32), words[:at])
            self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS}}
        words[at:] = self._words.integers(0, 1 << 32, words.size - at, dtype=np.uint32)

    def ahead(self, n: int, make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
        """What ``make`` makes of the next ``n`` words, a number of each, in blocks of 16: made of
        all words at hand, for calls to come.

        None where there are not so many, or ``n`` is no whole number of blocks, and then none is
        taken.
        """
        if n % 16:
            return None
        if self._at == self._block.size:
            self._next_block()
        at, block = self._at, self._block
        end = at + n
        if end > block.size:
            return None
        kept = self._ahead
        if (
            kept is None
            or kept[0] is not block
            or at < kept[1]
            or (at - kept[1]) % 16
            or end > kept[1] + kept[2].size
        ):
            kept = self._ahead = (
                block,
                at,
                make(block[at : at + (block.size - at) // 16 * 16].copy()),
            )
        self._at = end
        return kept[2][at - kept[1] : end - kept[1]].copy()

    def of_block(self, make: Callable[[np.ndarray], Any]) -> tuple[Any, int]:
        """What ``make`` makes of all words of the block at hand, which must not be changed and is
        made once, and the place of the next."""
        block = self._block
        if self._at == block.size:
            self._next_block()
            block = self._block
        kept = self._of_block.get(make)
        if kept is None or kept[0] is not block:
            kept = self._of_block[make] = block, make(block)
        return kept[1], self._at

    def go_to(self, place: int) -> None:
        """Takes the words of the block at hand up to a place."""
        self._at = place

    def at_hand(
        self, n: int, each: int, make: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray | None:
        """The next ``n`` numbers of ``each`` words, of those that ``make`` makes at every word of a
        block.

        None where the block ends before, and then none is taken.
        """
        at, block = self._at, self._block
        end = at + n * each
        kept = self._of_block.get(make)
        if kept is None or kept[0] is not block or end > block.size:
            made, at = self.of_block(make)
            end = at + n * each
            if end > self._block.size:
                return None
        else:
            made = kept[1]
        self._at = end
        return made[at:end:each].copy()

    def words(self, n: int) -> np.ndarray:
        """The next ``n`` words, as unsigned numbers of 32 or 64 bits."""
        words = self.bits32(n)
        return words.astype(np.uint64) if n <= FEW else words

    def halves(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next ``n`` numbers of 64 bits as their high and low words: the high word is drawn
        first."""
        pairs = self.bits32(2 * n).reshape(n, 2)
        return pairs[:, 0], pairs[:, 1]

    def word(self) -> int:
        """The next word."""
        at = self._at
        if at == self._block.size:
            self._next_block()
            at = 0
        self._at = at + 1
        return self._block.item(at)

    def bits64(self, n: int) -> np.ndarray:
        """The next ``n`` numbers of 64 bits, uint64."""
        high, low = self.halves(n)
        return (high.astype(np.uint64) << np.uint64(32)) | low

    def position(self) -> tuple[object, ...]:
        """Where the stream of words is, for ``return_to``."""
        return self._bits.state, self._made, self._block, self._at

    def return_to(self, position: Row, taken: int) -> None:
        """Goes back to a position and on by ``taken`` words: what was drawn in advance and not used
        is given back."""
        state, made, block, at = position
        if block is not self._block:
            self._bits.state = state
            self._made, self._block = made, block
        self._at = at
        if taken:
            self.bits32(taken)

    def get_state(self) -> np.ndarray:
        """The state as ``STATE_BYTES`` bytes."""
        record = np.zeros((), _RECORD)
        state = self._bits.state["state"]
        position = self._made - (self._block.size - self._at)
        fresh = position == _WORDS and self._untouched(state["key"])
        record["seed"], record["seeded"] = self.seed, 1
        record["left"], record["next"] = (1, 0) if fresh else (_WORDS + 1 - position, position)
        record["words"] = state["key"]
        if self.pending_normal is not None:
            record["normal_y"], record["has_normal"] = self.pending_normal, 1
        return np.frombuffer(record.tobytes(), np.uint8)

    def _untouched(self, words: np.ndarray) -> bool:
        """Whether no word was drawn since seeding: PyTorch writes such a state differently."""
        first = self.seed & 0xFFFFFFFF
        second = (1812433253 * (first ^ (first >> 30)) + 1) & 0xFFFFFFFF
        return int(words[0]) == first and int(words[1]) == second

    def set_state(self, data: np.ndarray) -> None:
        """Takes over a state.

        Raises:
            RuntimeError: if it is none.
        """
        if data.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                f"state size to be {data.size}"
            )
        record = np.frombuffer(np.ascontiguousarray(data, np.uint8).tobytes(), _RECORD)[0]
        left, following = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 0 < left <= _WORDS or following > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        position = _WORDS if left == 1 else following
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": record["words"].astype(np.uint32), "pos": position},
        }
        self._stands(position)
        self.seed = int(record["seed"])
        self.pending_normal = float(record["normal_y"]) if record["has_normal"] else None
