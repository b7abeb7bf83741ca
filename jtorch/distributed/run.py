"""``torchrun``: starts several processes of a program on this machine, as one of the machines of a
job.

``python -m jtorch -m torch.distributed.run --nproc-per-node=2 script.py`` and ``jtorchrun
--nproc-per-node=2 script.py`` are the same.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from typing import Any

from .._src.refusals import stand_ins as _refusals
from .elastic.multiprocessing import Std
from .elastic.multiprocessing.errors import record
from .launcher.api import LaunchConfig, elastic_launch

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "run"]


class _Env(argparse.Action):
    """An option whose default is in the environment, under ``PET_`` and its name."""

    def __init__(self, dest: str, default: object = None, **kwargs: Any) -> None:
        found = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=found, **kwargs)

    def __call__(
        self, parser: object, namespace: object, values: object, option_string: object = None
    ) -> None:
        setattr(namespace, self.dest, values)


class _Flag(argparse.Action):
    """A flag whose default is in the environment, under ``PET_`` and its name."""

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        found = os.environ.get(f"PET_{dest.upper()}")
        super().__init__(
            dest=dest,
            default=default if found is None else found not in ("", "0"),
            nargs=0,
            **kwargs,
        )

    def __call__(
        self, parser: object, namespace: object, values: object, option_string: object = None
    ) -> None:
        setattr(namespace, self.dest, True)


def get_args_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="torchrun", description="Starts several processes of one program.", allow_abbrev=False
    )

    def option(name: str, **kwargs: Any) -> None:
        action = kwargs.pop("action", _Env)
        names = [f"--{name}"] + ([f"--{name.replace('-', '_')}"] if "-" in name else [])
        parser.add_argument(*names, action=action, **kwargs)

    option(
        "nnodes",
        type=str,
        default="1:1",
        help="how many machines: a number, or two equal ones as MIN:MAX",
    )
    option(
        "nproc-per-node",
        type=str,
        default="1",
        help="processes on this machine: a number, auto, cpu or gpu",
    )
    option(
        "rdzv-backend",
        type=str,
        default="static",
        help="how machines find one another: static or c10d",
    )
    option("rdzv-endpoint", type=str, default="", help="HOST:PORT of the store by which they do")
    option("rdzv-id", type=str, default="none", help="the job's name")
    option("rdzv-conf", type=str, default="", help="settings as key=value,key=value")
    option("standalone", action=_Flag, help="one machine, on a port that is free")
    option(
        "max-restarts",
        type=int,
        default=0,
        help="how often processes are started again after one has failed",
    )
    option(
        "monitor-interval", type=float, default=0.1, help="seconds between looks at the processes"
    )
    option(
        "start-method",
        type=str,
        default="spawn",
        choices=["spawn", "fork", "forkserver"],
        help="how functions are started",
    )
    option("event-log-handler", type=str, default="null", help="accepted; there are no event logs")
    option("numa-binding", type=str, default=None, help="not offered")
    option("role", type=str, default="default", help="a name for the processes")
    parser.add_argument(
        "-m",
        "--module",
        action=_Flag,
        dest="module",
        help="the program is a module, as for python -m",
    )
    option("no-python", action=_Flag, help="the program is run as it is, without Python")
    option("run-path", action=_Flag, help="the script is run by runpy.run_path")
    option("log-dir", type=str, default=None, help="where outputs and error files go")
    which = "1 out, 2 err, 3 both, or for each local rank as in 0:3,1:1"
    parser.add_argument(
        "-r",
        "--redirects",
        action=_Env,
        type=str,
        default="0",
        dest="redirects",
        help=f"outputs to files: {which}",
    )
    parser.add_argument(
        "-t",
        "--tee",
        action=_Env,
        type=str,
        default="0",
        dest="tee",
        help="outputs that go to files and here",
    )
    option("local-ranks-filter", type=str, default="", help="whose outputs are shown: 0,1")
    option("duplicate-stdout-filters", type=str, default="", help="not offered")
    option("duplicate-stderr-filters", type=str, default="", help="not offered")
    option("logs-specs", type=str, default=None, help="not offered")
    option("node-rank", type=int, default=0, help="the number of this machine (static)")
    option("master-addr", type=str, default="127.0.0.1", help="the address of machine 0 (static)")
    option(
        "master-port",
        type=int,
        default=None,
        help="a port of machine 0 (static); 29500 if there are several machines",
    )
    option("local-addr", type=str, default=None, help="the address of this machine")
    option(
        "signals-to-handle",
        type=str,
        default="SIGTERM,SIGINT,SIGHUP,SIGQUIT",
        help="accepted; these four are handled",
    )
    option(
        "shutdown-timeout",
        type=int,
        default=None,
        help="seconds that processes have to end before they are killed",
    )
    option("virtual-local-rank", action=_Flag, help="not offered")
    parser.add_argument("training_script", type=str, help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """The least and the largest number of machines that ``--nnodes`` allows.

    Raises:
        RuntimeError: for more than two numbers.
    """
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def get_rdzv_endpoint(args: argparse.Namespace) -> str:
    """Where machines find one another: ``--rdzv-endpoint``, or for ``static`` the address of
    machine 0."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{29500 if args.master_port is None else args.master_port}"
    return args.rdzv_endpoint


