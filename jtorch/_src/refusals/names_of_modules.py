"""Further names of PyTorch's public modules, in the form of ``refusals/names.py``: with these, all
of them resolve."""

from __future__ import annotations

from . import reasons

_PARTITIONS = (
    "it cuts graphs for accelerators with little memory; arrays on several devices are sharded by "
    "JAX"
)
_TYPES = "gradual types of graphs are left out; ShapeProp and FakeTensorMode find shapes and dtypes"

#: Reason -> lines.
LINES: dict[str, str] = {
    reasons.TORCHSCRIPT: """
        : AggregationType FatalError JITException LoggerBase cpp
        jit.annotations: Module
        jit.frontend: DATACLASS_MAGIC_METHODS monkeytype_trace node_start_tokens pretty_node_names
    """,
    reasons.QUANTISATION: """
        : QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage
        quantization.fx.fusion_patterns: DefaultFuseHandler FuseHandler
        quantization.fx.quantization_patterns: BatchNormQuantizeHandler BinaryOpQuantizeHandler
            CatQuantizeHandler ConvReluQuantizeHandler CopyNodeQuantizeHandler
            CustomModuleQuantizeHandler DefaultNodeQuantizeHandler EmbeddingQuantizeHandler
            FixedQParamsOpQuantizeHandler GeneralTensorShapeOpQuantizeHandler
            LinearReLUQuantizeHandler QuantizeHandler RNNDynamicQuantizeHandler
            StandaloneModuleQuantizeHandler
        quantization.fx.quantization_types: Pattern QuantizerCls
    """,
    reasons.DISPATCH: """
        : PRIVATE_OPS
        fx.operator_schemas: check_for_mutable_operation create_type_hint type_matches
    """,
    reasons.PROFILER: """
        : profiler_allow_cudagraph_cupti_lazy_reinit_cuda12
    """,
    reasons.EXPORT: """
        : nativert
        nativert: backends
    """,
    reasons.PROCESSES: """
        : prepare_multiprocessing_environment
        multiprocessing.reductions: rebuild_meta_tensor rebuild_nested_tensor
            rebuild_sparse_compressed_tensor rebuild_sparse_coo_tensor reduce_nested_tensor
            reduce_sparse_tensor
    """,
    reasons.CUDA: """
        cuda.streams: ExternalStream
        multiprocessing.reductions: rebuild_cuda_tensor rebuild_event reduce_event
    """,
    reasons.LAUNCHER: """
        distributed.elastic.events.api: NodeState RdzvEvent
        distributed.elastic.events: NodeState RdzvEvent
        distributed.elastic.metrics: ConsoleMetricHandler MetricData MetricHandler MetricStream
            MetricsConfig NullMetricHandler get_elapsed_time_ms profile publish_metric
        distributed.elastic.multiprocessing.api: get_std_cm
        distributed.elastic.rendezvous.dynamic_rendezvous: RendezvousSettings RendezvousTimeout
        distributed.run: run_script_path
    """,
    reasons.RPC: """
        distributed.rpc: AllGatherStates BackendValue backend_registered
            construct_rpc_backend_options init_backend method_factory new_method register_backend
        distributed.rpc.api: AllGatherStates method_factory new_method
    """,
    reasons.RECORDER: """
        distributed.flight_recorder.components.utils: check_current_entry_match
            check_no_missing_dump_files check_size_alltoall find_coalesced_group
            find_coalesced_group_with_non_p2p get_version_detail match_coalesced_groups
            match_coalesced_groups_with_non_p2p
    """,
    reasons.SHARDED: """
        distributed.algorithms.ddp_comm_hooks.mixed_precision_hooks: _AllreduceUpcastHookState
            _reducer_allreduce_and_upcast_hook
    """,
    _PARTITIONS: """
        fx.experimental.accelerator_partitioner: DAGNode check_dependency combine_two_partitions
            get_bfs_level_partition get_device_partition_stats get_device_to_partitions_mapping
            get_logical_id_to_device get_node_to_partition_mapping reorganize_partitions
            reset_partition_device set_parents_and_children
        fx.experimental.partitioner_utils: get_comm_latency_between get_extra_size_of
            get_latency_of_one_partition get_partition_to_latency_mapping
        fx.experimental.optimization: MklSubgraph UnionFind gen_mkl_autotuner modules_to_mkldnn
            reset_modules use_mkl_length
        fx.passes.split_module: split_module_simple
        fx.passes.tools_common: FxNetAccFusionsFinder
    """,
    _TYPES: """
        fx.experimental.graph_gradual_typechecker: adaptiveavgpool2d_check
            adaptiveavgpool2d_inference_rule add_inference_rule all_eq bn2d_inference_rule
            broadcast_types calculate_out_dimension conv2d_inference_rule conv_refinement_rule
            conv_rule element_wise_eq expand_to_tensor_dim first_two_eq flatten_check
            flatten_inference_rule flatten_refinement_rule get_attr_inference_rule
            get_greatest_upper_bound get_parameter linear_check linear_inference_rule
            linear_refinement_rule maxpool2d_check maxpool2d_inference_rule
            register_algebraic_expressions_inference_rule register_refinement_rule
            relu_inference_rule reshape_inference_rule transpose_inference_rule
        fx.experimental.unification: multipledispatch
        fx.experimental.unification.core: assoc reify unify
        fx.experimental.unification.dispatch: dispatch
        fx.experimental.unification.match: Dispatcher VarDispatcher match ordering supercedes
        fx.experimental.unification.more: reify_object unifiable unify_object
        fx.experimental.unification.multipledispatch: Dispatcher MDNotImplementedError dispatch
            halt_ordering restart_ordering
        fx.experimental.unification.multipledispatch.conflict: AmbiguityWarning ambiguous consistent
            edge ordering super_signature supercedes
        fx.experimental.unification.multipledispatch.core: dispatch ismethod
        fx.experimental.unification.multipledispatch.dispatcher: Dispatcher MDNotImplementedError
            MethodDispatcher ambiguity_warn halt_ordering restart_ordering source str_signature
            variadic_signature_matches warning_text
        fx.experimental.unification.multipledispatch.utils: expand_tuples groupby raises
            reverse_dict typename
        fx.experimental.unification.multipledispatch.variadic: Variadic VariadicSignatureMeta
            VariadicSignatureType isvariadic
        fx.experimental.unification.unification_tools: assoc assoc_in dissoc first get_in groupby
            itemfilter itemmap keyfilter keymap merge merge_with update_in valfilter valmap
        fx.experimental.unification.utils: freeze hashable raises reverse_dict transitive_get xfail
        fx.experimental.unification.variable: Var isvar var variables vars
    """,
    reasons.PROXY: """
        fx.experimental.meta_tracer: MetaAttribute MetaDeviceAttribute MetaProxy embedding_override
            functional_relu_override gen_constructor_wrapper manual_meta_overrides
            nn_layernorm_override torch_abs_override torch_nn_relu_override torch_relu_override
            torch_where_override
    """,
    reasons.COMPILER: """
        fx.passes.dialect.common.cse_pass: inplace_ops rand_ops
        fx.passes.regional_inductor_invoke_subgraph: regional_inductor_invoke_subgraph
    """,
    reasons.SYMBOLIC: """
        fx.experimental.sym_node: sym_acos sym_asin sym_atan sym_cos sym_cosh sym_log2 sym_sin
            sym_sinh sym_sqrt sym_tan sym_tanh
        fx.experimental.dynamic_spec: DictSpec IntVar IntermediateSpec LeafIntSpec LeafSpec
            ObjectSpec ParamsSpec SeqSpec ShapeVar ShapesSpec STATIC TensorSpec
        fx.experimental.recording: FakeTensorMeta NotEqualError replay_shape_env_events
            shape_env_check_state_equal
        fx.experimental.symbolic_shapes: CURRENT_NODE_KEY ConvertIntKey SHAPEENV_EVENT_KEY
            SYMPY_INTERP Specialization StatefulSymbolicContext StatelessSymbolicContext
            SubclassSymbolicContext SymIntEqByExpr SymIntSymbolicContext SymbolicContext TrackedFake
            ValueRangesSLoc canonicalize_bool_expr check_consistent compute_unbacked_bindings
            create_contiguous has_symbolic_sizes_strides is_accessor_node is_nested_int
            is_symbol_binding_fx_node rebind_unbacked resolve_unbacked_bindings
    """,
    reasons.PIPES: """
        utils.data.datapipes.dataframe.dataframe_wrapper: PandasWrapper default_wrapper
        utils.data.datapipes.dataframe.dataframes: Capture CaptureA CaptureAdd CaptureCall
            CaptureControl CaptureDataFrameWithDataPipeOps CaptureF CaptureGetAttr CaptureGetItem
            CaptureInitial CaptureLikeMock CaptureMul CaptureSetItem CaptureSub CaptureVariable
            CaptureVariableAssign disable_capture get_val
        utils.data.datapipes.dataframe.datapipes: ExampleAggregateAsDataFrames
    """,
}
