"""The Mersenne twister behind a generator, with states exchangeable with PyTorch's CPU generators byte for byte.

Words of 32 and 64 bits come out, seeds and states go in. NumPy draws them, and ``twisting`` where there are very many.
"""

from __future__ import annotations

import threading

import numpy as np

from . import twisting

_WORDS = twisting.WORDS
#: Up to so many words NumPy gives them fastest without the checks of its generators.
FEW = 256
#: What a state consists of: PyTorch's record, with the alignment of the C compiler that laid it out.
_RECORD = np.dtype(
    {
        "names": [
            "seed", "left", "seeded", "next", "words", "normal_x", "normal_y", "normal_rho", "has_normal", "normal32", "has_normal32",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", f"({_WORDS},)<u8", "<f8", "<f8", "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5016, 5024, 5032, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)  # fmt: skip
STATE_BYTES: int = _RECORD.itemsize


#: What twisters that are gone have left: seeding one anew is many times faster than making one, which asks the operating system.
_spare: list[tuple[np.random.MT19937, np.random.Generator]] = []
_MANY = 16


class Twister:
    """A Mersenne twister (mt19937), and the second half of a pair of normal numbers whose first half was taken.

    ``lock`` is held by whoever draws: what one draw takes of the stream must lie together.
    """

    __slots__ = ("_bits", "_words", "lock", "seed", "pending_normal")

    def __init__(self, seed: int) -> None:
        try:
            self._bits, self._words = _spare.pop()
        except IndexError:
            self._bits = np.random.MT19937()
            self._words = np.random.Generator(self._bits)
        self.lock = threading.RLock()
        self.reseed(seed)

    def __del__(self, spare: list[tuple[np.random.MT19937, np.random.Generator]] = _spare, many: int = _MANY) -> None:
        if len(spare) < many and hasattr(self, "_words"):
            spare.append((self._bits, self._words))

    def reseed(self, seed: int) -> None:
        """Starts anew. The twister itself takes the seed's low 32 bits."""
        self.seed = seed
        self.pending_normal: float | None = None
        # NumPy's own seeding by one number is the reference initialisation (init_genrand).
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)

    def bits32(self, n: int) -> np.ndarray:
        """The next ``n`` words, uint32."""
        if n <= FEW:
            return self._bits.random_raw(n).astype(np.uint32)
        if n >= twisting.LARGE and twisting.worth(n):
            return self._many(n)
        return self._words.integers(0, 1 << 32, n, dtype=np.uint32)

    def _many(self, n: int) -> np.ndarray:
        """``bits32`` of many words: NumPy gives what is left of its state, then whole calls follow, then NumPy again."""
        found = np.empty(n, np.uint32)
        at = _WORDS - int(self._bits.state["state"]["pos"])
        found[:at] = self._words.integers(0, 1 << 32, at, dtype=np.uint32)
        end = n - (n - at) % twisting.CALL
        key = twisting.fill(self._bits.state["state"]["key"].astype(np.uint32), found[at:end])
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS}}
        found[end:] = self._words.integers(0, 1 << 32, n - end, dtype=np.uint32)
        return found

    def words(self, n: int) -> np.ndarray:
        """The next ``n`` words, as unsigned numbers of 32 or 64 bits."""
        return self._bits.random_raw(n) if n <= FEW else self.bits32(n)

    def halves(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The next ``n`` numbers of 64 bits as their high and low words: the high word is drawn first."""
        pairs = self.bits32(2 * n).reshape(n, 2)
        return pairs[:, 0], pairs[:, 1]

    def word(self) -> int:
        """The next word."""
        return self._bits.random_raw()

    def few(self, n: int) -> list[int]:
        """The next ``n`` words, for a small ``n``, as Python's integers."""
        return self._bits.random_raw(n).tolist()

    def bits64(self, n: int) -> np.ndarray:
        """The next ``n`` numbers of 64 bits, uint64."""
        high, low = self.halves(n)
        return (high.astype(np.uint64) << np.uint64(32)) | low

    def position(self) -> object:
        """Where the stream of words is, for ``return_to``."""
        return self._bits.state

    def return_to(self, position: object, taken: int) -> None:
        """Goes back to a position and on by ``taken`` words: what was drawn in advance and not used is given back."""
        self._bits.state = position
        if taken:
            self.bits32(taken)

    def get_state(self) -> np.ndarray:
        """The state as ``STATE_BYTES`` bytes."""
        record = np.zeros((), _RECORD)
        state = self._bits.state["state"]
        position = int(state["pos"])
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
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {data.size}"
            )
        record = np.frombuffer(np.ascontiguousarray(data, np.uint8).tobytes(), _RECORD)[0]
        left, following = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 0 < left <= _WORDS or following > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        position = _WORDS if left == 1 else following
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": record["words"].astype(np.uint32), "pos": position}}
        self.seed = int(record["seed"])
        self.pending_normal = float(record["normal_y"]) if record["has_normal"] else None
