"""PyTorch's compiler, whose place XLA takes: the marks and questions that programs put around
it."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import os
from typing import Any, BinaryIO

import jtorch as torch

from .._src.facts.errors import not_offered
from .._src.refusals import stand_ins as _refusals

#: Settings that ask for something else in the file than a program.
_OTHER_FILES = {
    f"aot_inductor.{name}"
    for name in (
        "package_cpp_only",
        "package_constants_on_disk_format",
        "cross_target_platform",
        "output_path",
    )
}


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: XLA reuses no memory that a program still holds."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, object]:
    """The options of each mode of ``torch.compile``: none, as XLA decides by itself."""
    modes: dict[str, Any] = {
        "default": {},
        "lite": {},
        "reduce-overhead": {},
        "max-autotune-no-cudagraphs": {},
        "max-autotune": {},
    }
    return modes[mode] if mode else modes


def list_options() -> list[str]:
    """The options of ``torch.compile``'s compiler: none."""
    return []


def aoti_compile_and_package(
    exported_program: torch.export.ExportedProgram,
    _deprecated_unused_args: object = None,
    _deprecated_unused_kwargs: object = None,
    *,
    package_path: str | os.PathLike[str] | BinaryIO | None = None,
    inductor_configs: dict[str, Any] | None = None,
) -> Any:
    """Writes an exported program to a file (``.pt2``) that ``aoti_load_package`` reads, and gives
    its path.

    The file holds the program as ``torch.export.save`` writes it: XLA compiles it where it is
    called. Of ``inductor_configs`` ``"aot_inductor.package_constants_in_so"`` counts: where it is
    False, parameters, buffers and constants are left out; and ``"aot_inductor.metadata"``, which
    ``get_metadata`` tells. Others are PyTorch's choices between ways to the same numbers.

    Raises:
        ValueError: if it is no exported program.
        AttributeError: for settings that PyTorch's compiler does not have.
        NotImplementedError: for those that ask for sources, or for code of another machine.

    Differs from torch: neither reads files of the other.
    """
    if not isinstance(exported_program, torch.export.ExportedProgram):
        raise ValueError("Only ExportedProgram is supported")
    configs = inductor_configs or {}
    for name in configs:
        found: Any = torch._inductor.config
        for part in name.split("."):
            if not hasattr(found, part):
                raise AttributeError(f"torch._inductor.config.{name} does not exist")
            found = getattr(found, part)
        if name in _OTHER_FILES and configs[name] != found:
            raise not_offered(
                f"aoti_compile_and_package with {name}", "no code is made that could be put there"
            )
    return torch._inductor.package.package.package_program(
        exported_program,
        package_path,
        configs.get("aot_inductor.package_constants_in_so", True),
        configs.get("aot_inductor.metadata", {}),
    )


def aoti_load_package(
    path: str | os.PathLike[str] | BinaryIO,
    run_single_threaded: bool = False,
    device_index: int = -1,
) -> Any:
    """The program in a file that ``aoti_compile_and_package`` wrote, to be called as the module
    was: a ``torch._inductor.package.AOTICompiledModel``."""
    return torch._inductor.package.load_package(
        path, "model", run_single_threaded, device_index=device_index
    )


__getattr__ = _refusals.missing(__name__)
