"""Whether the program has asked for deterministic algorithms, and what that changes. Floor 0.

Every operation is deterministic here, on the CPU. What is left are PyTorch's answers: it refuses,
or warns of, operations that have no deterministic implementation there, and fills memory that
nobody wrote.
"""

from __future__ import annotations

import warnings

from .warned_once import outside


class _Asked:
    """The wishes of the process.

    Attributes:
        on: whether deterministic algorithms are asked for.
        warns: whether operations without one only warn.
        fill: whether memory that nobody wrote is to be filled while they are.
        fills: whether it is filled now.
    """

    __slots__ = ("on", "warns", "fill", "fills")

    def __init__(self) -> None:
        self.on = self.warns = self.fills = False
        self.fill = True

    def ask(self, on: bool, warns: bool) -> None:
        """Asks for deterministic algorithms, or for any."""
        self.on, self.warns = on, warns
        self.fills = on and self.fill

    def ask_to_fill(self, fill: bool) -> None:
        """Asks for memory to be filled, or not."""
        self.fill = fill
        self.fills = self.on and fill


ASKED = _Asked()


def alert(caller: str) -> None:
    """Says that ``caller`` is not deterministic in PyTorch, where the program has asked for that.

    Raises:
        RuntimeError: unless the program has asked for warnings only.
    """
    if not ASKED.on:
        return
    if ASKED.warns:
        warnings.warn(
            f"{caller} does not have a deterministic implementation, but you set "
            "'torch.use_deterministic_algorithms(True, warn_only=True)'. You can file an issue at "
            "https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic "
            "support for this operation.",
            stacklevel=outside(),
        )
        return
    raise RuntimeError(
        f"{caller} does not have a deterministic implementation, but you set "
        "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this "
        "operation, or you can use the 'warn_only=True' option, if that's acceptable for your "
        "application. You can also file an issue at https://github.com/pytorch/pytorch/issues to "
        "help us prioritize adding deterministic support for this operation."
    )
