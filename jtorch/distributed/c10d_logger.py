"""Loggers of ``torch.distributed``, and decorators that tell them of errors."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .group import get_backend, get_rank, get_world_size, is_initialized, world
from .logging_handlers import _log_handlers

__all__: list[str] = []

_T = TypeVar("_T")
_P = ParamSpec("_P")
_DEFAULT_DESTINATION = "default"


def _get_logging_handler(destination: str = _DEFAULT_DESTINATION) -> tuple[logging.Handler, str]:
    """The handler of a destination, and its name."""
    handler = _log_handlers[destination]
    return handler, f"{type(handler).__name__}-{destination}"


def _get_or_create_logger(destination: str = _DEFAULT_DESTINATION) -> logging.Logger:
    """The logger that writes to a destination."""
    handler, name = _get_logging_handler(destination)
    logger = logging.getLogger(f"c10d-{name}")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    handler.setFormatter(
        logging.Formatter(
            "%(asctime)s %(filename)s:%(lineno)s %(levelname)s p:%(processName)s t:%(threadName)s: "
            "%(message)s"
        )
    )
    logger.addHandler(handler)
    return logger


_c10d_logger = _get_or_create_logger()


def _get_msg_dict(func_name: str, *args: object, **kwargs: Any) -> dict[str, object]:
    """What is told of a call: its name, and where there are groups the one that it was given."""
    del args
    if not is_initialized():
        return {"func_name": func_name}
    group = kwargs.get("group") or kwargs.get("process_group")
    return {
        "func_name": func_name,
        "pg_name": world(kwargs.get("pg")).group_name,
        "backend": str(get_backend(group)),
        "world_size": str(get_world_size()),
        "group_size": str(get_world_size(group)),
        "global_rank": str(get_rank()),
        "local_rank": str(get_rank(group)),
    }


def _exception_logger(func: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, whose errors are told to the logger before they are raised."""

    @functools.wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return func(*args, **kwargs)
        except Exception as error:
            _c10d_logger.debug(
                {**_get_msg_dict(func.__name__, *args, **kwargs), "error": str(error)}
            )
            raise

    return wrapper


def _time_logger(func: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function itself: PyTorch counts the time in counters of its own service, of which there
    are none here."""

    @functools.wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return func(*args, **kwargs)

    return wrapper
