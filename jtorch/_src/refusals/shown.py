"""Modules of Python's library that PyTorch's modules show, since they import them: programs have
come to write ``torch.math.sqrt``."""

from __future__ import annotations

import functools

#: A line is ``module: names``.
_LINES = """
    : builtins ctypes functools glob importlib inspect math os platform sys textwrap threading \
warnings
    autograd: warnings
    autograd.profiler: copy logging uuid
    autograd.profiler_util: bisect itertools math
    compiler: io
    cuda: importlib os platform threading traceback
    cuda.graphs: gc typing
    cuda.memory: collections contextlib ctypes pickle sys warnings
    cuda.nccl: collections warnings
    distributed: logging sys traceback typing
    distributed.distributed_c10d: collections contextlib copy ctypes hashlib itertools logging os \
sys
    distributed.nn: warnings
    distributed.optim: warnings
    distributed.rpc: logging numbers os threading warnings
    export: logging warnings zipfile
    export.dynamic_shapes: dataclasses logging sys
    export.unflatten: logging re
    functional: itertools operator
    fx.graph_module: base64 contextlib contextvars hashlib warnings
    fx.proxy: collections logging sys types
    fx.traceback: copy logging threading traceback
    jit.annotations: ast builtins dis enum inspect re typing warnings
    jit.frontend: ast copy dataclasses inspect re string
    mtia: threading traceback
    nn.functional: dataclasses importlib math warnings
    profiler: os
    profiler.profiler: gzip os shutil tempfile
    utils.benchmark: math
    utils.checkpoint: enum itertools platform uuid
    utils.cpp_extension: collections copy errno glob importlib logging sysconfig threading
    utils.hooks: warnings
    xpu: dataclasses os threading traceback warnings
"""


@functools.cache
def shown() -> dict[str, frozenset[str]]:
    """Module of PyTorch -> the modules of Python's library that it shows."""
    return {
        module: frozenset(names.split())
        for module, _, names in (
            line.strip().partition(":") for line in _LINES.splitlines() if line
        )
    }
