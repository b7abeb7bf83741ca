"""Run by ``test_several_devices.py`` in a process of its own that has eight devices: many small
programs in a row, nothing waited for."""

import sys

import jax
from jax.sharding import AxisType, PartitionSpec

import jtorch as torch

MESH = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))

x = torch.shard(torch.ones(1024, 64), MESH, PartitionSpec("d"))
for i in range(1500):
    x = x / (x.sum() + 1) * 65536 if i % 3 == 0 else x + 1
    x.jax()  # has the program launched in deferred execution, too
sys.stdout.write(f"{x.isfinite().all().item()}\n")
