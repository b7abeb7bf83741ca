"""The agent of a node: starts its processes, watches them, starts them again, ends them."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any

from ..elastic.multiprocessing import SignalException, Std
from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from ..errors import DistError, DistNetworkError
from ..stores import PrefixStore, Store, TCPStore

#: Seconds that a process has between being asked to end and being killed.
_GRACE = 30.0
#: Seconds that an agent waits for others to be through before it closes the store that it holds.
_PARTING = 300.0


class _Worker:
    """One process, and where its output goes."""

    def __init__(
        self, agent: Agent, local_rank: int, rank: int, environment: dict[str, str], folder: str
    ) -> None:
        self.local_rank, self.rank = local_rank, rank
        os.makedirs(folder, exist_ok=True)
        self.error_file = os.path.join(folder, "error.json")
        environment["TORCHELASTIC_ERROR_FILE"] = self.error_file
        self._tails: list[threading.Thread] = []
        self._ended = threading.Event()
        outputs = []
        for std, name, shown in (
            (Std.OUT, "stdout.log", sys.stdout),
            (Std.ERR, "stderr.log", sys.stderr),
        ):
            hidden = agent.filter is not None and local_rank not in agent.filter
            if (
                agent.chosen(agent.redirects, local_rank) & std
                or agent.chosen(agent.tee, local_rank) & std
            ):
                path = os.path.join(folder, name)
                outputs.append(open(path, "wb"))  # noqa: SIM115  (closed once the process has it)
                if agent.chosen(agent.tee, local_rank) & std and not hidden:
                    self._tails.append(
                        threading.Thread(
                            target=self._tail,
                            args=(path, agent.prefix(local_rank, rank), shown),
                            daemon=True,
                        )
                    )
            else:
                outputs.append(open(os.devnull, "wb") if hidden else None)  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                agent.command,
                env=environment,
                stdout=outputs[0],
                stderr=outputs[1],
                start_new_session=True,
            )
        finally:
            for file in outputs:
                if file is not None:
                    file.close()
        for thread in self._tails:
            thread.start()

    def _tail(self, path: str, prefix: str, shown: IO[str]) -> None:
        with open(path, encoding="utf-8", errors="replace") as file:
            while True:
                ended = self._ended.is_set()
                for line in file:
                    shown.write(f"{prefix}{line}")
                shown.flush()
                if ended:
                    return
                self._ended.wait(0.05)

    def finish(self) -> None:
        """Waits for the last of its output."""
        self._ended.set()
        for thread in self._tails:
            thread.join()

    def signal(self, number: int) -> None:
        """Sends a signal to it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, number)


