"""The logger of checkpoints, and a decorator that tells it when functions begin and end."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from uuid import uuid4

from .. import c10d_logger
from .logging_handlers import DCP_LOGGER_NAME

__all__: list[str] = []

_T = TypeVar("_T")
_P = ParamSpec("_P")
_dcp_logger = c10d_logger._get_or_create_logger(DCP_LOGGER_NAME)


def _msg_dict_from_dcp_method_args(*args: object, **kwargs: object) -> dict[str, str | None]:
    """What the arguments of a call say: the checkpoint, and the classes of what writes, reads and
    plans."""
    del args
    storage = kwargs.get("storage_writer") or kwargs.get("storage_reader")
    name = kwargs.get("checkpoint_id") or getattr(storage, "checkpoint_id", None)
    found = {"checkpoint_id": None if name is None else str(name), "uuid": str(uuid4().int)}
    for key in ("storage_writer", "storage_reader", "planner"):
        if kwargs.get(key):
            found[key] = type(kwargs[key]).__name__
    return found


def _get_msg_dict(func_name: str, *args: object, **kwargs: object) -> dict[str, object]:
    """That, and what is told of every call."""
    return {
        **_msg_dict_from_dcp_method_args(*args, **kwargs),
        **c10d_logger._get_msg_dict(func_name, *args, **kwargs),
    }


def _dcp_method_logger(
    log_exceptions: bool = False, **wrapper_kwargs: object
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Makes a decorator: the logger is told when a function begins, ends and, on request,
    raises."""

    def decorator(func: Callable[_P, _T]) -> Callable[_P, _T]:
        @functools.wraps(func)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            said = _get_msg_dict(func.__name__, *args, **{**wrapper_kwargs, **kwargs})
            begun = time.time_ns()
            _dcp_logger.debug(
                {**said, "event": "start", "time": begun, "log_exceptions": log_exceptions}
            )
            try:
                found = func(*args, **kwargs)
            except BaseException as error:
                if log_exceptions:
                    _dcp_logger.error(
                        {**said, "event": "exception", "error": str(error), "time": time.time_ns()}
                    )
                raise
            now = time.time_ns()
            _dcp_logger.debug({**said, "event": "end", "time": now, "times_spent": now - begun})
            return found

        return wrapper

    return decorator
