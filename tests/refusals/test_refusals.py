"""What is left out can be imported, and says so when it is used."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import textwrap
from types import ModuleType
from typing import Any

import pytest

import jtorch as torch
from jtorch._src.refusals import names as _refused
from jtorch._src.refusals import stand_ins as _refusals

LISTED = [
    (module, name)
    for module, names in _refused.names().items()
    for name in names
    if not module.startswith("ops.")
]


def holder(module: str) -> ModuleType:
    return importlib.import_module(f"jtorch.{module}" if module else "jtorch")


@pytest.mark.filterwarnings("ignore")  # some modules are deprecated in torch
@pytest.mark.parametrize("module", sorted({module for module, _ in LISTED}))
def test_every_name_of_the_list_is_refused(module: str) -> None:
    where = holder(module)
    for name in _refused.names()[module]:
        found, path = getattr(where, name), f"torch.{module}.{name}" if module else f"torch.{name}"
        with pytest.raises(
            NotImplementedError,
            match=f"^{path.replace('.', chr(92) + '.')} is not offered by jtorch: ",
        ):
            found()
        if isinstance(found, type):
            assert not isinstance(torch.ones(1), found)
            assert found[int] is not None  # type: ignore[index]  (generic in annotations)
            sub = type("Sub", (found,), {})
            with pytest.raises(
                NotImplementedError, match=f"Sub, a subclass of {path}, is not offered"
            ):
                sub()
        # nothing that is offered is in the list
        assert name not in vars(where) or vars(where)[name] is found


@pytest.mark.parametrize("module", sorted(_refused.modules()))
@pytest.mark.filterwarnings("ignore")
def test_every_module_of_the_list_can_be_imported(module: str) -> None:
    found = importlib.import_module(f"jtorch.{module}")
    assert found.__doc__
    if "symbolic_" in module:  # these refuse whatever they are asked for
        return
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = found.no_such_name


def test_names_of_one_module_under_another() -> None:
    fsdp = importlib.import_module("jtorch.distributed.fsdp")
    assert (
        importlib.import_module("jtorch.distributed._composable.fsdp").FSDPModule is fsdp.FSDPModule
    )
    assert (
        importlib.import_module(
            "jtorch.distributed.fsdp.fully_sharded_data_parallel"
        ).ShardingStrategy
        is fsdp.ShardingStrategy
    )
    for module, other in _refused.same().items():
        assert holder(module) is not holder(other)


def test_static_methods_of_classes() -> None:
    from jtorch._subclasses.meta_utils import MetaConverter

    with pytest.raises(NotImplementedError, match=r"MetaConverter\.meta_tensor is not offered"):
        MetaConverter.meta_tensor(None)
    assert not hasattr(MetaConverter, "no_such_method")


def test_what_nobody_has_decided_about_is_an_attribute_error() -> None:
    for name in ("npu", "hpu", "no_such_name"):
        assert not hasattr(torch, name)
    with pytest.raises(ModuleNotFoundError, match=r"jtorch\.no_such_module"):
        importlib.import_module("jtorch.no_such_module")
    assert _refusals.Finder.find_spec("elsewhere.distributed.fsdp") is None


def test_operators_of_the_list() -> None:
    with pytest.raises(
        NotImplementedError, match=r"torch.ops.aten._foreach_div.Scalar is not offered"
    ):
        torch.ops.aten._foreach_div.Scalar([torch.ones(2)], 2)
    assert not hasattr(torch.ops.aten, "no_such_operator")


PROGRAM = """
    import sys
    sys.path[:0] = [{root!r}]
    import jtorch
    loaded = {{"jtorch.multiprocessing", "jtorch._src.refusals.names", "jtorch.futures", \
"jtorch.utils.data"}} & set(sys.modules)
    assert not loaded, loaded
    jtorch.install()
    import torch, torch.nn.functional as F
    assert torch.__name__ == "torch" and F.__name__ == "torch.nn.functional", (torch.__name__, \
F.__name__)
    from torch.storage import TypedStorage, UntypedStorage
    from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel, \
MixedPrecision
    from torch._C._nn import _parse_to
    from torch.jit.annotations import BroadcastingList2, List
    import torch.onnx._internal.torchscript_exporter.symbolic_helper as helper
    import torch.utils.model_zoo, torch.multiprocessing as mp, torch.quasirandom, torch.classes
    from torch.profiler import kineto_available
    assert kineto_available() and torch.hub.load_state_dict_from_url is \
torch.utils.model_zoo.load_url
    assert torch.GradScaler is torch.amp.GradScaler and torch.classes.__path__ == []
    assert issubclass(torch.jit.TracerWarning, Warning) and \
mp.get_context("spawn").get_start_method() == "spawn"
    try:
        import torch.no_such_module
    except ModuleNotFoundError as error:
        assert error.name == "torch.no_such_module"
    try:
        from torch.nn import no_such_name
    except ImportError as error:
        assert "'torch.nn'" in str(error), error
    try:
        torch.classes.some.Thing
    except RuntimeError as error:
        assert "class 'some.Thing', but it does not exist" in str(error)
    print("done")
