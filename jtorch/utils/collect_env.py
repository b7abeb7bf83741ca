"""``python -m jtorch.utils.collect_env``: the versions and the machine, as reports of errors want them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jtorch as torch

_PACKAGES = ("jtorch-jax", "jax", "jaxlib", "numpy", "ml-dtypes", "scipy", "optree", "opt-einsum")


class SystemEnv(NamedTuple):
    """What ``get_env_info`` finds."""

    torch_version: str
    jax_version: str
    jaxlib_version: str
    execution: str
    default_device: str
    devices: list[str]
    python_version: str
    python_platform: str
    cpu_info: str
    pip_packages: list[str]
    xla_flags: str


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


_Run = Callable[[Any], tuple[int, str, str]]


def run(command: str | list[str]) -> tuple[int, str, str]:
    """The exit status of a command, and what it wrote to the two streams; a string is for the shell.

    Example:
        >>> from jtorch.utils.collect_env import run
        >>> run("echo here")
        (0, 'here', '')
    """
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _first(run_lambda: _Run, command: str, pattern: str) -> str | None:
    status, text, _ = run_lambda(command)
    found = re.search(pattern, text) if status == 0 else None
    return found[1] if found else None


def get_gcc_version(run_lambda: _Run) -> str | None:
    """What ``gcc`` says of its version, or None."""
    return _first(run_lambda, "gcc --version", r"gcc (.*)")


def get_nvidia_driver_version(run_lambda: _Run) -> str | None:
    """What ``nvidia-smi`` says of the driver, or None."""
    return _first(run_lambda, "nvidia-smi", r"Driver Version: (\S+)")


def get_gpu_info(run_lambda: _Run) -> str | None:  # noqa: ARG001 (JAX tells)
    """The names of the GPUs that JAX sees, one a line, or None."""
    import jax

    names = [f"GPU {d.id}: {d.device_kind}" for d in jax.devices() if d.platform == "gpu"]
    return "\n".join(names) or None


def get_cpu_info(run_lambda: _Run | None = None) -> str:  # noqa: ARG001 (read from a file)
    """The processor's name, as far as the system tells it, and how many cores a program may use.

    Example:
        >>> from jtorch.utils.collect_env import get_cpu_info
        >>> "cores" in get_cpu_info()
        True
    """
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), name)
    except OSError:  # another system than Linux
        pass
    return f"{name}, {os.cpu_count()} cores"


def get_pip_packages() -> list[str]:
    """The installed packages that computation rests on, as ``name==version``."""
    return [f"{name}=={version}" for name in _PACKAGES if (version := _version_of(name)) != "not installed"]


def get_env_info() -> SystemEnv:
    """Versions, devices and settings of this process."""
    import jax

    return SystemEnv(
        torch_version=torch.__version__,
        jax_version=jax.__version__,
        jaxlib_version=_version_of("jaxlib"),
        execution=os.environ.get("JTORCH_EXECUTION", "deferred"),
        default_device=str(torch.get_default_device()),
        devices=[f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()],
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        cpu_info=get_cpu_info(),
        pip_packages=get_pip_packages(),
        xla_flags=os.environ.get("XLA_FLAGS", ""),
    )


_TITLES = {
    "torch_version": "PyTorch namespace of jtorch", "jax_version": "JAX", "jaxlib_version": "jaxlib", "execution": "Execution",
    "default_device": "Default device", "devices": "Devices", "python_version": "Python", "python_platform": "Platform", "cpu_info": "CPU",
    "xla_flags": "XLA_FLAGS", "pip_packages": "Packages",
}  # fmt: skip


def pretty_str(envinfo: SystemEnv) -> str:
    """What was found, one thing a line.

    Example:
        >>> from jtorch.utils.collect_env import get_env_info, pretty_str
        >>> pretty_str(get_env_info()).startswith("PyTorch namespace of jtorch: ")
        True
    """
    lines = []
    for field, title in _TITLES.items():
        value: Any = getattr(envinfo, field)
        lines.append(f"{title}: " + ("".join(f"\n  {x}" for x in value) if isinstance(value, list) else value))
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """``pretty_str`` of what is found in this process."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints it."""
    sys.stdout.write(f"Collecting environment information...\n{get_pretty_env_info()}\n")


if __name__ == "__main__":
    main()
