"""``torch._logging``: levels of PyTorch's logs, by the names that ``TORCH_LOGS`` has for them.

The loggers are those of Python's ``logging``. What writes into them in PyTorch is its compiler,
whose place XLA takes; so settings are checked and kept, and artifacts stay unwritten.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "LazyString", "dtrace_structured", "getArtifactLogger", "get_structured_logging_overhead",
    "hide_warnings", "register_artifact", "register_log", "set_logs", "trace_structured",
    "trace_structured_artifact", "warning_once",
]  # fmt: skip

_SHAPES = (
    "torch.fx.experimental.symbolic_shapes torch.fx.experimental.sym_node "
    "torch.fx.experimental.recording"
)
_LOGS: dict[str, list[str]] = {
    name: loggers.split()
    for name, loggers in {
        "dynamo": f"torch._dynamo {_SHAPES}",
        "aot": "torch._functorch.aot_autograd torch._functorch._aot_autograd",
        "autograd": "torch.autograd",
        "inductor": "torch._inductor",
        "dynamic": _SHAPES,
        "torch": "torch",
        "distributed": "torch.distributed torch.nn.parallel.distributed",
        "c10d": "torch.distributed.distributed_c10d torch.distributed.rendezvous",
        "ddp": "torch.nn.parallel.distributed",
        "pp": "torch.distributed.pipelining",
        "fsdp": "torch.distributed.fsdp torch.distributed._composable.fsdp",
        "dtensor": "torch.distributed._tensor torch.distributed.tensor",
        "onnx": "torch.onnx",
        "export": f"torch._dynamo torch.export {_SHAPES}",
    }.items()
}
#: Kinds of output of PyTorch's compiler, each on or off by itself.
_ARTIFACTS: dict[str, bool] = dict.fromkeys(
    """annotation aot_graphs aot_graphs_effects aot_joint_graph autotuning benchmarking bytecode
    caching compiled_autograd compiled_autograd_verbose compute_dependencies cudagraph_static_inputs
    cudagraphs ddp_graphs fusion graph graph_breaks graph_code graph_code_verbose
    graph_region_expansion graph_sizes guards hierarchical_compile incremental inductor_metrics
    ir_post_fusion ir_pre_fusion kernel_code loop_ordering loop_tiling not_implemented
    onnx_diagnostics output_code overlap perf_hints post_grad_graphs pre_grad_graphs recompiles
    recompiles_verbose schedule side_effects sym_node trace_bytecode trace_call trace_shape_events
    trace_source verbose_guards""".split(),
    False,
)
_LEVELS = (
    logging.CRITICAL,
    logging.ERROR,
    logging.WARNING,
    logging.INFO,
    logging.DEBUG,
    logging.NOTSET,
)


def register_log(setting_name: str, log_name: str | list[str]) -> None:
    """Lets ``set_logs`` know a name for one or several loggers."""
    _LOGS[setting_name] = [log_name] if isinstance(log_name, str) else list(log_name)


def register_artifact(
    setting_name: str,
    description: str,
    visible: bool = False,
    off_by_default: bool = False,
    log_format: str | None = None,
) -> None:
    """Lets ``set_logs`` and ``getArtifactLogger`` know a kind of output."""
    del description, visible, off_by_default, log_format
    _ARTIFACTS.setdefault(setting_name, False)


def set_logs(
    *,
    all: int | None = None,
    modules: dict[str, int | bool] | None = None,
    **settings: int | bool | None,
) -> None:
    """Sets levels of logs by PyTorch's names for them, and switches kinds of output; those that are
    not named go back to what they were.

    Args:
        all: the level of all logs that have none of their own.
        modules: levels by names of modules or logs, for those that have no argument.
        settings: a level (``logging.DEBUG``) for a log such as ``dynamo``, or True for a kind of
            output such as ``graph_breaks``.

    Raises:
        TypeError: for a name that there is not.
        ValueError: for a level that there is not, or a kind of output set to what is no bool.

    Example:
        >>> import logging
        >>> import jtorch as torch
        >>> torch._logging.set_logs(dynamo=logging.INFO)
        >>> logging.getLogger("torch._dynamo").level == logging.INFO
        True
        >>> torch._logging.set_logs()
    """
    levels: dict[str, int] = {}
    switched: dict[str, bool] = {}

    def note(name: str, value: object) -> None:
        if value is None:
            return
        if name in _ARTIFACTS:
            if not isinstance(value, bool):
                raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
            switched[name] = value
            return
        if value not in _LEVELS:
            raise ValueError(
                f"Unrecognized log level for log {name}: {value}, valid level values are: "
                f"{','.join(map(str, _LEVELS))}"
            )
        for logger in _LOGS.get(name, [name]):
            levels[logger] = value

    if all is not None:
        for name in _LOGS:
            note(name, all)
    for name, value in settings.items():
        if name not in _LOGS and name not in _ARTIFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
        note(name, value)
    for name, value in (modules or {}).items():
        if name not in _LOGS and name not in _ARTIFACTS and importlib.util.find_spec(name) is None:
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
        note(name, value)
    for logger in {name for names in _LOGS.values() for name in names}:
        logging.getLogger(logger).setLevel(levels.pop(logger, logging.NOTSET))
    for logger, level in levels.items():
        logging.getLogger(logger).setLevel(level)
    _ARTIFACTS.update({**dict.fromkeys(_ARTIFACTS, False), **switched})


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger of a kind of output in a module.

    Raises:
        ValueError: for a kind that there is not.
    """
    if artifact_name not in _ARTIFACTS:
        raise ValueError(
            f"Artifact name: {artifact_name!r} not registered,please call "
            f"register_artifact({artifact_name!r}) in torch._logging.registrations."
        )
    logger = logging.getLogger(f"{module_qname}.__{artifact_name}")
    logger.artifact_name = artifact_name
    return logger


class LazyString:
    """A text that is made when it is written."""

    def __init__(self, func: Callable[..., str], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return self.func(*self.args, **self.kwargs)


@functools.cache
def warning_once(logger_obj: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """``logger.warning``, once for the same arguments."""
    logger_obj.warning(*args, **kwargs)


@contextlib.contextmanager
def hide_warnings(filter_fn: Callable[..., bool] = lambda *args, **kwargs: True) -> Iterator[None]:  # noqa: ARG005
    """A block in which warnings that ``filter_fn(message, category, filename, lineno, ...)`` is
    true for are not shown."""
    shown = warnings.showwarning

    def show(*args: Any, **kwargs: object) -> None:
        if not filter_fn(*args, **kwargs):
            shown(*args, **kwargs)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


def trace_structured(name: str, *args: object, **kwargs: object) -> None:
    """Nothing: PyTorch writes a trace of its compiler for ``TORCH_TRACE``, and there is none."""
    del name, args, kwargs


def dtrace_structured(name: str, *args: object, **kwargs: object) -> None:
    """Nothing, as ``trace_structured``."""
    del name, args, kwargs


def trace_structured_artifact(
    name: str, encoding: str, payload_fn: object = None, compile_id: object = None
) -> None:
    """Nothing, as ``trace_structured``."""
    del name, encoding, payload_fn, compile_id


def get_structured_logging_overhead() -> float | None:
    """The seconds spent on traces: none were."""
    return None