class Agent:
    """Runs ``command`` as ``config`` says."""

    def __init__(self, config: Any, command: list[str]) -> None:
        self.config, self.command = config, command
        self.redirects, self.tee, self.filter = (
            config.redirects,
            config.tee,
            config.local_ranks_filter,
        )
        self.nodes, self.local = config.max_nodes, config.nproc_per_node
        self._workers: list[_Worker] = []
        self._folder = tempfile.mkdtemp(
            prefix=f"{config.run_id[:40]}_", dir=self._made(config.log_dir)
        )

    @staticmethod
    def _made(folder: str | None) -> str | None:
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        return folder

    @staticmethod
    def chosen(setting: object, local_rank: int) -> Std:
        """What a setting says of a local rank."""
        return setting.get(local_rank, Std.NONE) if isinstance(setting, dict) else Std(setting)

    def prefix(self, local_rank: int, rank: int) -> str:
        """What begins each line of output that is shown."""
        template = self.config.log_line_prefix_template or "[${role_name}${local_rank}]:"
        values = {"role_name": self.config.role, "local_rank": local_rank, "rank": rank}
        for name, value in values.items():
            template = template.replace(f"${{{name}}}", str(value))
        return template

    # Meeting the other nodes.

    def _meet(self) -> tuple[TCPStore, int]:
        """The store that all share, and this node's number."""
        config = self.config
        timeout = datetime.timedelta(seconds=float(config.rdzv_configs["timeout"]))
        host, _, port = config.rdzv_endpoint.rpartition(":")
        if not host:
            host, port = (
                config.rdzv_endpoint or "localhost",
                "29500" if config.rdzv_backend == "static" else "29400",
            )
        host = host.strip("[]")
        if config.rdzv_backend == "static":
            rank = int(config.rdzv_configs.get("rank", 0))
            store = TCPStore(host, int(port), None, rank == 0, timeout, wait_for_workers=False)
            return store, rank
        held = config.rdzv_configs.get("is_host")
        own = (
            _is_here(host) if held is None else str(held).lower() in ("1", "true", "t", "yes", "y")
        )
        if own:
            try:
                store = TCPStore(host, int(port), None, True, timeout, wait_for_workers=False)
            except DistNetworkError:  # another agent of this machine holds it
                if held is not None:
                    raise
                store = TCPStore(host, int(port), None, False, timeout, wait_for_workers=False)
        else:
            store = TCPStore(host, int(port), None, False, timeout, wait_for_workers=False)
        number = store.add(f"rendezvous/{config.run_id}/nodes", 1) - 1
        if number >= self.nodes:
            raise RuntimeError(f"the job {config.run_id} has its {self.nodes} nodes already")
        return store, number

    # The life of the processes.

    def run(self) -> dict[int, Any]:
        """Starts the processes and waits for their end.

        Raises:
            ChildFailedError: if one fails and no restart is left.
            SignalException: when the agent is told to end.
        """
        before = {}

        def told(number: int, _: object) -> None:
            raise SignalException(f"Process {os.getpid()} got signal: {number}", number)

        numbers = [
            getattr(signal, name)
            for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
            if hasattr(signal, name)
        ]
        if threading.current_thread() is threading.main_thread():
            before = {number: signal.signal(number, told) for number in numbers}
        try:
            return self._run()
        except SignalException as e:
            self._end(e.sigval)
            raise
        finally:
            self._end(signal.SIGTERM)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run(self) -> dict[int, Any]:
        tcp, node = self._meet()
        shared: Store = PrefixStore(f"agents/{self.config.run_id}", tcp)
        attempt = 0
        while True:
            self._start(tcp, node, attempt)
            failures = self._watch(shared, attempt)
            if failures is None:
                break
            self._end(signal.SIGTERM)
            if attempt >= self.config.max_restarts:
                self._part(shared, tcp, "failed")
                if failures:  # and what became of those that had to end
                    failures |= {
                        rank: failure
                        for rank, failure in self._failures().items()
                        if rank not in failures
                    }
                raise ChildFailedError(self._name(), failures or {node * self.local: _elsewhere()})
            attempt += 1
            sys.stderr.write(
                f"restarting the processes of node {node}: attempt {attempt} of "
                f"{self.config.max_restarts}\n"
            )
            sys.stderr.flush()
        self._part(shared, tcp, "done")
        return dict.fromkeys(worker.rank for worker in self._workers)

    def _name(self) -> str:
        words = self.command[1:]
        while words and words[0] in ("-u", "-m", "jtorch"):
            words = words[1:]
        return words[0] if words else self.command[0]

    def _start(self, tcp: TCPStore, node: int, attempt: int) -> None:
        world = self.nodes * self.local
        self._workers = []
        for local_rank in range(self.local):
            rank = node * self.local + local_rank
            environment = dict(
                os.environ, LOCAL_RANK=str(local_rank), RANK=str(rank), GROUP_RANK=str(node),
                ROLE_RANK=str(rank), ROLE_NAME=self.config.role, LOCAL_WORLD_SIZE=str(self.local),
                WORLD_SIZE=str(world), GROUP_WORLD_SIZE=str(self.nodes), ROLE_WORLD_SIZE=str(world),
                MASTER_ADDR=tcp.host, MASTER_PORT=str(tcp.port),
                TORCHELASTIC_RESTART_COUNT=str(attempt),
                TORCHELASTIC_MAX_RESTARTS=str(self.config.max_restarts),
                TORCHELASTIC_RUN_ID=self.config.run_id, TORCHELASTIC_USE_AGENT_STORE="True",
            )  # fmt: skip
            if self.local > 1:
                environment.setdefault("OMP_NUM_THREADS", "1")
            # programs that read it expect PyTorch's launcher
            environment.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
            folder = os.path.join(self._folder, f"attempt_{attempt}", str(local_rank))
            self._workers.append(_Worker(self, local_rank, rank, environment, folder))

    def _watch(self, shared: Store, attempt: int) -> dict[int, ProcessFailure] | None:
        """None once all have ended well; else those that failed (none of this node's if another
        node's did)."""
        running, alone = list(self._workers), self.nodes == 1
        last = time.monotonic()
        while running:
            for worker in list(running):
                code = worker.process.poll()
                if code is None:
                    continue
                running.remove(worker)
                worker.finish()
                if code != 0:
                    if not alone:
                        shared.set(f"failed/{attempt}", b"")
                    return self._failures()
            if not alone and time.monotonic() - last > 0.5:
                last = time.monotonic()
                try:
                    if shared.check([f"failed/{attempt}"]):
                        return {}
                except DistError as e:
                    raise RuntimeError(
                        f"the agent that holds the store cannot be reached any more: {e}"
                    ) from None
            time.sleep(min(self.config.monitor_interval, 0.1))
        return None

    def _failures(self) -> dict[int, ProcessFailure]:
        time.sleep(0.02)  # those that fail together are reported together
        found = {}
        for worker in self._workers:
            code = worker.process.poll()
            if code:
                found[worker.rank] = ProcessFailure(
                    worker.local_rank, worker.process.pid, code, worker.error_file
                )
        return found

    def _end(self, number: int) -> None:
        for worker in self._workers:
            worker.signal(number)
        told = (
            self.config.shutdown_timeout
            or os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT")
            or _GRACE
        )
        end = time.monotonic() + float(told)
        for worker in self._workers:
            try:
                worker.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.signal(signal.SIGKILL)
                worker.process.wait()
            worker.finish()

    def _part(self, shared: Store, tcp: TCPStore, how: str) -> None:
        """Lets the other agents know, and waits for them where this one holds what they need."""
        if self.nodes > 1:
            with contextlib.suppress(DistError):
                shared.add("parted", 1)
                end = time.monotonic() + (_PARTING if how == "done" else _GRACE)
                while (
                    tcp._server and shared.add("parted", 0) < self.nodes and time.monotonic() < end
                ):
                    time.sleep(0.1)


def _elsewhere() -> ProcessFailure:
    failure = ProcessFailure(-1, -1, 1, "")
    failure.message = "a process of another node has failed: see the output of the agent there"
    return failure


def _is_here(host: str) -> bool:
    """Whether an address is this machine's."""
    if host in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return True
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
        own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return False
    return bool(addresses & own)
