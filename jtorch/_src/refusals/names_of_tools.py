"""Further names that are left out, in the form of ``refusals/names.py``: of particular devices,
compilers, tools and file formats."""

from __future__ import annotations

from . import reasons

_NO_DEVICE = "XLA has no such device here; torch.accelerator tells which there is"
_HOOK = "hooks of modules are registered with register_full_backward_hook and run by the tape"
_CPP = "there is no C++ compiler in use: kernels are written with jax.numpy, jax.lax or Pallas"
_PACKAGE = (
    "packages of code and weights in one archive are left out; save the state_dict, and install "
    "the code"
)
_MOBILE = (
    "there are no mobile runtimes for XLA's programs; jax2tf and LiteRT convert programs of JAX"
)
_BACKENDS = "JAX has plug-ins for devices; see jax.extend.backend"
_MKLDNN = "XLA chooses the kernels for the CPU by itself; use the layers of torch.nn"
_COMM = "arrays on several devices are sharded by JAX; see jax.sharding and jax.lax.psum"
_TUNABLE = "XLA tunes matrix products by itself: --xla_gpu_autotune_level"
_JITERATOR = (
    "it compiles strings of CUDA; write the function with torch operations, which are fused, or "
    "with Pallas"
)
_EXPERIMENTAL = (
    "it is an experiment on CUDA's kernels in PyTorch; use "
    "torch.nn.functional.scaled_dot_product_attention"
)

_COMPARED = (
    "assert_close compares in one pass, without objects for the pairs; it takes a function as msg"
)

