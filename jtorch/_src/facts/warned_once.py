"""Warnings that torch gives once in the life of a program, unless ``set_warn_always`` asks for
each. Floor 0."""

from __future__ import annotations

import sys
import warnings

#: Whether each occasion warns; and the texts that were given already.
state: dict[str, bool] = {"always": False}
_given: set[str] = set()


#: What is looked through for the program: this package under either name, and what calls a kernel
#: that is traced.
_OURS = frozenset(("jtorch", "torch", "jax", "jaxlib", "contextlib", "functools"))


def outside() -> int:
    """The ``stacklevel`` with which the caller's warning names the line of the program that called
    into this package."""
    level, frame = 1, sys._getframe(1)
    while (
        frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS
    ):
        frame = frame.f_back
        file = frame.f_code.co_filename
        # such as first calls, which the warnings module does not count
        if not ("importlib" in file and "_bootstrap" in file):
            level += 1
    return level


def warn_once(text: str) -> None:
    """Gives a warning, for the line of the program that called into this package."""
    if text in _given and not state["always"]:
        return
    _given.add(text)
    warnings.warn(text, UserWarning, stacklevel=outside())


def warn_of_scalar() -> None:
    """What converting a tensor that requires grad to a Python number says, but for ``item()``."""
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first."
    )