"""


def test_decorators_of_packages_refuse_only_calls() -> None:
    from jtorch.distributed.rpc import api

    assert not torch._C._distributed_rpc._is_current_rpc_agent_set()  # type: ignore[attr-defined]

    @api._require_initialized
    def remote() -> None:
        raise AssertionError("it must not run")

    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        remote()


def test_under_torchs_name() -> None:
    root = str(importlib.import_module("pathlib").Path(torch.__file__).parent.parent)
    program = textwrap.dedent(PROGRAM.format(root=root))
    found: Any = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert found.stdout == "done\n", found.stderr


@pytest.mark.parametrize(
    ("module", "name", "why"),
    [
        ("distributed.flight_recorder.fr_trace", "main", "flight recorder"),
        ("distributed.flight_recorder.components.types", "Op", "flight recorder"),
        ("distributed.rpc.functions", "async_execution", "remote procedure calls"),
        ("distributed.rpc.internal", "PythonUDF", "remote procedure calls"),
        ("distributed._shard.sharded_tensor", "zeros", "DTensor"),
        (
            "distributed._shard.sharding_spec.chunk_sharding_spec_ops.embedding",
            "sharded_embedding",
            "DTensor",
        ),
        ("distributed.elastic.rendezvous.etcd_server", "EtcdServer", "launcher"),
        ("distributed.elastic.utils.data", "ElasticDistributedSampler", "launcher"),
    ],
)
def test_parts_of_distributed_programs_can_be_imported(module: str, name: str, why: str) -> None:
    found = getattr(importlib.import_module(f"jtorch.{module}"), name)
    with pytest.raises(NotImplementedError, match=why):
        found()


def test_names_of_distributed_modules_in_other_places() -> None:
    for path, name, home in (
        ("_shard.checkpoint.state_dict", "get_state_dict", "checkpoint.state_dict"),
        ("_shard.checkpoint", "save", "checkpoint"),
        ("optim.functional_adamw", "_FunctionalAdamW", "optim.utils"),
        (
            "elastic.multiprocessing.errors.error_handler",
            "ErrorHandler",
            "elastic.multiprocessing.errors",
        ),
    ):
        there = (
            importlib.import_module(f"jtorch.distributed.{path}"),
            importlib.import_module(f"jtorch.distributed.{home}"),
        )
        assert getattr(there[0], name) is getattr(there[1], name), path
    logger = importlib.import_module("jtorch.distributed.elastic.utils.logging").get_logger()
    assert logger.name == __name__


@pytest.mark.parametrize(
    "path",
    [
        "torch._inductor.compile_fx",
    ],
)
def test_functions_refuse_when_the_module_of_their_name_was_imported(path: str) -> None:
    importlib.import_module(path.replace("torch.", "jtorch.", 1))
    parent, _, name = path.rpartition(".")
    with pytest.raises(NotImplementedError, match=f"^{re.escape(path)} is not offered by jtorch"):
        getattr(holder(parent.removeprefix("torch.")), name)()


@pytest.mark.parametrize("name", ["_saturate_weight_to_fp16"])
def test_private_quantisation_is_refused_by_name(name: str) -> None:
    with pytest.raises(
        NotImplementedError, match=f"torch.{name} is not offered by jtorch: it belongs"
    ):
        getattr(torch, name)(torch.ones(2))


def test_modules_of_python_that_namespaces_show() -> None:
    """Programs write ``torch.math.sqrt`` and ``torch.os.path``, since PyTorch's own files import
    these modules."""
    import math
    import os

    assert torch.math is math
    assert torch.os is os
    assert torch.nn.functional.math is math
    assert not hasattr(torch, "decimal")
    with pytest.raises(
        AttributeError, match=r"^module 'torch.nn.functional' has no attribute 'decimal'$"
    ):
        _ = torch.nn.functional.decimal


def test_rules_about_passes() -> None:
    """One pass must not stand behind another; what gives no result of a pass is made one."""
    from jtorch.fx.passes.infra.pass_base import PassResult
    from jtorch.fx.passes.infra.pass_manager import (
        PassManager,
        pass_result_wrapper,
        this_before_that_pass_constraint,
    )

    def first(module: object) -> object:
        return module

    def second(module: object) -> None:
        del module

    rule = this_before_that_pass_constraint(first, second)
    PassManager([first, second], [rule]).validate_constraints()
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        PassManager([second, first], [rule]).validate_constraints()
    module = torch.fx.symbolic_trace(torch.nn.ReLU())
    for function in (first, second):
        wrapped = pass_result_wrapper(function)
        assert wrapped is not None
        assert wrapped(module) == PassResult(module, True)


def test_gradients_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """One line for a backward pass."""
    from jtorch.utils.debug_log import debug_grad_log

    x, y = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    debug_grad_log(x, torch.ones(1), y)
    with caplog.at_level("INFO", logger="torch.utils.debug_log"):
        (x.sum() + y.square().sum()).backward()
    assert [record.getMessage() for record in caplog.records] == [
        "[rank 0][bwd] t0_grad_norm=1.7321 t1_grad_norm=2.8284"
    ]
