"""PyTorch's names and modules that are left out, but for the functions and methods of ``refusals/functions.py``, with reasons.

A line is ``module: names`` (``torch`` itself has none before the colon). Names in capitals are classes, with their static methods in
parentheses, others functions.
"""

from __future__ import annotations

import functools

_SHARDED = "tensors spread over processes are not offered; collectives and DistributedDataParallel are"
_COUNTS = "layouts are not drawn; DTensor.placements says how a tensor lies"
_SYMMETRIC = "processes do not write into each other's memory; collectives of XLA do it where they can"
_PROCESSES = "it is a part of PyTorch's process groups in C++, whose place one engine takes, the collectives of XLA"
_CHECKPOINT = "checkpoints are folders of what torch.save writes; use FileSystemWriter and FileSystemReader"
_EXPORT = "it is a part of PyTorch's exporter beyond torch.export.export, save and load"
_QUANTISATION = "quantised tensors are left out; jtorch.wrappers.quantized.quantize_ keeps the weights of linear layers in 8 or 4 bits"
_TORCHSCRIPT = "there is no TorchScript, nor its graphs; torch.fx traces functions"
_COMPILER = "it is a part of PyTorch's compiler, whose place XLA takes"
_DISPATCH = "it is a part of PyTorch's C++ dispatcher, which is not there"
_FUNCTIONALIZATION = "it is a part of PyTorch's functionalisation: arrays are immutable underneath anyway"
_FUNCTORCH = "it is a part of PyTorch's own function transforms; torch.func maps onto JAX's"
_PROXY = "it is a part of PyTorch's tracer of operators; use torch.fx.symbolic_trace"
_RPC = "there are no remote procedure calls between processes; use Python's own, or jax.distributed"
_PROFILER = "operations are fused, so that single ones have no times; use jax.profiler"
_GRAPHS = "XLA makes CUDA graphs of its programs by itself"
_CUDA = "JAX drives the GPU by itself"
_ONNX = "exporting to ONNX is not offered; jax2onnx exports programs of JAX"
_FILE = "it reads PyTorch's archives piece by piece; use torch.load"
_PIPES = "pipes of data frames, and types of pipes, are left out; use pandas in functions of pipes"
_SYMBOLIC = "it is a part of PyTorch's reasoning about symbolic sizes"
_FAKE = "it is a part of PyTorch's fake tensors; use FakeTensorMode"
_MM = "it multiplies scaled or packed integers in one CUDA kernel; scale in the program and use matmul"
_NESTED = "only nested tensors in PyTorch's older layout have it; use torch.nested with layout=torch.jagged"
_SELECTIVE = "XLA decides what is kept and what is computed again; checkpoint whole blocks instead"
_PER_SAMPLE = "it keeps gradients of single examples in .grad_sample; use torch.func.vmap of torch.func.grad"
_NUMA = "processes are not bound to memory nodes here; use numactl"

