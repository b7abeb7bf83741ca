"""Errors of exporting."""

from __future__ import annotations

import enum


class ExportErrorType(enum.Enum):
    """What was wrong."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class ExportError(Exception):
    """What a program did that exporting it does not allow.

    Args:
        error_code: what was wrong.
        message: the same in words.
    """

    def __init__(self, error_code: ExportErrorType, message: str) -> None:
        super().__init__(f"[{error_code}]: {message}")


class InternalError(Exception):
    """What exporting itself, or a pass over what was exported, did wrong.

    Args:
        message: what it was.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


def internal_assert(pred: bool, assert_msg: str) -> None:
    """Raises InternalError unless ``pred``."""
    if not pred:
        raise InternalError(assert_msg)
