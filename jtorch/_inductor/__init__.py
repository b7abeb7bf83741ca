"""PyTorch's compiler, whose place XLA takes: the marks and questions that programs put around
it."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import TYPE_CHECKING

from .._src.refusals import stand_ins as _refusals

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: XLA reuses no memory that a program still holds."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, object]:
    """The options of each mode of ``torch.compile``: none, as XLA decides by itself."""
    modes: Named = {
        "default": {},
        "lite": {},
        "reduce-overhead": {},
        "max-autotune-no-cudagraphs": {},
        "max-autotune": {},
    }
    return modes[mode] if mode else modes


def list_options() -> list[str]:
    """The options of ``torch.compile``'s compiler: none."""
    return []


__getattr__ = _refusals.missing(__name__)