def get_use_env(args: argparse.Namespace) -> bool:
    """Whether programs read their local rank from the environment alone."""
    return getattr(args, "use_env", True)


def determine_local_world_size(nproc_per_node: str) -> int:
    """How many processes ``--nproc-per-node`` means.

    Raises:
        ValueError: for something else.
    """
    text = str(nproc_per_node)
    if text.isdigit():
        return int(text)
    cores = os.cpu_count() or 1
    if text == "cpu":
        return cores
    if text in ("gpu", "auto", "xpu"):
        import jtorch as torch

        found = torch.cuda.device_count()
        if text == "auto":
            return found or cores
        if not found:
            raise ValueError("Cuda is not available.")
        return found
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")


def _settings(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, text.split(",")):
        key, equal, value = part.partition("=")
        if not equal:
            raise ValueError(
                "The rendezvous configuration string must be in format "
                f"<key1>=<value1>,...,<keyN>=<valueN>, not {text!r}"
            )
        found[key.strip()] = value.strip()
    return found


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, str, list[str]]:
    """The configuration, the command and its arguments."""
    for name in (
        "numa_binding",
        "duplicate_stdout_filters",
        "duplicate_stderr_filters",
        "logs_specs",
        "virtual_local_rank",
    ):
        if getattr(args, name):
            raise NotImplementedError(
                f"torch.distributed.run --{name.replace('_', '-')} is not offered by jtorch"
            )
    low, high = parse_min_max_nnodes(str(args.nnodes))
    settings = _settings(args.rdzv_conf)
    if args.rdzv_backend == "static":
        settings.setdefault("rank", args.node_rank)
    if args.max_restarts < 0:
        raise ValueError("The max_restarts must be greater than or equal to 0")
    config = LaunchConfig(
        min_nodes=low, max_nodes=high,
        nproc_per_node=determine_local_world_size(args.nproc_per_node), run_id=args.rdzv_id,
        role=args.role, rdzv_endpoint=get_rdzv_endpoint(args), rdzv_backend=args.rdzv_backend,
        rdzv_configs=settings, max_restarts=args.max_restarts,
        monitor_interval=float(args.monitor_interval), start_method=args.start_method,
        log_dir=args.log_dir, redirects=Std.from_str(args.redirects), tee=Std.from_str(args.tee),
        local_ranks_filter={int(r) for r in args.local_ranks_filter.split(",")}
        if args.local_ranks_filter else None,
        log_line_prefix_template=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        local_addr=args.local_addr, shutdown_timeout=args.shutdown_timeout,
    )  # fmt: skip
    if args.no_python:
        if args.module:
            raise ValueError(
                "Don't use both the '--no-python' flag and the '--module' flag at the same time."
            )
        return config, args.training_script, list(args.training_script_args)
    command = ["-u", "-m", "jtorch"]  # `import torch` gives jtorch in the processes, too
    if args.run_path:
        command += [
            "-c",
            (
                "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], "
                "run_name='__main__')"
            ),
        ]
    elif args.module:
        command += ["-m"]
    return (
        config,
        os.environ.get("PYTHON_EXEC", sys.executable),
        [*command, args.training_script, *args.training_script_args],
    )


def _is_alone(args: argparse.Namespace) -> bool:
    """Whether there is one machine, and nobody has said where it is to listen: several such jobs
    run beside each other."""
    return (
        args.rdzv_backend == "static"
        and not args.rdzv_endpoint
        and args.master_port is None
        and parse_min_max_nnodes(str(args.nnodes)) == (1, 1)
    )


def run(args: argparse.Namespace) -> None:
    """Starts what the options say and waits for it."""
    if args.standalone or _is_alone(args):
        args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id = (
            "c10d",
            "localhost:0",
            str(uuid.uuid4()),
        )
    config, command, arguments = config_from_args(args)
    elastic_launch(config, command)(*arguments)


@record
def main(args: list[str] | None = None) -> None:
    """The command ``torchrun``."""
    run(parse_args(args))


if __name__ == "__main__":
    main()


__getattr__ = _refusals.missing(__name__)
