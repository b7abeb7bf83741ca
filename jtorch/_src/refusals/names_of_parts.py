"""Private modules of PyTorch that packages import names from, which are left out, in the form of
``refusals/names.py``."""

from __future__ import annotations

from . import names_of_tools, reasons

_PASSES = (
    "it is a pass of PyTorch's compilers over graphs; write one with torch.fx.Interpreter, "
    "Transformer or replace_pattern"
)
_LAYERS = "layers compute it as one operation, without a function of its own; use the layer"
_TRITON = "it is a kernel in Triton; use torch.sparse, or write one with Pallas"
_LAZY = (
    "every call is recorded until its value is needed; jax and torch.compile are what there is to "
    "steer it"
)
_LOBPCG = "torch.lobpcg is one function here, without objects for its steps"
_LAID_OUT = (
    "layouts of DTensor follow from XLA's own rules; experimental.register_sharding adds to them"
)

#: Reason -> lines.
LINES: dict[str, str] = {
    reasons.QUANTISATION: """
        ao.nn.sparse.quantized: LinearPackedParams
        ao.nn.sparse.quantized.dynamic: Linear
        ao.nn.sparse.quantized.utils: LinearBlockSparsePattern
        ao.pruning.sparsifier.utils: FakeSparsity fqn_to_module get_arg_info_from_tensor_fqn
            module_contains_param module_to_fqn swap_module
        ao.ns._numeric_suite: Logger OutputLogger Shadow ShadowLogger compare_model_outputs
            compare_model_stub compare_weights get_logger_dict get_matching_activations
            prepare_model_outputs prepare_model_with_stubs
        ao.ns._numeric_suite_fx: NSTracer OutputComparisonLogger OutputLogger add_loggers
            add_shadow_loggers extract_logger_info extract_results_n_shadows_model
            extract_shadow_logger_info extract_weights prepare_n_shadows_model
        ao.quantization._correct_bias: get_module parent_child_names get_param MeanShadowLogger
            bias_correction
        ao.quantization._equalize: set_module_weight set_module_bias has_bias get_module_weight
            get_module_bias max_over_ndim min_over_ndim channel_range get_name_by_module
            cross_layer_equalization process_paired_modules_list_to_name
            expand_groups_in_paired_modules_list equalize converged
        ao.quantization.backend_config: get_executorch_backend_config get_onednn_backend_config
            get_tensorrt_backend_config get_tensorrt_backend_config_dict
        ao.quantization.backend_config.executorch: get_executorch_backend_config
        ao.quantization.backend_config.onednn: get_onednn_backend_config
        ao.quantization.backend_config.tensorrt: get_tensorrt_backend_config
            get_tensorrt_backend_config_dict
        ao.quantization.fx.convert: convert_custom_module convert_standalone_module
            convert_weighted_module
        ao.quantization.fx.fuse: FuseHandler
        ao.quantization.fx.fuse_handler: FuseHandler DefaultFuseHandler
        ao.quantization.fx.graph_module: FusedGraphModule ObservedGraphModule
            ObservedStandaloneGraphModule QuantizedGraphModule
        ao.quantization.fx.pattern_utils: get_default_fusion_patterns get_default_quant_patterns
            get_default_output_activation_post_process_map
        ao.quantization.fx.lower_to_fbgemm: lower_to_fbgemm
        ao.quantization.fx.lower_to_qnnpack: lower_to_qnnpack
        ao.quantization.fx.prepare: insert_observers_for_model propagate_dtypes_for_known_nodes
        ao.quantization.fx.quantize_handler: QuantizeHandler BinaryOpQuantizeHandler
            CatQuantizeHandler ConvReluQuantizeHandler LinearReLUQuantizeHandler
            BatchNormQuantizeHandler EmbeddingQuantizeHandler RNNDynamicQuantizeHandler
            DefaultNodeQuantizeHandler FixedQParamsOpQuantizeHandler CopyNodeQuantizeHandler
            GeneralTensorShapeOpQuantizeHandler CustomModuleQuantizeHandler
            StandaloneModuleQuantizeHandler
        ao.quantization.fx.utils: get_linear_prepack_op_for_dtype all_node_args_except_first
            create_node_from_old_node_preserve_meta get_qconv_prepack_op
            get_skipped_module_name_and_classes maybe_get_next_module NodeInfo return_arg_list
        ao.quantization.fx.qconfig_mapping_utils: _is_qconfig_supported_by_dtype_configs
        ao.quantization.fx._equalize: EqualizationQConfig
        ao.quantization.quantization_mappings: get_default_dynamic_sparse_quant_module_mappings
            DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS
            get_default_static_sparse_quant_module_mappings
        ao.quantization.quantize_fx: _convert_to_reference_decomposed_fx
        ao.quantization.quantize_jit: script_qconfig script_qconfig_dict fuse_conv_bn_jit
            prepare_jit prepare_dynamic_jit convert_jit convert_dynamic_jit
        ao.quantization.utils: determine_qparams check_node
    """,
    reasons.TORCHSCRIPT: """
        jit._builtins: _find_builtin _register_builtin _get_builtin_table
        jit._check: AttributeTypeIsSupportedChecker
        jit._decompositions: register_decomposition
        jit._monkeytype_config: JitTypeTraceConfig JitTypeTraceStore JitTypeTraceStoreLogger
            monkeytype_trace
        jit._serialization: validate_map_location jit_module_from_flatbuffer
            save_jit_module_to_flatbuffer get_flatbuffer_module_info
        jit._state: _try_get_jit_cached_function _set_jit_function_cache
            _try_get_jit_cached_overloads _set_jit_overload_cache _get_script_class
            _add_script_class
        jit._trace: ONNXTracedModule verify
        jit.frontend: Builder ExprBuilder FrontendError FrontendTypeError NotSupportedError
            StmtBuilder UnsupportedNodeError WithItemBuilder build_def build_class_def
            get_class_properties get_class_assigns get_default_args get_default_args_for_class
            get_jit_class_def get_jit_def is_reserved_name is_torch_jit_ignore_context_manager
            build_withitems build_stmts build_param_list build_param build_ignore_context_manager
            build_expr build_stmt build_withitem find_before
        jit.annotations: is_tuple is_list is_dict is_optional is_union TensorType TupleType
            FloatType ComplexType IntType ListType StringType DictType AnyType get_signature
            check_fn get_param_names parse_type_line get_type_line split_type_line
            try_real_annotations try_ann_to_type ann_to_type
        jit.unsupported_tensor_ops: execWrapper
        jit.generate_bytecode: format_bytecode generate_upgraders_bytecode
        jit.mobile: _load_for_lite_interpreter LiteScriptModule _export_operator_list
            _get_model_bytecode_version
        jit.quantized: QuantizedGRU QuantizedGRUCell QuantizedLinear QuantizedLinearFP16
            QuantizedLSTM QuantizedLSTMCell QuantizedRNNCell quantize_linear_modules
            quantize_rnn_modules quantize_rnn_cell_modules QuantizedRNNCellBase QuantizedRNNBase
        jit.supported_ops: _get_tensor_ops _get_nn_functional_ops _get_builtins_helper
        utils.jit.log_extract: extract_ir make_tensor_from_type load_graph_and_inputs time_cuda
            time_cpu run_test no_fuser run_baseline_no_fusion run_nnc run_nvfuser
        utils.model_dump: get_inline_skeleton get_model_info hierarchical_pickle main
            get_storage_info burn_in_info get_info_and_burn_skeleton
    """,
    _PASSES: """
        fx._graph_pickler: Options patch_pytree_map_over_slice GraphPickler
        fx._lazy_graph_module: _LazyGraphModule _make_graph_module _use_lazy_graph_module
        fx._utils: first_call_function_nn_module_stack get_node_context lazy_format_graph_code
        fx.experimental._backward_state: BackwardState
        fx.experimental.accelerator_partitioner: DAG Partitioner PartitionResult
        fx.experimental.debug: set_trace
        fx.experimental.graph_gradual_typechecker: GraphTypeChecker Refine register_inference_rule
        fx.experimental.merge_matmul: split_result_tensors may_depend_on are_nodes_independent
            merge_matmul
        fx.experimental.meta_tracer: MetaTracer symbolic_trace proxys_to_metas
        fx.experimental.normalize: NormalizeArgs NormalizeOperators
        fx.experimental.partitioner_utils: Device Partition PartitionerConfig PartitionMode
            NodeLatency PartitionLatency get_latency_of_partitioned_graph
        fx.experimental.recording: ShapeEnvEvent record_shapeenv_event
        fx.experimental.refinement_types: Equality
        fx.experimental.schema_type_annotation: AnnotateTypesWithSchema
        fx.experimental.sym_node: DynamicInt SymNode method_to_operator magic_methods
        fx.experimental.unification: unify unifiable Var var isvar variables
        fx.experimental.unify_refinements: infer_symbolic_types_single_pass infer_symbolic_types
            convert_eq unify_eq substitute_solution_one_type substitute_all_types
            check_for_type_equality
        fx.experimental.validator: translation_validation_enabled translation_validation_timeout
            ValidationException BisectValidationException bisect
        fx.passes._tensorify_python_scalars: tensorify_python_scalars
        fx.passes.annotate_getitem_nodes: annotate_getitem_nodes
        fx.passes.backends.cudagraphs: CudaGraphsSupport partition_cudagraphs
        fx.passes.graph_drawer: FxGraphDrawer
        fx.passes.net_min_base: _MinimizerBase _MinimizerSettingBase FxNetMinimizerBadModuleError
            FxNetMinimizerResultMismatchError FxNetMinimizerRunFuncError
        fx.passes.param_fetch: default_matching extract_attrs_for_lowering
            lift_lowering_attrs_to_nodes
        fx.passes.pass_manager: inplace_wrapper log_hook loop_pass this_before_that_pass_constraint
            these_before_those_pass_constraint PassManager
        fx.passes.regional_inductor: regional_inductor
        fx.passes.reinplace: reinplace
        fx.passes.runtime_assert: insert_deferred_runtime_asserts
        fx.passes.split_utils: move_non_tensor_nodes_on_boundary
        fx.passes.splitter_base: FxNetAccNodesFinder FxNetSplitterInternalError SplitResult Subgraph
            _SplitterBase _SplitterSettingBase generate_inputs_for_submodules NodeEvent
            NodeEventTracker
    """,
    reasons.DISPATCH: """
        _custom_op.autograd: autograd_kernel_indirection autograd_not_implemented
            mark_non_differentiable construct_autograd_kernel gen_autograd_function
            namedtuple_args_cls namedtuple_args validate_grad_inputs_dict
            grad_inputs_dict_to_flat_tuple save_pytree_for_backward unpack_saved
        _custom_op.impl: CustomOp custom_op custom_op_from_existing infer_schema get_ctx
            validate_schema parse_qualname report_error_callback
        _decomp.decompositions_for_jvp: register_decomposition_for_jvp maybe_register_decomposition
        _decomp.decompositions_for_rng: PhiloxState PhiloxStateTracker extra_random_decomps
            rng_decompositions
        _dispatch.python: enable_crossref_functionalize enable_pre_dispatch enable_python_dispatcher
            no_python_dispatcher suspend_functionalization
        _library.autograd: Info make_autograd_impl supports_tensorlist
        _library.fake_class_registry: FakeScriptObject deregister_fake_class find_fake_class
            has_fake_class maybe_to_fake_obj register_fake_class
        _library.fake_impl: FakeImplCtx FakeImplHolder allocate_size construct_meta_kernel
            set_ctx_getter
        _library.opaque_object: OpaqueType get_opaque_type_name is_opaque_type register_opaque_type
            MemberType
        _library.simple_registry: SimpleLibraryRegistry SimpleOperatorEntry find_torch_dispatch_rule
            singleton
        _library.triton: capture_triton get_triton_kernels_for_op is_wrap_triton_enabled
            set_wrap_triton_enabled
        _library.utils: Kernel RegistrationHandle MutationChecker fill_defaults get_source
            is_builtin is_functional_schema is_tensor_like_type is_tensorlist_like_type lookup_op
            mutates_and_returns_first_arg parse_namespace zip_schema handle_dispatch_mode
            has_kwarg_only_tensors iter_tensors requires_set_python_module get_layout_constraint_tag
        _meta_registrations: activate_meta register_meta meta_mm
        _prims: TensorMeta RETURN_TYPE
        _prims.context: TorchRefsMode torch_to_refs_map
        _prims.debug_prims: load_tensor_reader register_debug_prims
        _prims.executor: execute make_traced
        _prims.rng_prims: throw_on_non_cuda register_rng_prim philox_rand_offset_meta
            philox_rand_offset register_philox_rand register_run_and_save_rng_state_op
            register_run_with_rng_state_op register_graphsafe_run_with_rng_state_op
            register_graphsafe_rng_dispatch register_run_dtensor_rng_op register_rng_prims
        _prims_common.wrappers: backwards_not_supported elementwise_type_promotion_wrapper
            elementwise_unary_scalar_wrapper out_wrapper
        _subclasses.fake_impls: register_op_impl dispatch_to_op_implementations_dict
            contains_tensor_types stride_incorrect_op
        _subclasses.fake_utils: outputs_alias_inputs outputs_are_inputs output_alias_each_other
            is_sdpa_error try_convert_fake_to_real CrossRefFakeMode
        _subclasses.schema_check_mode: Mutation Aliasing is_iterable_of_tensors clone_inputs
            SchemaCheckMode
    """,
    reasons.EXPORT: """
        export._draft_export: FailureType prettify_stack prettify_frame_locals get_loc FailureReport
            DraftExportReport ExpressionCreatedNode LogRecord CaptureStructuredTrace draft_export
        export._remove_auto_functionalized_pass: remove_self_clone
            unsafe_remove_auto_functionalized_pass
        export._remove_effect_tokens_pass: _remove_effect_tokens
        export._safeguard: AutogradStateOpsFailSafeguard
        export._swap: _swap_modules
        export._tree_utils: reorder_kwargs is_equivalent
        export._unlift: _unlift _unlift_exported_program_lifted_states _insert_copy_for_mutations
        export.custom_obj: ScriptObjectMeta
        export.experimental: _remove_detach_pass _export_forward_backward _ExportPackage
        export.passes: move_to_device_pass
        export.pt2_archive: is_pt2_package PT2ArchiveReader PT2ArchiveWriter
        export.pt2_archive._package: package_pt2 PT2ArchiveContents load_pt2
            load_weights_to_pt2_contents
        export.unflatten: InterpreterModuleDispatcher
    """,
    reasons.PER_SAMPLE: """
        nn.utils._expanded_weights.conv_expanded_weights: ConvPerSampleGrad
        nn.utils._expanded_weights.conv_utils: conv_picker conv_args_and_kwargs conv_normalizer
            conv_input_for_string_padding int_padding_for_string_padding conv_padding_for_same
            conv_backward conv_unfold_weight_grad_sample conv_group_weight_grad_sample unfold3d
        nn.utils._expanded_weights.embedding_expanded_weights: EmbeddingPerSampleGrad
        nn.utils._expanded_weights.expanded_weights_impl: batch_second allow_smaller_batches
            setup_rnn implements_per_sample_grads
        nn.utils._expanded_weights.expanded_weights_utils: is_batch_first standard_kwargs
            forward_helper maybe_scale_by_batch_size set_grad_sample_if_exists
            unpack_expanded_weight_or_tensor sum_over_all_but_batch_and_last_n
        nn.utils._expanded_weights.group_norm_expanded_weights: GroupNormPerSampleGrad
        nn.utils._expanded_weights.instance_norm_expanded_weights: InstanceNormPerSampleGrad
        nn.utils._expanded_weights.layer_norm_expanded_weights: LayerNormPerSampleGrad
        nn.utils._expanded_weights.linear_expanded_weights: LinearPerSampleGrad
    """,
    reasons.PROFILER: """
        profiler._memory_profiler: Category CategoryDict DataFlowGraph MemoryProfile
            MemoryProfileTimeline OpTree TensorKey
        profiler._pattern_matcher: Pattern NamePattern report_all_anti_patterns
        profiler._utils: EventMetrics Interval EventKey BasicEvaluation index_of_first_match argmax
            source_code_location TimelineEvent ContextStackEntry
            map_recorded_events_to_aten_ops_with_stack_trace
        profiler.itt: is_available range_push range_pop mark range
    """,
    names_of_tools._COMM: """
        nn.parallel._functions: Broadcast Gather ReduceAddCoalesced Scatter _get_stream
    """,
    _LAYERS: """
        autograd._functions.tensor: Type Resize
        autograd._functions.utils: maybe_view maybe_unexpand
        nn.backends.thnn: _get_thnn_function_backend
        nn.modules._functions: SyncBatchNorm CrossMapLRN2d BackwardHookFunction
    """,
    reasons.CUDA: """
        cuda._gpu_trace: register_callback_for_event_creation
            register_callback_for_memory_allocation register_callback_for_stream_creation
            register_callback_for_device_synchronization
        cuda._memory_viz: Bytes calc_active compare format_flamegraph memory profile_plot
            segment_plot segments segsum trace trace_plot
        cuda._pin_memory_utils: pin_memory unpin_memory
        cuda._sanitizer: Access AccessType CUDASanitizer CUDASanitizerDispatchMode
            CUDASanitizerErrors StreamSynchronizations SynchronizationError
            UnsynchronizedAccessError enable_cuda_sanitizer
    """,
    names_of_tools._NO_DEVICE: """
        backends._nnapi.prepare: NnapiModule convert_model_to_nnapi process_for_nnapi
        backends._nnapi.serializer: serialize_model
        backends.xeon.run_cpu: create_args main
    """,
    reasons.TWO_IN_FOUR: """
        sparse._semi_structured_conversions: sparse_semi_structured_from_dense_cutlass
            sparse_semi_structured_to_dense_cutlass
        sparse._semi_structured_ops: fallback_dispatcher no_dispatch semi_sparse_addmm
            semi_sparse_linear semi_sparse_mm semi_sparse_t
    """,
    _TRITON: """
        sparse._triton_ops: broadcast_batch_dims bsr_dense_addmm bsr_dense_mm bsr_scatter_mm
            bsr_softmax launch_kernel prepare_inputs ptr_stride_extractor scatter_mm
            tile_to_blocksize
        sparse._triton_ops_meta: create_blocked_tensor dump get_meta minimize
            optimize_bsr_dense_addmm optimize_scatter_mm tune__int_bsr_dense_addmm
            tune_bsr_dense_addmm update
    """,
    _LAZY: """
        _lazy: add_step_closure get_tensor_id mark_step run_step_closures sync_multi to_cpu
            wait_device_ops
        _lazy.computation: get_tensors_ts_device_data_node run_cached_graph get_graph_hash
        _lazy.config: get_force_fallback set_force_fallback set_reuse_ir
        _lazy.debug: render_ir_graph dump_ir
        _lazy.extract_compiled_graph: extract_compiled_graph
        _lazy.metrics: counter_names counter_value metrics_report reset
        _lazy.ts_backend: init
    """,
    _LOBPCG: """
        _lobpcg: LOBPCG LOBPCGAutogradFunction
    """,
    names_of_tools._PACKAGE: """
        package._digraph: DiGraph
        package._directory_reader: DirectoryReader
        package._mangling: PackageMangler is_mangled demangle get_mangle_prefix
        package._mock: MockedObject install_method
        package._package_pickler: PackagePickler create_pickler
        package._package_unpickler: PackageUnpickler
        package._stdlib: is_stdlib_module
        package.analyze.find_first_use_of_broken_modules: find_first_use_of_broken_modules
        package.analyze.trace_dependencies: trace_dependencies
        package.find_file_dependencies: find_files_source_depends_on
    """,
    reasons.SHARDED: """
        distributed._composable_state: _get_module_state _insert_module_state
        distributed._shard._utils: narrow_tensor narrow_tensor_by_index
        distributed._shard.common_op_utils: _basic_validation
        distributed._shard.op_registry_utils: _register_op
        distributed._shard.sharded_tensor: custom_sharded_op_impl empty full init_from_local_shards
            ones pre_load_state_dict_hook rand randn state_dict_hook zeros ShardedTensorBase Shard
            ShardMetadata ShardedTensorMetadata TensorProperties
        distributed._shard.sharded_tensor.reshard: build_reshard_metadata get_idx_from_placements
            reshard_local_shard reshuffle_local_shard
        distributed._shard.sharded_tensor.utils: build_global_metadata
            build_metadata_from_local_shards recalc_global_sharded_tensor_metadata
        distributed._shard.sharding_spec._internals: check_tensor get_chunk_sharding_params
            get_chunked_dim_size get_split_size validate_non_overlapping_shards_metadata
        distributed._shard.sharding_spec.chunk_sharding_spec_ops.embedding: sharded_embedding
        distributed._shard.sharding_spec.chunk_sharding_spec_ops.embedding_bag:
            sharded_embedding_bag
        distributed._shard.api: load_with_process_group shard_module shard_parameter
        distributed._shard.metadata: ShardMetadata
        distributed._shard.sharded_optim: ShardedOptimizer named_params_with_sharded_tensor
        distributed._shard.sharded_tensor.metadata: ShardedTensorMetadata TensorProperties
        distributed._shard.sharded_tensor.shard: Shard
        distributed._shard.sharder: Sharder
        distributed._shard.sharding_plan: ShardingPlan ShardingPlanner
        distributed._shard.sharding_spec: ChunkShardingSpec DevicePlacementSpec
            EnumerableShardingSpec PlacementSpec ShardMetadata ShardingSpec
        distributed._shard.sharding_spec.api: DevicePlacementSpec EnumerableShardingSpec
            PlacementSpec ShardingSpec custom_sharding_spec_op
        distributed._shard.sharding_spec.chunk_sharding_spec: ChunkShardingSpec
        distributed.algorithms._comm_hooks.default_hooks: allreduce_hook reduce_scatter_hook
            fp16_compress_hook bf16_compress_hook DefaultState LowPrecisionState
        distributed.algorithms.ddp_comm_hooks.ddp_zero_hook: hook_with_zero_step
            hook_with_zero_step_interleaved
        distributed.fsdp._flat_param: FlatParamHandle FlatParamShardMetadata HandleShardingStrategy
            ParamInfo SharedParamInfo
        distributed.fsdp._fsdp_extensions: FSDPExtensions _set_fsdp_extensions
        distributed.fsdp._fully_shard._fsdp_collectives: foreach_all_gather foreach_reduce
            foreach_all_gather_copy_out AllGatherResult
        distributed.fsdp._fully_shard._fsdp_common: FSDPMeshInfo DDPMeshInfo HSDPMeshInfo
            DataParallelMeshInfo ShardPlacementResult TrainingState
        distributed.fsdp._fully_shard._fsdp_init: _get_mesh_info _get_post_forward_mesh_info
            _get_device_from_mesh _get_managed_modules _get_managed_states _init_default_mesh
            _init_param_group _apply_to_module
        distributed.fsdp._shard_utils: _create_chunk_dtensor _create_chunk_sharded_tensor
        distributed.fsdp._state_dict_utils: _full_post_state_dict_hook _full_pre_state_dict_hook
        distributed.fsdp._limiter_utils: _FreeEventQueue
        distributed.fsdp._exec_order_utils: _ExecOrderData
        distributed.fsdp._fully_shard._fsdp_param: FSDPParam ShardedState alloc_storage free_storage
        distributed.fsdp._fully_shard._fsdp_param_group: FSDPParamGroup FSDPCommContext
            RegisterPostBackwardFunction
        distributed.fsdp._fully_shard._fsdp_state: FSDPState FSDPStateContext
        distributed.fsdp._init_utils: _get_default_comm_hook_state _init_param_handle_from_module
        distributed.fsdp._optim_utils: _optim_state_dict _shard_orig_param_state
            _flatten_optim_state_dict
        distributed.fsdp._runtime_utils: _lazy_init _reset_flat_param_grad_info_if_needed
            _post_backward_hook _pre_forward _post_forward
        distributed.fsdp._wrap_utils: _auto_wrap
        distributed.optim.named_optimizer: _NamedOptimizer
        distributed.tensor.parallel.fsdp: DTensorExtensions
    """,
    reasons.CUT: """
        distributed.pipelining._IR: LossWrapper PipeSequential TrivialLossWrapper
            annotate_split_points
        distributed.pipelining._unflatten: _outline_submodules
        distributed.pipelining._backward: stage_backward stage_backward_input stage_backward_weight
        distributed.pipelining.schedules: _PipelineContext _wait_batch_p2p
    """,
    _LAID_OUT: """
        distributed._mesh_layout: _MeshLayout
        distributed._local_tensor: LocalTensor LocalTensorMode local_tensor_mode
            maybe_disable_local_tensor_mode maybe_run_for_local_tensor
        distributed._ops.device_mesh: _get_submesh
        distributed.tensor._decompositions: DecompShardingStrategy
        distributed.tensor._ops._conv_ops: convolution_rules convolution_backward_rules
        distributed.tensor._ops._einsum_strategy: EinsumDims gen_einsum_strategies
        distributed.tensor._ops._embedding_ops: embedding_strategy embedding_dense_backward_strategy
        distributed.tensor._ops._matrix_ops: mm_strategy addmm_strategy bmm_strategy
            transpose_strategy
        distributed.tensor._ops._tensor_ops: propagate_single_input_strategy
        distributed.tensor._ops.single_dim_strategy: register_single_dim_strategy
        distributed.tensor.experimental._attention: _PTRRLoadBalancer
            _enable_context_parallel_dispatcher
        distributed.tensor.experimental._context_parallel._cp_custom_ops: flex_cp_allgather
        distributed.tensor.experimental._tp_transform: tensor_parallel_transformation
        distributed.tensor._collective_utils: mesh_broadcast mesh_scatter shard_dim_alltoall
            pad_tensor unpad_tensor redistribute_cost
        distributed.tensor._op_schema: OpInfo OpSchema OpSpec OpStrategy OutputSharding
            RuntimeSchemaInfo StrategyType TupleStrategy
        distributed.tensor._ops._common_rules: einop_rule pointwise_rule
        distributed.tensor._ops._math_ops: common_reduction_strategy
        distributed.tensor._ops._view_ops: register_op_strategy_map view_groups
        distributed.tensor._ops.utils: generate_redistribute_costs expand_to_full_mesh_op_strategy
            infer_broadcast_dims_map is_tensor_partial is_tensor_shardable
            map_placements_after_broadcast normalize_dim normalize_dims prod register_op_strategy
            register_prop_rule replicate_op_strategy
        distributed.tensor._sharding_prop: ShardingPropagator
        distributed.tensor._shards_wrapper: LocalShardsWrapper
        distributed.tensor._tp_conv: convolution_handler convolution_backward_handler
    """,
    reasons.RPC: """
        distributed.rpc.backend_registry: BackendValue BackendType backend_registered
            register_backend construct_rpc_backend_options init_backend
        distributed.rpc.functions: async_execution
        distributed.rpc.internal: RPCExecMode serialize deserialize PythonUDF RemoteException
        distributed.rpc.rref_proxy: RRefProxy
    """,
    reasons.CHECKPOINT: """
        distributed.checkpoint._async_executor: _AsyncCheckpointExecutor
        distributed.checkpoint._checkpointer: _Checkpointer
        distributed.checkpoint._dedup_save_plans: dedup_save_plans
        distributed.checkpoint._dedup_tensors: dedup_tensors
        distributed.checkpoint._extension: Extension ExtensionRegistry StreamTransformExtension
            ZStandard
        distributed.checkpoint._pg_transport: PGTransport
        distributed.checkpoint._state_dict_stager: StateDictStager
        distributed.checkpoint._traverse: OBJ_PATH get_element print_tensor traverse_state_dict
        distributed.checkpoint._sharded_tensor_utils: _flatten_sharded_tensors
        distributed.checkpoint._async_thread_executor: _ThreadBasedAsyncCheckpointExecutor
        distributed.checkpoint._async_process_executor: _ProcessBasedAsyncCheckpointExecutor
        distributed.checkpoint.filesystem: _StorageWriterTransforms _write_item
        distributed._serialization: _streaming_load _streaming_save
    """,
    reasons.SYMBOLIC: """
        nested._internal.nested_int: NestedIntNode
        utils._sympy.functions: BitwiseFn_bitwise_and CeilDiv CeilToInt FloatPow FloatTrueDiv
            FloorDiv FloorToInt IntTrueDiv Identity IsNonOverlappingAndDenseIndicator LShift Max Min
            Mod ModularIndexing PowByNatural PythonMod RShift RoundDecimal RoundToInt ToFloat
            TruncToFloat TruncToInt Where safe_gcd simple_floordiv_gcd
        utils._sympy.interp: sympy_interp
        utils._sympy.printers: CppPrinter ExprPrinter PythonPrinter
        utils._sympy.reference: PythonReferenceAnalysis ReferenceAnalysis TensorReferenceAnalysis
        utils._sympy.singleton_int: SingletonInt
        utils._sympy.solve: mirror_rel_op try_solve
        utils._sympy.symbol: SymT free_symbol_is_type make_symbol prefix_str symbol_is_type
    """,
}
