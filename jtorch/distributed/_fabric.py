"""An XLA client of its own for a set of processes, whose collectives go over gloo. The only module
that knows JAX's private names for this.

JAX's default client never hears of it: it stays a client of one process, so that what jtorch
compiles and keeps on disk is the same in any world. A fabric is made, closed and made again in one
process, for any set of them.

The coordination service of JAX's distributed runtime serves to introduce the processes to each
other and is closed once they are connected: its clients end their process with SIGABRT when the
service is lost, so that nobody may depend on it while programs run. From then on a peer that ends
is an error that the collective raises.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from . import _programs

#: Seconds without a heartbeat after which the service would give a process up: never.
_NEVER = 1 << 30


def free_port(host: str) -> int:
    """A port that nobody listens on."""
    with socket.socket() as s:
        s.bind((host, 0))
        return s.getsockname()[1]


class Fabric:
    """The connections of one process to the others of a set.

    Args:
        rank: this process's place in the set.
        size: how many there are.
        host: the address by which the others reach this process.
        publish: tells the others where the service is (called in the first process).
        learn: gives what was published (called in the others).
        timeout: seconds that connecting may take.
        row: bytes that are exchanged to connect; the program for so many is then there.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        host: str,
        publish: Callable[[str], None],
        learn: Callable[[], str],
        timeout: float,
        row: int = 8,
    ) -> None:
        from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
        from jaxlib import _jax

        self.rank, self.size = rank, size
        self._xla = xla_client
        seconds = max(1, int(timeout))
        service, where = None, ""
        if rank == 0:
            where = f"{host}:{free_port(host)}"
            service = _jax.get_distributed_runtime_service(
                where, size, heartbeat_timeout=_NEVER, shutdown_timeout=1, recoverable=True
            )
            publish(where)
        client = _jax.get_distributed_runtime_client(
            where or learn(), rank, init_timeout=seconds, shutdown_timeout=1,
            heartbeat_timeout=_NEVER, shutdown_on_destruction=False, use_compression=False,
        )  # fmt: skip
        client.connect()
        with _yielding():
            gloo = _jax.make_gloo_tcp_collectives(distributed_client=client, hostname=host)
        self._client = xla_client.make_cpu_client(
            asynchronous=False,
            distributed_client=client,
            node_id=rank,
            num_nodes=size,
            collectives=gloo,
            num_devices=1,
        )
        self._device = self._client.local_devices()[0]
        self._sharding = jax.sharding.SingleDeviceSharding(self._device)
        devices = sorted(self._client.devices(), key=lambda d: d.process_index)
        self._order = np.array([[d.id] for d in devices])
        self._devices = devices
        self._kept = {}
        before = _open_sockets()
        # connects all with all, which later programs find done
        self.exchange(np.zeros((size, row), np.uint8))
        self._sockets = {
            fd: inode for fd, inode in _open_sockets().items() if before.get(fd) != inode
        }
        # All have to be through before the service goes.
        client.key_value_increment("connected", 1)
        if service is not None:
            end = time.monotonic() + timeout
            while int(client.key_value_try_get("connected")) < size and time.monotonic() < end:
                time.sleep(0.0005)
        client.shutdown()
        if service is not None:
            service.shutdown()

    def abort(self) -> None:
        """Ends the connections: what waits for a peer, here and there, fails at once.

        XLA has no call for it. A thread that waited on could only come back when the interpreter
        ends, which would abort the process.
        """
        now = _open_sockets()
        for fd, inode in self._sockets.items():
            if now.get(fd) == inode:
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as s:
                    s.shutdown(socket.SHUT_RDWR)

    def _program(self, text: Callable[..., str], *key: object) -> Any:
        found = self._kept.get((text, key))
        if found is None:
            options = self._xla.CompileOptions()
            options.num_replicas, options.num_partitions = self.size, 1
            options.device_assignment = self._xla.DeviceAssignment.create(self._order)
            found = self._kept[text, key] = self._client.compile_and_load(
                text(self.size, *key), self._devices, options
            )
        return found

    def _run(self, program: Any, array: np.ndarray) -> np.ndarray:
        aval = jax.core.ShapedArray(array.shape, array.dtype)
        given = self._xla.batched_device_put(aval, self._sharding, [array], [self._device], True)
        return np.asarray(
            program.execute_sharded([given]).disassemble_into_single_device_arrays()[0][0]
        )

    def gather(self, row: np.ndarray) -> np.ndarray:
        """The processes' bytes ``(1, size)`` in rows ``(processes, size)``."""
        return self._run(self._program(_programs.gather, row.shape[1]), row)

    def exchange(self, rows: np.ndarray) -> np.ndarray:
        """Row ``i`` of each process's bytes ``(processes, size)``, for process ``i``."""
        return self._run(self._program(_programs.exchange, rows.shape[1]), rows)

    def swap(self, data: np.ndarray) -> np.ndarray:
        """The bytes of the other one of two processes."""
        return self._run(self._program(_programs.swap, data.shape[0]), data)

    def combine(self, vector: np.ndarray, operation: str) -> np.ndarray:
        """The processes' vectors, combined."""
        return self._run(
            self._program(_programs.combine, vector.shape[0], vector.dtype.name, operation), vector
        )


@contextlib.contextmanager
def _yielding() -> Iterator[None]:
    """A block in which new threads get a policy by which they do not interrupt others when there is
    something for them to do.

    Gloo's thread is told of a message that has come while its sender still holds a lock. If it took
    the sender's processor, it would ask for the lock of its own connection, which another sender
    holds who waits for a processor, again and again: milliseconds, at both ends.
    """
    batch, before = getattr(os, "SCHED_BATCH", None), None
    with contextlib.suppress(OSError, AttributeError):
        if batch is not None and os.sched_getscheduler(0) == os.SCHED_OTHER:  # of this thread
            os.sched_setscheduler(0, batch, os.sched_param(0))
            before = os.SCHED_OTHER
    try:
        yield
    finally:
        if before is not None:
            os.sched_setscheduler(0, before, os.sched_param(0))


def _open_sockets() -> dict[int, int]:
    """The process's sockets, as descriptor and inode; none where the system does not tell."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                facts = os.fstat(int(name))
                if stat.S_ISSOCK(facts.st_mode):
                    found[int(name)] = facts.st_ino
    return found


@functools.cache
def own_address(peer: str | None, port: int) -> str:
    """The address by which processes that reach ``peer`` reach this one; that of
    ``GLOO_SOCKET_IFNAME`` if it is set."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            if interface:
                import fcntl

                # SIOCGIFADDR
                found = fcntl.ioctl(
                    s.fileno(), 0x8915, struct.pack("256s", interface.encode()[:15])
                )
                return socket.inet_ntoa(found[20:24])
            # sends nothing: it chooses the interface
            s.connect((peer or socket.gethostname(), port or 1))
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.1"
