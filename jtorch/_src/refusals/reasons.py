"""Why names of PyTorch are left out, where several files of names say so."""

from __future__ import annotations

SHARDED = (
    "it is a part of PyTorch's older sharded tensors or of what FSDP is made of; use DTensor and "
    "fully_shard"
)
CUT = (
    "models are not cut into stages by tracing them; write the stages as modules and use "
    "PipelineStage"
)
SYMMETRIC = (
    "processes do not write into each other's memory; collectives of XLA do it where they can"
)
PROCESSES = (
    "it is a part of PyTorch's process groups in C++, whose place one engine takes, the "
    "collectives of XLA"
)
LAUNCHER = (
    "the launcher is a program, jtorchrun, whose inner parts are its own; "
    "torch.multiprocessing.spawn starts processes from a program"
)
CHECKPOINT = (
    "checkpoints are folders of what torch.save writes; use FileSystemWriter and FileSystemReader"
)
RECORDER = (
    "it reads what NCCL's flight recorder has written; collectives are XLA's here, and their "
    "errors name operation, group and ranks"
)
EXPORT = "it is a part of PyTorch's exporter beyond torch.export.export, save and load"
QUANTISATION = (
    "it belongs to quantisation beyond prepare, convert, quantize_dynamic and their layers: use "
    "those of torch.ao.quantization, or jtorch.wrappers.quantized.quantize_"
)
TORCHSCRIPT = "there is no TorchScript, nor its graphs; torch.fx traces functions"
COMPILER = "it is a part of PyTorch's compiler, whose place XLA takes"
DISPATCH = "it is a part of PyTorch's C++ dispatcher, which is not there"
FUNCTIONALIZATION = (
    "it is a part of PyTorch's functionalisation: arrays are immutable underneath anyway"
)
FUNCTORCH = "it is a part of PyTorch's own function transforms; torch.func maps onto JAX's"
PROXY = "it is a part of PyTorch's tracer of operators; use torch.fx.symbolic_trace"
RPC = "there are no remote procedure calls between processes; use Python's own, or jax.distributed"
PROFILER = "operations are fused, so that single ones have no times; use jax.profiler"
GRAPHS = "XLA makes CUDA graphs of its programs by itself"
CUDA = "JAX drives the GPU by itself"
FILE = "it reads PyTorch's archives piece by piece; use torch.load"
PIPES = "pipes of data frames, and types of pipes, are left out; use pandas in functions of pipes"
SYMBOLIC = "it is a part of PyTorch's reasoning about symbolic sizes"
FAKE = "it is a part of PyTorch's fake tensors; use FakeTensorMode"
MM = (
    "it multiplies scaled or packed integers in one CUDA kernel; scale in the program and use "
    "matmul"
)
SELECTIVE = "graph executions have no groups here; checkpoint with use_reentrant=False"
PER_SAMPLE = (
    "it keeps gradients of single examples in .grad_sample; use torch.func.vmap of torch.func.grad"
)
NUMA = "processes are not bound to memory nodes here; use numactl"
TWO_IN_FOUR = "XLA has no kernels for two-in-four sparsity"
