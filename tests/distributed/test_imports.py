"""Names of ``torch.distributed`` that libraries import, some of which refuse when they are used."""

import importlib

import pytest

from jtorch.distributed.pipelining import schedules

REAL = """
    pipelining.schedules FORWARD BACKWARD_INPUT BACKWARD_WEIGHT FULL_BACKWARD UNSHARD RESHARD \
SEND_F RECV_B
    pipelining.stage _normalize_model_output_as_tuple
    tensor _DTensorSpec
    _tensor.placement_types DTensorSpec TensorMeta Shard
    distributed_c10d _get_object_coll_device
    _composable.replicate_with_fsdp replicate
    tensor.parallel.ddp _pre_dp_module_transform
"""
REFUSED = """
    _mesh_layout _MeshLayout
    _serialization _streaming_load _streaming_save
    _symmetric_memory _test_mode
    checkpoint.filesystem _write_item
    fsdp._fully_shard._fsdp_init _get_mesh_info
    pipelining.schedules _wait_batch_p2p
    tensor.experimental._attention _PTRRLoadBalancer
"""


def named(text: str) -> list[tuple[str, str]]:
    return [
        (module, name)
        for module, *names in map(str.split, text.strip().splitlines())
        for name in names
    ]


@pytest.mark.parametrize(("module", "name"), named(REAL))
def test_what_is_there(module: str, name: str) -> None:
    assert "Not offered" not in (
        getattr(importlib.import_module(f"jtorch.distributed.{module}"), name).__doc__ or ""
    )


@pytest.mark.parametrize(("module", "name"), named(REFUSED))
def test_what_refuses_when_it_is_used(module: str, name: str) -> None:
    found = getattr(importlib.import_module(f"jtorch.distributed.{module}"), name)
    with pytest.raises(NotImplementedError, match=name):
        found()


def test_constants_of_schedules_are_their_letters() -> None:
    assert (schedules.FORWARD, schedules.FULL_BACKWARD, schedules.UNSHARD) == ("F", "B", "UNSHARD")
