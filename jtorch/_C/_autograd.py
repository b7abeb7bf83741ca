"""What programs reach for in ``torch._C._autograd``: saved tensors, and whether they may pass
through hooks."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals
from ..autograd.saved import SavedTensor as SavedTensor
from ..autograd.tape import SAVING


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether ``saved_tensors_hooks`` may be entered here."""
    return not SAVING.disabled


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """What entering it raises, or None."""
    return SAVING.disabled[-1] if SAVING.disabled else None


# nothing is traced twice here
def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[object, object] | None:  # noqa: ARG001
    """The innermost pair of hooks that ``saved_tensors_hooks`` entered, or None."""
    return SAVING.hooks[-1] if SAVING.hooks else None


def kineto_available() -> bool:
    """True: ``torch.profiler`` does what programs that ask this go on to do."""
    return True


__getattr__ = _refusals.missing(__name__)
