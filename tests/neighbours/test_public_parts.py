"""Names of public modules that few programs use: they are there, or refuse when they are used."""

from __future__ import annotations

import importlib
import sys

import pytest

import jtorch as torch


def test_settings_of_the_compiler_are_one_module() -> None:
    config = importlib.import_module("jtorch.compiler.config")
    assert config is torch.compiler.config is torch._dynamo.config
    with config.patch(job_id="run 7", recompile_limit=3):
        assert (config.job_id, torch._dynamo.config.recompile_limit) == ("run 7", 3)
    assert (config.job_id, config.recompile_limit, config.force_disable_caches) == (None, 8, False)


def test_programs_that_may_not_be_made_again() -> None:
    config, exc = torch._dynamo.config, importlib.import_module("jtorch._dynamo.exc")
    with config.patch(error_on_recompile=True):
        f = torch.compile(lambda x, n: x * len(n))
        assert [f(torch.ones(1), "ab").item() for _ in range(3)] == [2, 2, 2]
        with pytest.raises(exc.RecompileError, match="Recompiling function"):
            f(torch.ones(2), "ab")
    with config.patch(recompile_limit=2, fail_on_recompile_limit_hit=True):
        g = torch.compile(lambda x, n: x * len(n))
        with pytest.raises(exc.FailOnRecompileLimitHit, match="fail_on_recompile_limit_hit"):
            for n in range(5):
                g(torch.ones(1), "a" * n)
    assert f(torch.ones(2), "ab").tolist() == [2, 2]


def test_operators_that_selective_checkpoints_never_keep() -> None:
    from jtorch.utils.checkpoint import SAC_IGNORED_OPS

    aten = torch.ops.aten
    assert {
        aten.detach.default,
        aten.sym_size.default,
        torch.ops.prim.device.default,
    } <= SAC_IGNORED_OPS
    assert aten.mm.default not in SAC_IGNORED_OPS
    assert SAC_IGNORED_OPS is torch.utils.checkpoint.SAC_IGNORED_OPS


def test_checkpoints_that_are_told_to_keep_no_log() -> None:
    checkpoint = torch.utils.checkpoint
    x = torch.ones(2, requires_grad=True)
    with checkpoint.set_checkpoint_debug_enabled(False):
        checkpoint.checkpoint(torch.sin, x, use_reentrant=False, debug=True).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.ones(2).cos())
    with (
        checkpoint.set_checkpoint_debug_enabled(None),
        pytest.raises(NotImplementedError, match="keeps no log"),
    ):
        checkpoint.checkpoint(torch.sin, x, use_reentrant=False, debug=True)
    with (
        pytest.raises(NotImplementedError, match="keeps no log"),
        checkpoint.set_checkpoint_debug_enabled(True),
    ):
        pass


def test_device_type_of_checkpoints() -> None:
    kind = torch.utils.checkpoint.DefaultDeviceType
    before = kind.get_device_type()
    kind.set_device_type("tpu")
    assert kind.get_device_type() == "tpu"
    kind._chosen = None
    assert kind.get_device_type() == before


def test_blocks_of_autocast_around_functions() -> None:
    from jtorch.amp.autocast_mode import autocast_decorator

    product = autocast_decorator(torch.autocast("cpu", torch.bfloat16), lambda a: a @ a)
    assert product(torch.ones(2, 2)).dtype is torch.bfloat16
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def test_the_first_tensor_of_containers() -> None:
    from jtorch.nn.parallel.parallel_apply import get_a_var

    x = torch.ones(1)
    assert get_a_var([3, {"a": (None, x)}, torch.zeros(1)]) is x
    assert get_a_var([1, "x"]) is None


def test_a_function_for_each_of_many_tensors() -> None:
    foreach_map = importlib.import_module("jtorch._higher_order_ops.foreach_map").foreach_map
    x, y = torch.ones(2), torch.zeros(1)
    assert [t.tolist() for t in foreach_map(torch.add, [x, y], (y, x), alpha=3)] == [[1, 1], [3, 3]]
    assert [t.tolist() for t in foreach_map(torch.add, [x, y], 2)] == [[3, 3], [2]]
    assert foreach_map(torch.sin, []) == []
    for wrong in (([x], [x, y]), (x,)):
        with pytest.raises(ValueError, match="lists of one length"):
            foreach_map(torch.add, *wrong)


def test_asking_for_a_module_whose_packages_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [n for n in sys.modules if n.startswith("jtorch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(torch.utils), "tensorboard", raising=False)
    assert not hasattr(torch.utils, "tensorboard")
    with pytest.raises(ModuleNotFoundError, match="tensorboard"):
        importlib.import_module("jtorch.utils.tensorboard")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ao.quantization.quantize_fx", "_convert_to_reference_decomposed_fx"),
        ("quantization.quantize_jit", "convert_jit"),
        ("ao.quantization.fx._equalize", "EqualizationQConfig"),
        ("ao.pruning.sparsifier.weight_norm_sparsifier", "WeightNormSparsifier"),
        ("utils.benchmark", "Fuzzer"),
        ("utils.benchmark.utils.fuzzer", "FuzzedTensor"),
        ("export", "CustomDecompTable"),
        ("profiler", "ExecutionTraceObserver"),
    ],
)
def test_names_that_refuse_when_they_are_used(module: str, name: str) -> None:
    found = getattr(importlib.import_module(f"jtorch.{module}"), name)
    with pytest.raises(NotImplementedError, match=f"{name}.* is not offered by jtorch"):
        found()
