"""The small namespaces about devices, backends and compilation, as they are without an
accelerator."""

from __future__ import annotations

import io

import pytest

import jtorch as torch

cpu_only = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")


@cpu_only
def test_no_gpu():
    assert torch.cuda.device_count() == 0
    assert torch.cuda.memory_allocated() == 0
    assert torch.accelerator.current_accelerator() is None
    torch.cuda.empty_cache()
    torch.cuda.manual_seed_all(1)
    with torch.cuda.device(None):
        pass
    for refused in (
        torch.cuda.current_device,
        torch.cuda.synchronize,
        torch.cuda.Stream,
        torch.cuda.get_device_properties,
    ):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            refused()
    with pytest.raises(NotImplementedError, match="CUDA graphs"):
        torch.cuda.CUDAGraph()


def test_switches_of_backends():
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        assert torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.benchmark
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.mkl.is_available()
    assert not torch.xpu.is_available()


def test_compile_takes_modes():
    def f(x):
        return x + 1

    for compiled in (
        torch.compile(f, mode="reduce-overhead", fullgraph=True),
        torch.compile(dynamic=True)(f),
    ):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(f, mode="fast")
    assert not torch.compiler.is_compiling()


def test_jit_runs_python():
    @torch.jit.script
    def f(x):
        return x + 1

    assert f(torch.ones(1)).item() == 2
    assert torch.jit.trace(f, (torch.ones(1),)) is f
    assert not torch.jit.is_scripting()
    buffer = io.BytesIO()
    torch.jit.save(f, buffer)
    buffer.seek(0)
    assert torch.jit.load(buffer)(torch.ones(1)).item() == 2


def test_group_of_one_process():
    dist = torch.distributed
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        t, out = torch.arange(2.0), [torch.zeros(2)]
        dist.all_reduce(t)
        dist.all_gather(out, t)
        assert out[0].tolist() == [0, 1]
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        model(t).sum().backward()
        assert model.module.bias.grad.item() == 1
        with pytest.raises(RuntimeError, match="invalid root rank: 1"):
            dist.broadcast(t, src=1)
        with pytest.raises(ValueError, match="not part of group"):
            dist.send(t, dst=1)
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_what_attention_could_use():
    q = torch.ones(1, 2, 3, 4)
    params = torch.backends.cuda.SDPAParams(q, q, q + 1, None, 0, False, True)
    assert params.query is q
    assert (params.attn_mask, params.dropout, params.is_causal, params.enable_gqa) == (
        None,
        0.0,
        False,
        True,
    )
    for asked in ("flash", "efficient", "cudnn"):
        assert getattr(torch.backends.cuda, f"can_use_{asked}_attention")(params, True) is False
    with pytest.raises(AttributeError, match="no setter"):
        params.dropout = 0.5
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False)
