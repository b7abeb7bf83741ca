"""``torch._classes``, ``torch._environment`` and ``torch._utils_internal``: where the program runs,
and what is asked about it."""

from __future__ import annotations

from pathlib import Path

import jtorch
from jtorch import classes as classes

__all__ = [
    "classes", "get_file_path", "get_file_path_2", "get_writable_path", "is_fb_unit_test",
    "is_fbcode", "is_prod",
    "justknobs_check", "justknobs_getval_int", "log_torchscript_usage",
    "prepare_multiprocessing_environment", "resolve_library_path", "signpost_event",
]  # fmt: skip

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500
USE_GLOBAL_DEPS = True
USE_RTLD_GLOBAL_WITH_LIBTORCH = False


def is_fbcode() -> bool:
    """Whether the package was built at that company: no."""
    return False


def is_prod() -> bool:
    """Whether the program serves there: no."""
    return False


def is_fb_unit_test() -> bool:
    """Whether the program is a test there: no."""
    return False


def get_file_path(*path_components: str) -> str:
    """The path of a file below the package."""
    return str(Path(jtorch.__file__).parent.joinpath(*path_components))


def get_file_path_2(*path_components: str) -> str:
    """The path that the components make."""
    return str(Path(*path_components))


def get_writable_path(path: str) -> str:
    """The path itself."""
    return path


def resolve_library_path(path: str) -> str:
    """The path with links followed."""
    return str(Path(path).resolve())


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing is needed before processes start."""
    del path


def justknobs_check(name: str, default: bool = True) -> bool:
    """The answer of a switch that nobody can turn: its default."""
    del name
    return default


def justknobs_getval_int(name: str) -> int:
    """The number of a switch that nobody can turn: 0."""
    del name
    return 0


def signpost_event(category: str, name: str, parameters: dict[str, object]) -> None:
    """Nothing: events are noted at that company only."""
    del category, name, parameters


def log_torchscript_usage(api: str, **kwargs: object) -> None:
    """Nothing, as ``signpost_event``."""
    del api, kwargs
