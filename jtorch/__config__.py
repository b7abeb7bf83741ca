"""``torch.__config__``: what the package is built on, in words."""

from __future__ import annotations

import os
import platform

import jax
import jaxlib.version
import numpy as np

import jtorch as torch


def show() -> str:
    """A report of the versions and devices that computations use.

    Example:
        >>> import jtorch as torch
        >>> torch.__config__.show().splitlines()[0]
        'PyTorch built with:'
    """
    lines = [
        f"jtorch {torch.__version__}",
        f"JAX {jax.__version__}, jaxlib {jaxlib.version.__version__}",
        f"NumPy {np.__version__}",
        f"Python {platform.python_version()} ({platform.python_compiler()})",
        f"Devices: {', '.join(str(d) for d in jax.devices())}",
    ]
    return "PyTorch built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """A report of the numbers of threads.

    Example:
        >>> import jtorch as torch
        >>> "get_num_threads" in torch.__config__.parallel_info()
        True
    """
    wished = os.environ.get("OMP_NUM_THREADS", "[not set]")
    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {torch.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {torch.get_num_interop_threads()}\n"
        f"hardware_concurrency() : {os.cpu_count()}\n"
        "Environment variables:\n"
        f"\tOMP_NUM_THREADS : {wished}\n"
        "ATen parallel backend: XLA\n"
    )


def _cxx_flags() -> str:
    """The flags of the C++ compiler: none, nothing is compiled by one."""
    return ""
