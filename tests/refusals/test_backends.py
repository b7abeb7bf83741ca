"""``torch.backends``: switches of libraries that XLA does not use are remembered, and there is no
more than PyTorch has."""

from __future__ import annotations

import importlib
import inspect

import pytest

import jtorch as torch


def _module(name):
    return importlib.import_module(f"jtorch.backends.{name}")


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("mkldnn", "enabled"),
        ("mkldnn", "deterministic"),
        ("nnpack", "enabled"),
        ("miopen", "immediate"),
    ],
)
def test_switches_are_remembered_in_a_block_and_beyond(name, switch):
    module = _module(name)
    before = getattr(module, switch)
    with module.flags(**{switch: not before}):
        assert getattr(module, switch) is not before
    assert getattr(module, switch) is before
    kept = module.set_flags(**{f"_{switch}": not before})
    assert getattr(module, switch) is not before
    module.set_flags(*kept)
    assert getattr(module, switch) is before
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        module.flags(no_such_switch=True)


def test_modules_have_what_pytorch_has():
    assert str(inspect.signature(_module("miopen").flags)) == "(immediate=False)"
    assert list(inspect.signature(_module("mkldnn").flags).parameters) == [
        "enabled",
        "deterministic",
        "allow_tf32",
        "fp32_precision",
    ]
    assert not hasattr(_module("openmp"), "VERBOSE_ON") and not hasattr(_module("openmp"), "flags")
    for name in ("openmp", "mkl", "mkldnn", "nnpack", "kleidiai"):
        assert _module(name).is_available() is False
    with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_OFF):
        pass


def test_frozen_switches_are_set_in_blocks_only(monkeypatch):
    from jtorch.backends import _flags

    assert not torch.backends.flags_frozen()
    monkeypatch.setattr(_flags, "_frozen", False)  # is put back
    torch.backends.disable_global_flags()
    assert torch.backends.flags_frozen()
    for name, switch in (("cudnn", "deterministic"), ("mkldnn", "enabled")):
        module = _module(name)
        before = getattr(module, switch)
        with pytest.raises(
            RuntimeError,
            match=f"not allowed to set torch.backends.{name} flags after disable_global_flags",
        ):
            setattr(module, switch, True)
        with module.flags(**{switch: True}):
            assert getattr(module, switch)
        assert getattr(module, switch) is before
        with getattr(torch.backends, "__allow_nonbracketed_mutation")():
            setattr(module, switch, before)
