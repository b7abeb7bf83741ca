"""Python's ``multiprocessing`` with tensors among what it can send, under PyTorch's name.

Tensors on the CPU that are sent (in queues and pipes, as arguments of processes) move into memory
that the processes share: what one writes the others see (decision 0065). Those on accelerators, of
several devices, and what has no memory of its own go by value. Where no start method has been set,
it is Python's own until JAX has started its runtime, whose threads a fork would lose, and from then
on ``spawn``, with processes that begin as forks of one that has imported jtorch alone (decision
0069). The first object that is made, or process that is started, decides for the whole program.
"""

from __future__ import annotations

import multiprocessing as _python
import multiprocessing.context as _contexts
import sys
from multiprocessing import AuthenticationError as AuthenticationError
from multiprocessing import BufferTooShort as BufferTooShort
from multiprocessing import ProcessError as ProcessError
from multiprocessing import TimeoutError as TimeoutError  # noqa: A004
from multiprocessing import active_children as active_children
from multiprocessing import allow_connection_pickling as allow_connection_pickling
from multiprocessing import cpu_count as cpu_count
from multiprocessing import current_process as current_process
from multiprocessing import freeze_support as freeze_support
from multiprocessing import get_all_start_methods as get_all_start_methods
from multiprocessing import get_logger as get_logger
from multiprocessing import log_to_stderr as log_to_stderr
from multiprocessing import parent_process as parent_process
from multiprocessing import reducer as reducer
from multiprocessing import set_executable as set_executable
from multiprocessing import set_forkserver_preload as set_forkserver_preload
from typing import Any

from jtorch._src.tensor import shared_memory as _shared_memory

from ._fresh import FreshContext
from .reductions import init_reductions
from .spawn import ENV_VAR_PARALLEL_START as ENV_VAR_PARALLEL_START
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies"]
__all__ += _python.__all__

#: Where Linux keeps the name of the thread that asks.
_THREAD_NAME = "/proc/thread-self/comm"


def _set_thread_name(name: str) -> None:
    """Names the thread that calls this, for tools of the operating system; nothing where it keeps
    no names in files."""
    try:
        with open(_THREAD_NAME, "w") as file:
            file.write(name)
    except OSError:
        pass


def _get_thread_name() -> str:
    """The name of the thread that calls this, as the operating system has it; "" where it keeps
    none in files."""
    try:
        with open(_THREAD_NAME) as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def _jax_runs() -> bool:
    """Whether JAX has started its runtime."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bridge.backends_are_initialized()


class _DefaultContext(_contexts.DefaultContext):
    """The context of the module's functions."""

    def get_context(self, method: str | None = None) -> Any:
        """The context of a start method; without one, that which has been set, or been chosen
        before."""
        if method is not None:
            return _python.get_context(method)
        if self._actual_context is None:
            # set by the program, with either module
            chosen = _python.get_start_method(allow_none=True)
            if chosen is None and "fork" in _python.get_all_start_methods() and _jax_runs():
                self._actual_context = FreshContext()
            else:
                self._actual_context = _python.get_context(chosen)
        return self._actual_context

    def set_start_method(self, method: str | None, force: bool = False) -> None:
        """As ``multiprocessing.set_start_method``, for that module too."""
        if self._actual_context is not None and not force:
            raise RuntimeError("context has already been set")
        _python.set_start_method(method, force=force)
        self._actual_context = None

    def get_start_method(self, allow_none: bool = False) -> Any:
        """The start method; None if none was set nor chosen yet, and ``allow_none``."""
        if self._actual_context is None and allow_none:
            return _python.get_start_method(allow_none=True)
        return self.get_context().get_start_method()


_default = _DefaultContext(_python.get_context("spawn"))  # chosen when it is needed


class Process(_python.Process):
    """A process, started by the module's start method."""

    _start_method = None

    @staticmethod
    def _Popen(process_obj: object) -> object:
        return _default.get_context().Process._Popen(process_obj)


_default.Process = Process

get_context = _default.get_context
get_start_method = _default.get_start_method
set_start_method = _default.set_start_method
Manager = _default.Manager
Pipe = _default.Pipe
Lock = _default.Lock
RLock = _default.RLock
Condition = _default.Condition
Semaphore = _default.Semaphore
BoundedSemaphore = _default.BoundedSemaphore
Event = _default.Event
Barrier = _default.Barrier
Queue = _default.Queue
JoinableQueue = _default.JoinableQueue
SimpleQueue = _default.SimpleQueue
Pool = _default.Pool
RawValue = _default.RawValue
RawArray = _default.RawArray
Value = _default.Value
Array = _default.Array

_sharing_strategies = (
    {"file_descriptor", "file_system"}
    if _shared_memory.STRATEGY[0] == "file_descriptor"
    else {"file_system"}
)


def set_sharing_strategy(new_strategy: str) -> None:
    """Sets how memory is passed on that is shared from now on: by descriptors, of which a process
    has a limited number (``ulimit -n``), or in files that are opened by their names, which stay
    behind if the program is killed."""
    assert new_strategy in _sharing_strategies, (
        f"invalid sharing strategy {new_strategy!r}, expected one of {_sharing_strategies}"
    )
    _shared_memory.STRATEGY[0] = new_strategy
    if new_strategy == "file_system":
        # so that at the end of this process files are cleared up that others have made
        _shared_memory.family()


def get_sharing_strategy() -> str:
    """How memory is passed on."""
    return _shared_memory.STRATEGY[0]


def get_all_sharing_strategies() -> set[str]:
    """What can be set."""
    return _sharing_strategies


init_reductions()
