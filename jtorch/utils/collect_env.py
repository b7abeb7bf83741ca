"""``python -m jtorch.utils.collect_env``: the versions and the machine, as reports of errors want
them."""

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

#: Whether a namespace of PyTorch can be asked: this one can.
TORCH_AVAILABLE = True

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
    """The exit status of a command, and what it wrote to the two streams; a string is for the
    shell.

    Example:
        >>> from jtorch.utils.collect_env import run
        >>> run("echo here")
        (0, 'here', '')
    """
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_and_read_all(run_lambda: _Run, command: str) -> str | None:
    """What a command writes, or None if it fails.

    Example:
        >>> from jtorch.utils.collect_env import run, run_and_read_all
        >>> run_and_read_all(run, "echo here"), run_and_read_all(run, "exit 3")
        ('here', None)
    """
    status, text, _ = run_lambda(command)
    return text if status == 0 else None


def run_and_parse_first_match(run_lambda: _Run, command: str, regex: str) -> str | None:
    """What a pattern's first group finds in what a command writes, or None."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found[1] if found else None


def run_and_return_first_line(run_lambda: _Run, command: str) -> str | None:
    """The first line that a command writes, or None if it fails."""
    text = run_and_read_all(run_lambda, command)
    return None if text is None else text.partition("\n")[0]


def get_gcc_version(run_lambda: _Run) -> str | None:
    """What ``gcc`` says of its version, or None."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: _Run) -> str | None:
    """What ``clang`` says of its version, or None."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: _Run) -> str | None:
    """What ``cmake`` says of its version, or None."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_running_cuda_version(run_lambda: _Run) -> str | None:
    """What ``nvcc`` says of its version, or None."""
    return run_and_parse_first_match(run_lambda, "nvcc --version", r"release .+ V(.*)")


def get_cudnn_version(run_lambda: _Run) -> str | None:  # noqa: ARG001 (JAX brings its own)
    """None: JAX's wheels bring cuDNN."""
    return None


def get_nvidia_smi() -> str:
    """The command that tells of GPUs."""
    return "nvidia-smi"


def get_nvidia_driver_version(run_lambda: _Run) -> str | None:
    """What ``nvidia-smi`` says of the driver, or None."""
    return run_and_parse_first_match(run_lambda, "nvidia-smi", r"Driver Version: (\S+)")


def get_platform() -> str:
    """``linux``, ``darwin``, ``win32``, ``cygwin``, or what else ``sys.platform`` begins with."""
    known = ("linux", "win32", "cygwin", "darwin")
    return next((name for name in known if sys.platform.startswith(name)), sys.platform)


def get_python_platform() -> str:
    """What Python says of the system."""
    return platform.platform()


def check_release_file(run_lambda: _Run) -> str | None:
    """The name of a Linux distribution from its file ``os-release``, or None."""
    return run_and_parse_first_match(run_lambda, "cat /etc/*-release", r'PRETTY_NAME="(.*)"')


def get_lsb_version(run_lambda: _Run) -> str | None:
    """The name of a Linux distribution as ``lsb_release`` tells it, or None."""
    return run_and_parse_first_match(run_lambda, "lsb_release -a", r"Description:\t(.*)")


def get_mac_version(run_lambda: _Run) -> str | None:
    """The version of macOS, or None."""
    return run_and_parse_first_match(run_lambda, "sw_vers -productVersion", r"(.*)")


def get_os(run_lambda: _Run) -> str:
    """The system and its processor's kind, such as ``Debian GNU/Linux 12 (bookworm) (x86_64)``."""
    system = get_platform()
    if system == "darwin":
        version = get_mac_version(run_lambda)
        return system if version is None else f"macOS {version} ({platform.machine()})"
    if system == "linux":
        return (
            f"{get_lsb_version(run_lambda) or check_release_file(run_lambda) or system} "
            f"({platform.machine()})"
        )
    return (
        f"{platform.platform()} ({platform.machine()})" if system in ("win32", "cygwin") else system
    )


def get_libc_version() -> str:
    """The C library and its version, such as ``glibc-2.36``; ``N/A`` elsewhere than on Linux."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def is_xnnpack_available() -> bool:
    """False: XLA has its own library of products."""
    return False


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
            name = next(
                (line.partition(":")[2].strip() for line in file if line.startswith("model name")),
                name,
            )
    except OSError:  # another system than Linux
        pass
    return f"{name}, {os.cpu_count()} cores"


def get_pip_packages() -> list[str]:
    """The installed packages that computation rests on, as ``name==version``."""
    return [
        f"{name}=={version}"
        for name in _PACKAGES
        if (version := _version_of(name)) != "not installed"
    ]


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
    "torch_version": "PyTorch namespace of jtorch", "jax_version": "JAX",
    "jaxlib_version": "jaxlib", "execution": "Execution", "default_device": "Default device",
    "devices": "Devices", "python_version": "Python", "python_platform": "Platform",
    "cpu_info": "CPU", "xla_flags": "XLA_FLAGS", "pip_packages": "Packages",
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
        lines.append(
            f"{title}: "
            + ("".join(f"\n  {x}" for x in value) if isinstance(value, list) else value)
        )
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """``pretty_str`` of what is found in this process."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints it."""
    sys.stdout.write(f"Collecting environment information...\n{get_pretty_env_info()}\n")


if __name__ == "__main__":
    main()
