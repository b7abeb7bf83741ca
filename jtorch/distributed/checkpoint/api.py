"""What is raised where a checkpoint cannot be written or read."""

from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]


#: An exception and where it came from.
WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


def _wrap_exception(exc: BaseException) -> WRAPPED_EXCEPTION:
    """An exception and where it came from, as it can travel to another process."""
    summary = traceback.extract_tb(exc.__traceback__)
    for frame in summary:
        if hasattr(frame, "_code"):  # of newer Pythons, and no pickle takes it
            object.__setattr__(frame, "_code", None)
    return exc, summary


def _is_wrapped_exception(obj: object) -> bool:
    return (
        isinstance(obj, tuple)
        and len(obj) == 2
        and isinstance(obj[0], BaseException)
        and isinstance(obj[1], traceback.StackSummary)
    )


class CheckpointException(BaseException):
    """Some processes failed to save or load. All processes of the call raise it.

    Attributes:
        failures: rank -> the exception there, and where it came from.
    """

    def __init__(
        self, msg: str, failures: dict[int, tuple[BaseException, traceback.StackSummary]]
    ) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, tuple[BaseException, traceback.StackSummary]]:
        """Rank -> the exception there, and where it came from."""
        return self._failures

    def __str__(self) -> str:
        text = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, trace) in self._failures.items():
            text.append(f"Traceback (most recent call last): (RANK {rank})\n")
            text += traceback.format_list(trace) if trace is not None else []
            text += traceback.format_exception_only(type(error), value=error)
        return "".join(text)
