"""The report of the environment, and modules that exist under PyTorch's paths."""

from __future__ import annotations

import importlib
from datetime import timedelta

import pytest

import jtorch as torch


def test_the_report_names_versions_and_devices(capsys: pytest.CaptureFixture[str]) -> None:
    found = importlib.import_module("jtorch.utils.collect_env")
    found.main()
    text = capsys.readouterr().out
    assert f"namespace of jtorch: {torch.__version__}" in text
    assert "jaxlib==" in text
    assert found.get_env_info().devices


def test_paths_inside_packages() -> None:
    core = importlib.import_module("jtorch.masked.maskedtensor.core")
    assert core.MaskedTensor is torch.masked.MaskedTensor
    comparison = importlib.import_module("jtorch.testing._comparison")
    assert comparison.assert_close is torch.testing.assert_close
    assert comparison.default_tolerances(torch.float16, torch.int64) == (1e-3, 1e-5)
    with pytest.raises(NotImplementedError, match="TensorLikePair is not offered"):
        comparison.TensorLikePair(1, 1)


def test_levels_and_timeouts_of_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    d = torch.distributed
    assert d.default_pg_timeout == d.constants.default_pg_timeout == timedelta(minutes=30)
    monkeypatch.setattr(importlib.import_module("jtorch.distributed.debugging"), "_level", None)
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    assert d.get_debug_level() is d.DebugLevel.DETAIL
    d.set_debug_level(d.DebugLevel.INFO)
    assert str(d.get_debug_level()) == "DebugLevel.INFO"
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(ValueError, match="must be OFF, INFO, or DETAIL"):
        d.set_debug_level_from_env()


def test_what_test_runners_ask_of_the_machine() -> None:
    found = importlib.import_module("jtorch.utils.collect_env")
    assert found.run("echo out; echo err >&2; exit 3") == (3, "out", "err")
    assert found.get_cpu_info(found.run) == found.get_cpu_info()
    answers = {
        "gcc --version": (0, "gcc (Debian 12) 12.2.0", ""),
        "nvidia-smi": (127, "", "not found"),
    }
    assert found.get_gcc_version(answers.get) == "(Debian 12) 12.2.0"
    assert found.get_nvidia_driver_version(answers.get) is None
    assert found.get_gpu_info(found.run) is None or "GPU" in found.get_gpu_info(found.run)
