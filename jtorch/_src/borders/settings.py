"""Settings that PyTorch keeps for the whole process: threads, deterministic algorithms, warnings,
precision of products, anomalies."""

from __future__ import annotations

from typing import Any

from ...dispatch import DisableTorchFunction as DisableTorchFunction
from ...dispatch import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ..facts import warned_once
from ..facts.determinism import ASKED

__all__ = [
    "set_num_threads", "get_num_threads", "set_num_interop_threads", "get_num_interop_threads",
    "use_deterministic_algorithms", "are_deterministic_algorithms_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode",
    "get_deterministic_debug_mode", "set_warn_always", "is_warn_always_enabled",
    "is_vulkan_available", "init_num_threads", "thread_safe_generator",
]  # fmt: skip


_threads = {"intra": 0, "inter": 0}


def set_num_threads(num: int) -> None:
    """Accepted for compatibility: XLA chooses its threads when the process starts (``XLA_FLAGS``,
    ``OMP_NUM_THREADS``).

    Raises:
        RuntimeError: if ``num`` is not positive.

    Example:
        >>> import jtorch as torch
        >>> before = torch.get_num_threads()
        >>> torch.set_num_threads(2)
        >>> torch.get_num_threads()
        2
        >>> torch.set_num_threads(before)
    """
    if not isinstance(num, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads["intra"] = num


def get_num_threads() -> int:
    """The number last set, or ``OMP_NUM_THREADS``, or that of the machine's cores.

    Example:
        >>> import jtorch as torch
        >>> torch.get_num_threads() > 0
        True
    """
    import os

    wished = os.environ.get("OMP_NUM_THREADS", "")
    return _threads["intra"] or (int(wished) if wished.isdecimal() else 0) or os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Accepted for compatibility, see ``set_num_threads``."""
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _threads["inter"] = num


def get_num_interop_threads() -> int:
    """The number last set, or that of the machine's cores.

    Example:
        >>> import jtorch as torch
        >>> torch.get_num_interop_threads() > 0
        True
    """
    import os

    return _threads["inter"] or os.cpu_count() or 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for deterministic algorithms: XLA's CPU programs are deterministic anyway.

    As in PyTorch, functions without one there (``put_``, ``max_unpool2d``) raise or warn, and
    memory that nobody wrote (``empty``) is filled, by NaN or the largest number of its dtype,
    unless ``torch.utils.deterministic.fill_uninitialized_memory`` is False.

    Raises:
        TypeError: for other arguments than booleans.

    Example:
        >>> import jtorch as torch
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    for what, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if type(value) is not bool:
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {what} must be bool, not "
                f"{type(value).__name__}"
            )
    ASKED.ask(mode, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What was last asked for.

    Example:
        >>> import jtorch as torch
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return ASKED.on


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether only a warning was asked for.

    Example:
        >>> import jtorch as torch
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return ASKED.warns


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by a number or its name: 0 default, 1 warn, 2 error.

    Raises:
        TypeError, RuntimeError: for anything else.

    Example:
        >>> import jtorch as torch
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if not 0 <= debug_mode < len(_DEBUG_MODES):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The number that ``set_deterministic_debug_mode`` takes.

    Example:
        >>> import jtorch as torch
        >>> torch.get_deterministic_debug_mode()
        0
    """
    return (1 if ASKED.warns else 2) if ASKED.on else 0


def set_warn_always(b: bool, /) -> None:
    """Whether the warnings that are given once in the life of a program come on each occasion;
    Python's filters apply to all.

    Example:
        >>> import jtorch as torch
        >>> torch.set_warn_always(True)
        >>> torch.is_warn_always_enabled()
        True
        >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    warned_once.state["always"] = b


def is_warn_always_enabled() -> bool:
    """What was last set.

    Example:
        >>> import jtorch as torch
        >>> torch.is_warn_always_enabled()
        False
    """
    return warned_once.state["always"]


def is_vulkan_available() -> bool:
    """Whether there is a Vulkan device: none, here."""
    return False


def init_num_threads() -> None:
    """Nothing to do: XLA has its own threads."""


def thread_safe_generator() -> Any:
    """The generator of the data loader worker that this thread is: None, workers are processes."""
    return None