#: Reason -> lines.
_LINES: dict[str, str] = {
    _COUNTS: """
        distributed.tensor.debug: visualize_sharding
    """,
    _SYMMETRIC: """
        distributed._symmetric_memory: empty enable_symm_mem_for_group get_symm_mem_workspace rendezvous is_nvshmem_available
    """,
    _SHARDED: """
        distributed.fsdp: FlatParameter DataParallelMeshDims
        distributed.fsdp.sharded_grad_scaler: ShardedGradScaler
        distributed.fsdp._traversal_utils: _get_fsdp_states _get_fsdp_handles
        distributed.fsdp._common_utils: _FSDPState
        distributed.fsdp._unshard_param_utils: _unshard_fsdp_state_params
        distributed.optim: DistributedOptimizer _apply_optimizer_in_backward
        distributed.algorithms.ddp_comm_hooks.powerSGD_hook: batched_powerSGD_hook
        distributed.pipelining: ScheduleGPipe Schedule1F1B PipelineStage Pipe pipeline pipe_split
        distributed._shard.sharded_tensor: ShardedTensor
    """,
    _PROCESSES: """
        distributed: _broadcast_coalesced ProcessGroupGloo ProcessGroupNCCL ProcessGroupMPI shrink_group
            BackendConfig BuiltinCommHookType GradBucket
            Reducer get_backend_config
        distributed.distributed_c10d: ProcessGroupGloo _new_process_group_helper
        _C._distributed_c10d: Reducer GradBucket FakeProcessGroup ProcessGroupGloo
    """,
    _CHECKPOINT: """
        distributed.checkpoint: load_sharded_optimizer_state_dict
        distributed.checkpoint._fsspec_filesystem: FsspecReader FsspecWriter
    """,
    _RPC: """
        distributed.rpc: TensorPipeRpcBackendOptions RpcBackendOptions BackendType(TENSORPIPE) RRef WorkerInfo init_rpc
            shutdown get_worker_info remote rpc_async rpc_sync
        distributed.rpc.api: _all_gather _barrier
        distributed.autograd: DistAutogradContext context backward get_gradients
        distributed.nn: RemoteModule(named_children named_modules)
        _C._distributed_rpc: PyRRef
    """,
    _EXPORT: """
        export: ShapesCollection CustomDecompTable export_for_training draft_export
        export.decomp_utils: CustomDecompTable
        export._trace: _export
        _export: capture_pre_autograd_graph
    """,
    _QUANTISATION: """
        ops.quantized_decomposed: quantize_per_tensor(default tensor) dequantize_per_tensor(default tensor)
            quantize_per_channel(default) dequantize_per_channel(default) choose_qparams(tensor)
        ao.quantization: FakeQuantize FakeQuantizeBase ObserverBase MinMaxObserver PerChannelMinMaxObserver QConfig QConfigMapping convert
            default_observer default_per_channel_weight_observer default_weight_observer fuse_modules fuse_modules_qat
            get_default_qat_qconfig get_default_qconfig prepare prepare_qat quantize quantize_dynamic
        ao.quantization.observer: HistogramObserver(with_args) MinMaxObserver(with_args) MovingAverageMinMaxObserver(with_args)
            PerChannelMinMaxObserver(with_args) MovingAveragePerChannelMinMaxObserver(with_args) ObserverBase PlaceholderObserver(with_args)
            default_observer default_per_channel_weight_observer default_weight_observer
        ao.quantization.qconfig: QConfig default_qconfig float_qparams_weight_only_qconfig get_default_qconfig get_default_qat_qconfig
        ops.quantized: conv_transpose1d_prepack conv_transpose2d_prepack
            conv_transpose3d_prepack
        _utils: _rebuild_qtensor
        : _make_per_tensor_quantized_tensor _make_per_channel_quantized_tensor
    """,
    _TORCHSCRIPT: """
        _C: Graph Value Node Block ScriptObject CompilationUnit Argument FunctionSchema _jit_flatten _jit_pass_inline _jit_pass_lint
        : TensorType FloatType DeviceObjType IntType BoolType StringType ListType OptionalType TupleType DictType
        jit: _get_trace_graph
    """,
    _COMPILER: """
        _dynamo._trace_wrapped_higher_order_op: TransformGetItemToIndex
        _inductor: aoti_compile_and_package aoti_load_package compile compile_fx
        _inductor.codecache: FxGraphCache extract_tensor_metadata_for_cache_key
        _inductor.cpp_builder: get_cpp_compiler
        _inductor.cpu_vec_isa: pick_vec_isa
        compiler: load_compiled_function
        _functorch.partitioners: _is_primal _is_tangent default_partition min_cut_rematerialization_partition
        _guards: TracingContext
    """,
    _DISPATCH: """
        _C: _dispatch_call_boxed _dispatch_find_schema_or_throw _current_graph_task_id _current_autograd_node
            _IncludeDispatchKeyGuard _storage_Use_Count
        _custom_ops: get_ctx
        ops.aten: _foreach_add_(Scalar List ScalarList Tensor overloads) _foreach_div(Scalar List ScalarList Tensor overloads)
            _foreach_maximum_(Scalar List ScalarList overloads) _pin_memory(default) _sparse_addmm(default)
            _sparse_mm_reduce_impl(default) _grouped_mm(default) _scaled_dot_product_cudnn_attention(default)
            _scaled_dot_product_cudnn_attention_backward(default) _scaled_dot_product_flash_attention(default)
            _scaled_dot_product_flash_attention_backward(default)
        _ops: OperatorBase HigherOrderOperator
    """,
    _FUNCTIONALIZATION: """
        _functorch._aot_autograd.functional_utils: from_fun to_fun
        _subclasses.functional_tensor: FunctionalTensor FunctionalTensorMode
    """,
    _FUNCTORCH: """
        _C._functorch: CInterpreter
        _functorch.vmap: _vmap_for_bhqkv
    """,
    _PROXY: """
        fx.experimental.proxy_tensor: _ProxyTensor _SymNodeDict decompose fetch_object_proxy
            fetch_sym_proxy get_proxy_slot track_tensor_tree
    """,
    _PROFILER: """
        autograd.profiler_legacy: profile
    """,
    _GRAPHS: """
        cuda: graph(capture_begin) graph_pool_handle
    """,
    _CUDA: """
        cuda: cudart
        cuda.profiler: init start stop profile
        _C: _cuda_clearCublasWorkspaces
        backends.cuda: SDPAParams
    """,
    _ONNX: """
        onnx._internal.exporter: ONNXProgram
    """,
    _PIPES: """
        utils.data.datapipes.dataframe: CaptureDataFrame DFIterDataPipe DataFramesAsTuplesPipe
        utils.data.datapipes.dataframe.dataframes: CaptureDataFrame DataFrameTracer DataFrameTracedOps
        utils.data.datapipes.dataframe.structures: DataChunkDF
        utils.data.datapipes.dataframe.datapipes: ConcatDataFramesPipe DataFramesAsTuplesPipe FilterDataFramesPipe PerRowDataFramesPipe
            ShuffleDataFramesPipe
        utils.data.datapipes.dataframe.dataframe_wrapper: concat create_dataframe get_columns get_df_wrapper get_item get_len
            is_column is_dataframe iterate set_df_wrapper
        utils.data.datapipes._typing: issubtype issubinstance reinforce_type
    """,
    _SYMBOLIC: """
        utils._sympy.numbers: IntInfinity NegativeIntInfinity
        utils._sympy.value_ranges: ValueRanges
        nested._internal.ops: extract_kwargs
    """,
    _FAKE: """
        _subclasses.fake_tensor: _is_tensor_constructor
        _subclasses.meta_utils: MetaConverter(meta_tensor)
    """,
    _MM: """
        : _scaled_mm _weight_int4pack_mm _convert_weight_to_int4pack _dyn_quant_matmul_4bit
    """,
    _NESTED: """
        : _nested_compute_contiguous_strides_offsets _nested_view_from_buffer
    """,
    _SELECTIVE: """
        utils.checkpoint: create_selective_checkpoint_contexts
    """,
    _PER_SAMPLE: """
        nn.utils._per_sample_grad: call_for_per_sample_grads
    """,
    _NUMA: """
        numa.binding: maybe_wrap_command_args_with_numa_binding
    """,
}

