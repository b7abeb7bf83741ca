"""The private names of JAX that collectives between processes stand on, and that nothing of it is
there before it is asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys


def test_private_names_are_there() -> None:
    from jax._src.lib import xla_client
    from jaxlib import _jax

    for name in (
        "get_distributed_runtime_service",
        "get_distributed_runtime_client",
        "make_gloo_tcp_collectives",
    ):
        assert callable(getattr(_jax, name)), name
    for name in ("connect", "shutdown", "key_value_increment", "key_value_try_get"):
        assert callable(getattr(_jax.DistributedRuntimeClient, name)), name
    given = inspect.signature(xla_client.make_cpu_client).parameters
    assert {
        "asynchronous",
        "distributed_client",
        "node_id",
        "num_nodes",
        "collectives",
        "num_devices",
    } <= set(given)
    assert callable(xla_client.batched_device_put) and callable(xla_client.DeviceAssignment.create)
    assert {"num_replicas", "num_partitions", "device_assignment"} <= set(
        dir(xla_client.CompileOptions)
    )
    assert callable(_jax.LoadedExecutable.execute_sharded) and callable(
        _jax.Client.compile_and_load
    )


def test_programs_of_one_process_start_none_of_it() -> None:
    program = """
import sys, threading
import jtorch as torch
from jtorch.nn.parallel import DistributedDataParallel
assert "jtorch.distributed._fabric" not in sys.modules and "jtorch.distributed" not in \
sys.modules, "imported"
import jtorch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
t = torch.ones(2)
dist.all_reduce(t)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
model(t).backward()
dist.destroy_process_group()
assert "jtorch.distributed._fabric" not in sys.modules, "connected"
assert threading.active_count() == 1, threading.enumerate()
print("ok")
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "ok\n"
    )
