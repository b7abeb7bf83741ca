"""Lightning starts the other processes of a script by its path: here they begin as the first one
does, with ``python -m jtorch``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType


def adapt(module: ModuleType) -> None:
    """Has the module's commands start jtorch, which starts the script."""
    command_of, command_of_hydra = module._basic_subprocess_cmd, module._hydra_subprocess_cmd

    def _basic_subprocess_cmd() -> Sequence[str]:
        interpreter, *rest = command_of()
        return [interpreter, "-m", "jtorch", *rest]

    def _hydra_subprocess_cmd(local_rank: int) -> tuple[Sequence[str], str]:
        (interpreter, *rest), folder = command_of_hydra(local_rank)
        return [interpreter, "-m", "jtorch", *rest], folder

    module._basic_subprocess_cmd = _basic_subprocess_cmd
    module._hydra_subprocess_cmd = _hydra_subprocess_cmd