#: Modules whose names are those of another.
SAME = {
    "_overrides": "overrides",
    "_tensor_str": "_src.tensor.printed_parts",
    "_vmap_internals": "func.vmap_internals",
    "distributed._composable.fsdp": "distributed.fsdp",
    "distributed._composable.fsdp.fully_shard": "distributed.fsdp",
    "distributed.fsdp.fully_sharded_data_parallel": "distributed.fsdp",
    "distributed.fsdp._fully_shard": "distributed.fsdp",
    "distributed._tensor": "distributed.tensor",
    "distributed._tensor.api": "distributed.tensor",
    "distributed._tensor.placement_types": "distributed.tensor.placement_types",
    "distributed._tensor.experimental": "distributed.tensor.experimental",
    "distributed.checkpoint.hf_storage": "distributed.checkpoint",
    "distributed.checkpoint.optimizer": "distributed.checkpoint",
    "_C._onnx": "onnx",
    "quantization": "ao.quantization",
    "quantization.observer": "ao.quantization.observer",
    "quantization.qconfig": "ao.quantization.qconfig",
    "ao.nn.quantized.modules": "ao.nn.quantized",
    "ao.nn.qat.modules": "ao.nn.qat",
    "ao.nn.quantizable.modules": "ao.nn.quantizable",
    "ao.nn.intrinsic.modules": "ao.nn.intrinsic",
    "ao.nn.quantized.dynamic.modules": "ao.nn.quantized.dynamic",
    "nn.quantized": "ao.nn.quantized",
    "nn.quantized.modules": "ao.nn.quantized",
    "nn.quantized.dynamic": "ao.nn.quantized.dynamic",
    "nn.qat": "ao.nn.qat",
    "nn.qat.modules": "ao.nn.qat",
    "nn.quantizable": "ao.nn.quantizable",
    "nn.quantizable.modules": "ao.nn.quantizable",
    "nn.intrinsic": "ao.nn.intrinsic",
    "nn.intrinsic.modules": "ao.nn.intrinsic",
    "onnx._internal.torchscript_exporter.symbolic_helper": "onnx.symbolic_helper",
    "onnx._internal.torchscript_exporter.symbolic_opset9": "onnx.symbolic_opset9",
    "onnx.symbolic_opset12": "onnx.symbolic_opset11",
    "onnx.symbolic_opset13": "onnx.symbolic_opset11",
    "onnx.symbolic_opset14": "onnx.symbolic_opset11",
    "onnx.symbolic_opset15": "onnx.symbolic_opset11",
    "onnx.symbolic_opset16": "onnx.symbolic_opset11",
    "onnx.symbolic_opset17": "onnx.symbolic_opset11",
    "onnx.symbolic_opset18": "onnx.symbolic_opset11",
    "cuda.sparse": "cuda",
    "profiler.profiler": "profiler",
    "accelerator.memory": "accelerator",
    "ao.quantization.quantize_fx": "ao.quantization",
}


@functools.cache
def names() -> dict[str, dict[str, tuple[str, str]]]:
    """Module -> name -> what to make (the name, for a class with its methods) and the reason."""
    from .names_of_tools import LINES

    found: dict[str, dict[str, tuple[str, str]]] = {}
    for why, lines in (*_LINES.items(), *LINES.items()):
        module = ""
        for word in _words(lines):
            if word.endswith(":"):
                module = word[:-1]
            else:
                found.setdefault(module, {})[word.partition("(")[0]] = (word, why)
    return found


def _words(text: str) -> list[str]:
    """Words apart by spaces, except those in parentheses, which stay with what they follow."""
    words: list[str] = []
    for part in text.split():
        if words and "(" in words[-1] and ")" not in words[-1]:
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words


@functools.cache
def modules() -> frozenset[str]:
    """The modules of the list and those they lie in."""
    found: set[str] = set()
    for path in [*names(), *SAME]:
        parts = path.split(".")
        if path and parts[0] != "ops":  # whose namespaces are no modules
            found.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    return frozenset(found)
