"""The launcher as a library: a configuration, and what is started with it."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .agent import Agent


@dataclass
class LaunchConfig:
    """How many processes, where they meet, and what happens when one fails; the names are
    PyTorch's.

    Elastic worlds, whose size changes while programs run, are not offered: ``min_nodes`` and
    ``max_nodes`` must be equal.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_dir: str | None = None
    redirects: Any = 0
    tee: Any = 0
    local_ranks_filter: set[int] | None = None
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.min_nodes != self.max_nodes:
            raise NotImplementedError(
                f"torch.distributed.run with {self.min_nodes} to {self.max_nodes} nodes is not "
                "offered by jtorch: worlds do not change their size; name one number of nodes"
            )
        if self.rdzv_backend not in ("static", "c10d"):
            raise NotImplementedError(
                f"torch.distributed.run with the rendezvous backend {self.rdzv_backend!r} is not "
                "offered by jtorch: use c10d or static"
            )
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        self.rdzv_configs.setdefault("timeout", 900)
        self.run_id = self.run_id or str(uuid.uuid4().int)


def launch_agent(
    config: LaunchConfig, entrypoint: str | Callable[..., object] | None, args: list[Any]
) -> dict[int, Any]:
    """Starts this node's processes and waits for them; what each returned (None for commands), by
    rank.

    Raises:
        ChildFailedError: if one fails and no restart is left.
    """
    if not isinstance(entrypoint, str):
        raise NotImplementedError(
            "elastic_launch of a Python function is not offered by jtorch: give a command, or use "
            "torch.multiprocessing.start_processes"
        )
    return Agent(config, [entrypoint, *map(str, args)]).run()


class elastic_launch:
    """``elastic_launch(config, command)(*arguments)`` is ``launch_agent``."""

    def __init__(
        self, config: LaunchConfig, entrypoint: str | Callable[..., object] | None
    ) -> None:
        self._config, self._entrypoint = (
            config,
            sys.executable if entrypoint is None else entrypoint,
        )

    def __call__(self, *args: Any) -> dict[int, Any]:
        """Starts the processes and waits for them."""
        return launch_agent(self._config, self._entrypoint, list(args))