#: Reason -> lines.
LINES: dict[str, str] = {
    reasons.CUDA: """
        cuda: _sleep CUDAPluggableAllocator ExternalStream GreenContext MemPool
            caching_allocator_alloc caching_allocator_delete
            caching_allocator_disabled caching_allocator_enable change_current_allocator
            current_solver_handle get_stream_from_external use_mem_pool
        cuda.memory: CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete
            caching_allocator_disabled caching_allocator_enable change_current_allocator
            use_mem_pool _dump_snapshot _record_memory_history _snapshot
        backends.cuda: blas_workspace_size cuBLASModule cuFFTPlanCache cuFFTPlanCacheAttrContextProp
            cuFFTPlanCacheManager cublas_workspace_size cublaslt_workspace_size cufft_plan_cache
            is_ck_sdpa_available preferred_rocm_fa_library
        cuda.gds: gds_register_buffer gds_deregister_buffer GdsFile
        cuda.green_contexts: GreenContext
    """,
    _NO_DEVICE: """
        mps: Event compile_shader load_metallib
        xpu: Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator
            can_device_access_peer change_current_allocator clock_rate current_stream
            device_memory_used device_of get_arch_list get_gencode_flags
            get_per_process_memory_fraction get_stream_from_external graph graph_pool_handle init
            initial_seed is_tf32_supported make_graphed_callables max_memory_reserved
            memory_snapshot memory_stats_as_nested_dict memory_usage power_draw
            reset_accumulated_memory_stats seed seed_all set_per_process_memory_fraction set_stream
            stream temperature use_mem_pool utilization
        mtia: MTIAGraph attach_out_of_memory_observer current_device current_stream default_stream
            device empty_cache get_device_capability get_device_properties get_rng_state
            get_rng_state_all graph graph_pool_handle init initial_seed is_bf16_supported
            manual_seed manual_seed_all max_memory_allocated memory_allocated memory_stats
            record_memory_history reset_peak_memory_stats seed seed_all set_device set_rng_state
            set_rng_state_all set_stream snapshot stream synchronize
        mps.profiler: start stop profile metal_capture is_metal_capture_enabled is_capturing_metal
        mps.event: Event
        xpu.memory: MemPool XPUPluggableAllocator change_current_allocator empty_cache
            get_per_process_memory_fraction max_memory_allocated max_memory_reserved mem_get_info
            memory_allocated memory_reserved memory_snapshot memory_stats
            memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats
            set_per_process_memory_fraction use_mem_pool
        xpu.streams: Event Stream
    """,
    reasons.TORCHSCRIPT: """
        : AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats
            Block BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec
            ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
            DeserializationStorageContext DispatchKey DispatchKeySet EnumType ErrorReport
            ExcludeDispatchKeyGuard ExecutionPlan FunctionSchema FutureType Gradient Graph
            GraphExecutorState IODescriptor InferredType InterfaceType LiteScriptModule
            LockingLogger ModuleDict Node NoneType NoopLogger NumberType OperatorInfo ParameterDict
            PyObjectType RRefType ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
            ScriptDictKeyIterator ScriptList ScriptListIterator ScriptMethod ScriptModuleSerializer
            ScriptObject ScriptObjectProperty SerializationStorageContext StaticModule StreamObjType
            SymBoolType SymIntType ThroughputBenchmark TracingState Type UnionType Use Value
        jit: export_opnames
        utils.throughput_benchmark: ExecutionStats ThroughputBenchmark format_time
        utils.bundled_inputs: InflatableArg augment_many_model_functions_with_bundled_inputs
            augment_model_with_bundled_inputs bundle_inputs bundle_large_tensor bundle_randn
    """,
    reasons.COMPILER: """
        compiler: keep_portable_guards_unsafe keep_tensor_guards_unsafe load_cache_artifacts
            save_cache_artifacts set_enable_guard_collectives skip_all_guards_unsafe
            skip_guard_on_all_nn_modules_unsafe skip_guard_on_globals_unsafe
            skip_guard_on_inbuilt_nn_modules_unsafe
    """,
    reasons.EXPORT: """
        export: Constraint
        export.dynamic_shapes: Constraint
    """,
    reasons.SELECTIVE: """
        utils.checkpoint: GraphExecGroup
    """,
    _HOOK: """
        utils.hooks: BackwardHook
    """,
    _CPP: """
        utils.benchmark.utils.cpp_jit: get_compat_bindings compile_timeit_template
            compile_callgrind_template
        utils.cpp_backtrace: get_cpp_backtrace
        utils.cpp_extension: remove_extension_h_precompiler_headers
        nn.cpp: ModuleWrapper OrderedDictWrapper
    """,
    reasons.PROFILER: """
        autograd.profiler: EnforceUnique KinetoStepTracker MemRecordsAcc emit_itt load_nvprof
            parse_nvprof_trace
        autograd.profiler_util: EventMetadata FormattedTimesMixin Kernel StringTable MemRecordsAcc
        profiler: ExecutionTraceObserver
        utils.benchmark: Fuzzer FuzzedParameter FuzzedSparseTensor FuzzedTensor ParameterAlias
            CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts
        utils.benchmark.op_fuzzers.binary: BinaryOpFuzzer
        utils.benchmark.op_fuzzers.sparse_binary: BinaryOpSparseFuzzer
        utils.benchmark.op_fuzzers.sparse_unary: UnaryOpSparseFuzzer
        utils.benchmark.op_fuzzers.spectral: SpectralOpFuzzer
        utils.benchmark.op_fuzzers.unary: UnaryOpFuzzer
        utils.benchmark.utils.compile: bench_all benchmark_compile
    """,
    _PACKAGE: """
        fx.graph_module: reduce_package_graph_module
        package: Directory EmptyMatchError GlobGroup Importer ObjMismatchError ObjNotFoundError
            OrderedImporter PackageExporter PackageImporter PackagingError is_from_package
            sys_importer
    """,
    reasons.PROXY: """
        fx.proxy: MetaProxy
        fx.traceback: annotate_fn get_current_replay_node get_graph_provenance_json
            reset_grad_fn_seq_nr set_current_replay_node set_grad_fn_seq_nr
        fx.experimental.proxy_tensor: DecompositionInterpreter dispatch_trace
            get_innermost_proxy_mode handle_sym_dispatch maybe_disable_thunkify
            maybe_enable_thunkify py_sym_types selective_decompose
    """,
    reasons.QUANTISATION: """
        ao.quantization: quantize_dynamic_jit _prepare_ondevice_dynamic_jit
            _convert_ondevice_dynamic_jit _quantize_ondevice_dynamic_jit WeightObserver
            ObserverOrFakeQuantize Pattern convert_dynamic_jit convert_jit fuse_conv_bn_jit
            get_default_dynamic_sparse_quant_module_mappings
            get_default_static_sparse_quant_module_mappings prepare_dynamic_jit prepare_jit
            script_qconfig script_qconfig_dict AffineQuantizedObserverBase Granularity MappingType
            PerAxis PerBlock PerGroup PerRow PerTensor PerToken TorchAODType ZeroPointDomain
            get_block_size
        ao.pruning: BaseScheduler BaseSparsifier CubicSL FakeSparsity LambdaSL
            NearlyDiagonalSparsifier WeightNormSparsifier fqn_to_module get_arg_info_from_tensor_fqn
            get_dynamic_sparse_quantized_mapping get_static_sparse_quantized_mapping module_to_fqn
        ao.nn.sparse.quantized: Linear
    """,
    reasons.PER_SAMPLE: """
        nn.utils._expanded_weights: ExpandedWeight
    """,
    _MOBILE: """
        utils.mobile_optimizer: LintCode generate_mobile_module_lints optimize_for_mobile
    """,
    _BACKENDS: """
        utils.backend_registration: rename_privateuse1_backend
            generate_methods_for_privateuse1_backend
    """,
    reasons.FILE: """
        utils.show_pickle: FakeObject FakeClass DumpUnpickler main
    """,
    _MKLDNN: """
        utils.mkldnn: MkldnnBatchNorm MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnLinear
            MkldnnPrelu to_mkldnn
    """,
    reasons.GRAPHS: """
        cuda.graphs: is_current_stream_capturing graph_pool_handle CUDAGraph graph
            make_graphed_callables
    """,
    _COMM: """
        cuda.comm: broadcast broadcast_coalesced reduce_add reduce_add_coalesced scatter gather
        cuda.nccl: all_reduce reduce broadcast all_gather reduce_scatter init_rank unique_id version
    """,
    _TUNABLE: """
        cuda.tunable: enable is_enabled tuning_enable tuning_is_enabled record_untuned_enable
            record_untuned_is_enabled set_max_tuning_duration get_max_tuning_duration
            set_max_tuning_iterations get_max_tuning_iterations set_filename get_filename
            get_results get_validators read_file tune_gemm_in_file mgpu_tune_gemm_in_file
            set_rotating_buffer_size get_rotating_buffer_size set_numerical_check_tolerances
    """,
    _JITERATOR: """
        cuda.jiterator: _create_jit_fn _create_multi_output_jit_fn
    """,
    _COMPARED: """
        testing._comparison: Pair BooleanPair NonePair NumberPair ObjectPair TensorLikePair
            ErrorMeta UnsupportedInputs originate_pairs not_close_error_metas
            make_scalar_mismatch_msg make_tensor_mismatch_msg
    """,
    _EXPERIMENTAL: """
        nn.attention.experimental._paged_attention: PagedAttention
        nn.attention.experimental._scaled_dot_product_attention_quantized: DescaleType
    """,
}
