"""PyTorch's names and modules that are left out, but for the functions and methods of
``refusals/functions.py``, with reasons.

A line is ``module: names`` (``torch`` itself has none before the colon). Names in capitals are
classes, with their static methods in parentheses, others functions.
"""

from __future__ import annotations

import functools

from . import names_of_compilers, names_of_modules, names_of_parts, names_of_tools, reasons
from .homes import MOVED, homes

#: Reason -> lines.
_LINES: dict[str, str] = {
    reasons.SYMMETRIC: """
        distributed._symmetric_memory: empty enable_symm_mem_for_group get_symm_mem_workspace
            rendezvous is_nvshmem_available _test_mode
    """,
    reasons.SHARDED: """
        distributed.fsdp: FlatParameter DataParallelMeshDims
        distributed.fsdp._traversal_utils: _get_fsdp_states _get_fsdp_handles
        distributed.fsdp._common_utils: _FSDPState
        distributed.fsdp._unshard_param_utils: _unshard_fsdp_state_params
        distributed.optim: DistributedOptimizer
        distributed.algorithms.ddp_comm_hooks.ddp_zero_hook: hook_with_zero_step
            hook_with_zero_step_interleaved
        distributed._shard.sharded_tensor: ShardedTensor
    """,
    reasons.CUT: """
        distributed.pipelining: Pipe pipeline pipe_split build_stage
        distributed.pipelining.stage: build_stage
    """,
    reasons.PROCESSES: """
        distributed: _broadcast_coalesced ProcessGroupGloo ProcessGroupNCCL ProcessGroupMPI
            shrink_group record_comm Reducer
        distributed.distributed_c10d: ProcessGroupGloo _new_process_group_helper shrink_group
            record_comm
        _C._distributed_c10d: Reducer FakeProcessGroup ProcessGroupGloo
    """,
    reasons.LAUNCHER: """
        distributed.elastic.multiprocessing: start_processes DefaultLogsSpecs LogsSpecs LogsDest
            MultiprocessContext SubprocessContext RunProcsResult to_map
        distributed.elastic.agent.server: ElasticAgent RunResult SimpleElasticAgent Worker
            WorkerGroup WorkerSpec WorkerState
        distributed.elastic.agent.server.api: ElasticAgent RunResult SimpleElasticAgent Worker
            WorkerGroup WorkerSpec WorkerState
        distributed.elastic.agent.server.local_elastic_agent: LocalElasticAgent
        distributed.elastic.rendezvous: RendezvousHandler RendezvousHandlerRegistry RendezvousInfo
            RendezvousParameters RendezvousStoreInfo RendezvousClosedError RendezvousConnectionError
            RendezvousError RendezvousGracefulExitError RendezvousHandlerCreator
            RendezvousStateError RendezvousTimeoutError rendezvous_handler_registry
        distributed.elastic.rendezvous.c10d_rendezvous_backend: C10dRendezvousBackend create_backend
        distributed.elastic.rendezvous.etcd_rendezvous: EtcdRendezvous EtcdRendezvousHandler
            EtcdRendezvousRetryImmediately EtcdRendezvousRetryableFailure create_rdzv_handler
        distributed.elastic.rendezvous.etcd_rendezvous_backend: EtcdRendezvousBackend create_backend
        distributed.elastic.rendezvous.etcd_server: EtcdServer find_free_port stop_etcd
        distributed.elastic.rendezvous.etcd_store: EtcdStore cas_delay
        distributed.elastic.rendezvous.static_tcp_rendezvous: StaticTCPRendezvous
            create_rdzv_handler
        distributed.elastic.rendezvous.utils: parse_rendezvous_endpoint
        distributed.elastic.agent.server.health_check_server: HealthCheckServer
            create_healthcheck_server
        distributed.elastic.control_plane: worker_main
        distributed.elastic.events.handlers: get_logging_handler
        distributed.elastic.multiprocessing.redirects: get_libc redirect
        distributed.elastic.multiprocessing.subprocess_handler: SubprocessHandler
            get_subprocess_handler
        distributed.elastic.multiprocessing.subprocess_handler.handlers: get_subprocess_handler
        distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler: SubprocessHandler
        distributed.elastic.multiprocessing.tail_log: TailLog tail_logfile
        distributed.elastic.timer.debug_info_logging: log_debug_info_for_expired_timers
        distributed.elastic.utils.api: get_env_variable_or_raise get_socket_with_port macros
        distributed.elastic.utils.data: CyclingIterator ElasticDistributedSampler
        distributed.elastic.utils.data.cycling_iterator: CyclingIterator
        distributed.elastic.utils.data.elastic_distributed_sampler: ElasticDistributedSampler
        distributed.elastic.utils.distributed: create_c10d_store get_free_port get_socket_with_port
        distributed.elastic.utils.process_state: is_uninterruptible_state read_proc_state
        distributed.elastic.utils.store: barrier get_all store_timeout synchronize
        distributed.argparse_util: check_env env
        distributed.debug: start_debug_server stop_debug_server
        distributed.elastic.rendezvous.registry: get_rendezvous_handler
        distributed.elastic.rendezvous.dynamic_rendezvous: DynamicRendezvousHandler
            RendezvousBackend create_handler
        distributed.elastic.events: record record_rdzv_event construct_and_record_rdzv_event Event
            EventSource
        distributed.elastic.metrics: initialize_metrics configure getStream prof put_metric
        distributed.elastic.timer: TimerClient TimerServer TimerRequest RequestQueue
            LocalTimerClient LocalTimerServer FileTimerClient FileTimerServer FileTimerRequest
            MultiprocessingRequestQueue configure expires
    """,
    reasons.CHECKPOINT: """
        distributed.checkpoint: load_sharded_optimizer_state_dict
        distributed.checkpoint._fsspec_filesystem: FsspecReader FsspecWriter
    """,
    reasons.RPC: """
        distributed.rpc: TensorPipeRpcBackendOptions RpcBackendOptions BackendType(TENSORPIPE) RRef
            WorkerInfo init_rpc shutdown get_worker_info remote rpc_async rpc_sync
        distributed.rpc.api: RRef get_worker_info remote rpc_async rpc_sync shutdown _all_gather
            _barrier
        distributed.rpc.backend_registry: BackendType construct_rpc_backend_options init_backend
            register_backend backend_registered
        distributed.rpc.constants: DEFAULT_RPC_TIMEOUT_SEC
        distributed.rpc.functions: async_execution
        distributed.rpc.internal: PythonUDF RPCExecMode RemoteException serialize deserialize
        distributed.rpc.options: TensorPipeRpcBackendOptions
        distributed.rpc.rref_proxy: RRefProxy
        distributed.rpc.server_process_global_profiler: _server_process_global_profile
        distributed.nn.jit.instantiator: get_arg_return_types_from_interface
            instantiate_non_scriptable_remote_module_template
            instantiate_scriptable_remote_module_template
        distributed.nn.jit.templates.remote_module_template: get_remote_module_template
        distributed.remote_device: _remote_device
        distributed.autograd: DistAutogradContext context backward get_gradients
        distributed.nn: RemoteModule(named_children named_modules)
        _C._distributed_rpc: PyRRef
    """,
    reasons.RECORDER: """
        distributed.flight_recorder.components.builder: build_collectives build_db
            build_groups_memberships transform_ft
        distributed.flight_recorder.components.config_manager: JobConfig
        distributed.flight_recorder.components.fr_logger: FlightRecorderLogger
        distributed.flight_recorder.components.loader: read_dir read_dump
        distributed.flight_recorder.components.types: Collective Database EntryState Group MatchInfo
            MatchState MatchStateRecord Membership NCCLCall Op Ref Traceback TypeInfo
        distributed.flight_recorder.components.utils: add_stack_id_in_entries
            align_trace_from_beginning error_analysis check_version format_frame format_frames
            match_one_event just_print_entries
        distributed.flight_recorder.fr_trace: main
    """,
    reasons.EXPORT: """
        export: CustomDecompTable export_for_training draft_export
        export.decomp_utils: CustomDecompTable
        export._trace: _export
        _export: capture_pre_autograd_graph
    """,
    reasons.QUANTISATION: """
        ops.quantized_decomposed: quantize_per_tensor(default tensor) dequantize_per_tensor(default
            tensor) quantize_per_channel(default) dequantize_per_channel(default)
            choose_qparams(tensor)
        ao.quantization.observer: AffineQuantizedObserverBase Granularity MappingType PerAxis
            PerBlock PerGroup PerRow PerTensor PerToken TorchAODType ZeroPointDomain get_block_size
        : _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fused_moving_avg_obs_fq_helper
            _saturate_weight_to_fp16 _dyn_quant_pack_4bit_weight
            _wrapped_linear_prepack _wrapped_quantized_linear_prepacked
    """,
    reasons.TORCHSCRIPT: """
        _C: Graph Value Node Block ScriptObject CompilationUnit Argument FunctionSchema _jit_flatten
            _jit_pass_inline _jit_pass_lint
        : TensorType FloatType DeviceObjType IntType BoolType StringType ListType OptionalType
            TupleType DictType
    """,
    reasons.COMPILER: """
        _dynamo._trace_wrapped_higher_order_op: TransformGetItemToIndex
        _inductor: compile compile_fx
        _inductor.codecache: FxGraphCache extract_tensor_metadata_for_cache_key
        _inductor.cpp_builder: get_cpp_compiler
        _inductor.cpu_vec_isa: pick_vec_isa
        compiler: load_compiled_function
        _functorch.partitioners: _is_primal _is_tangent default_partition
            min_cut_rematerialization_partition
        _guards: TracingContext
    """,
    reasons.DISPATCH: """
        _C: _dispatch_call_boxed _dispatch_find_schema_or_throw _current_autograd_node
            _IncludeDispatchKeyGuard _storage_Use_Count
        _custom_ops: get_ctx
        ops.prims: convert_element_type(default)
        ops.aten: cudnn_batch_norm(default) miopen_batch_norm(default) _mkldnn_transpose(default)
            _efficientzerotensor(default) tensor _foreach_add_(Scalar List ScalarList Tensor
            overloads) _foreach_div(Scalar List ScalarList Tensor overloads)
            _foreach_maximum_(Scalar List ScalarList overloads) _pin_memory(default)
            _sparse_addmm(default) _sparse_mm_reduce_impl(default)
            _scaled_dot_product_cudnn_attention(default)
            _scaled_dot_product_cudnn_attention_backward(default)
            _scaled_dot_product_flash_attention(default)
            _scaled_dot_product_flash_attention_backward(default)
        _ops: OperatorBase HigherOrderOperator
    """,
    reasons.FUNCTIONALIZATION: """
        _functorch._aot_autograd.functional_utils: from_fun to_fun
        _subclasses.functional_tensor: FunctionalTensor FunctionalTensorMode
    """,
    reasons.FUNCTORCH: """
        _C._functorch: CInterpreter
        _functorch.vmap: _vmap_for_bhqkv
    """,
    reasons.PROXY: """
        fx.experimental.proxy_tensor: _ProxyTensor _SymNodeDict decompose fetch_object_proxy
            fetch_sym_proxy get_proxy_slot track_tensor_tree
    """,
    reasons.PROFILER: """
        autograd.profiler_legacy: profile
    """,
    reasons.GRAPHS: """
        cuda: graph(capture_begin) graph_pool_handle
    """,
    reasons.CUDA: """
        cuda: cudart
        cuda.profiler: init start stop profile
        _C: _cuda_clearCublasWorkspaces
    """,
    reasons.PIPES: """
        utils.data.datapipes.dataframe: CaptureDataFrame DFIterDataPipe DataFramesAsTuplesPipe
        utils.data.datapipes.dataframe.dataframes: CaptureDataFrame DataFrameTracer
            DataFrameTracedOps
        utils.data.datapipes.dataframe.structures: DataChunkDF
        utils.data.datapipes.dataframe.datapipes: ConcatDataFramesPipe DataFramesAsTuplesPipe
            FilterDataFramesPipe PerRowDataFramesPipe ShuffleDataFramesPipe
        utils.data.datapipes.dataframe.dataframe_wrapper: concat create_dataframe get_columns
            get_df_wrapper get_item get_len is_column is_dataframe iterate set_df_wrapper
        utils.data.datapipes._typing: issubtype issubinstance reinforce_type
    """,
    reasons.SYMBOLIC: """
        utils._sympy.numbers: IntInfinity NegativeIntInfinity
        utils._sympy.value_ranges: ValueRanges
        nested._internal.ops: extract_kwargs
    """,
    reasons.FAKE: """
        _subclasses.fake_tensor: _is_tensor_constructor
        _subclasses.meta_utils: MetaConverter(meta_tensor)
    """,
    reasons.MM: """
        : _weight_int4pack_mm _convert_weight_to_int4pack _dyn_quant_matmul_4bit
    """,
    reasons.NUMA: """
        numa.binding: maybe_wrap_command_args_with_numa_binding
    """,
}


@functools.cache
def names() -> dict[str, dict[str, tuple[str, str]]]:
    """Module -> name -> what to make (the name, for a class with its methods) and the reason."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    further = (names_of_tools, names_of_compilers, names_of_parts, names_of_modules)
    for why, lines in (*_LINES.items(), *(item for more in further for item in more.LINES.items())):
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
def same() -> dict[str, str]:
    """Module -> the module whose names are its own."""
    found = homes()
    for old, new in MOVED.items():
        for path in {*names(), *homes(), *homes().values(), new}:
            if f"{path}.".startswith(f"{new}."):
                found[old + path[len(new) :]] = path
    return found


@functools.cache
def modules() -> frozenset[str]:
    """The modules of the list and those they lie in."""
    found: set[str] = set()
    for path in [*names(), *same()]:
        parts = path.split(".")
        if path and parts[0] != "ops":  # whose namespaces are no modules
            found.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    return frozenset(found)
