"""Names of PyTorch's compiler that packages import and that are left out, in the form of
``refusals/names.py``."""

from __future__ import annotations

from . import reasons

#: Reason -> lines.
LINES: dict[str, str] = {
    reasons.COMPILER: """
        _dynamo.backends.debugging: ExplainOutput ExplainWithBackend aot_eager
            aot_eager_decomp_partition eager eager_noexcept pre_dispatch_eager
        _dynamo.backends.tvm: tvm has_tvm llvm_target
        _dynamo.bytecode_transformation: Instruction create_instruction transform_code_object
        _dynamo.callback: CallbackTrigger CallbackArgs CompilationCallbackHandler callback_handler
            on_compile_start on_compile_end
        _dynamo.compiled_autograd: AutogradCompilerInstance reset
        _dynamo.comptime: ComptimeVar ComptimeContext comptime
        _dynamo.convert_frame: ConvertFrame ConvertFrameAssert convert_frame convert_frame_assert
            compile_lock
        _dynamo.debug_utils: aot_graph_input_parser generate_config_string minifier_dir
            run_fwd_maybe_bwd same_two_models cast_to_fp64
        _dynamo.device_interface: DeviceInterface CudaInterface XpuInterface CpuInterface
            MpsInterface get_interface_for_device get_registered_device_interfaces
            register_interface_for_device
        _dynamo.external_utils: wrap_inline call_hook wrap_numpy FakeBackwardCFunction call_backward
            normalize_as_list untyped_storage_size FakeCompiledAutogradEngine
            call_hook_from_backward_state call_module_hooks_from_backward_state
            get_nonrecursive_disable_wrapper wrap_dunder_call_ctx_manager unwrap_maybe_dynamic_int
            call_accumulate_grad wrap_inline_with_error_on_graph_break filter_out_const_values
            insert_const_values_with_mask
        _dynamo.functional_export: dynamo_graph_capture_for_export
        _dynamo.guards: CheckFunctionManager GuardBuilder strip_local_scope
        _dynamo.hooks: Hooks
        _dynamo.mutation_guard: MutationTracker watch ensure_patched GenerationTracker
            is_dynamic_nn_module install_generation_tagging_init
        _dynamo.output_graph: FakeRootModule OutputGraph SubgraphTracer
        _dynamo.profiler: ProfileMetrics ProfileResult should_print_missing print_missing Profiler
            fx_insert_profiling
        _dynamo.side_effects: SideEffects allow_side_effects_in_hop
            allow_externally_visible_side_effects_in_subtracer disallow_side_effects_in_generator
        _dynamo.source: AttrSource ChainedSource ConstantSource GetItemSource GlobalSource
            LocalSource NNModuleSource is_constant_source
        _dynamo.symbolic_convert: InliningInstructionTranslator InstructionTranslator
            InstructionTranslatorBase
        _dynamo.trace_rules: add check check_file is_callable_allowed is_callable_disallowed
            is_forbidden is_numpy is_torch lookup
        _dynamo.types: GuardFail GuardFilterEntry GuardFn GuardedCode ConvertFrameReturn
            wrap_guarded_code DynamoCallbackFn DynamoGuardHook DynamoGuardCompleteHook
            ProfilerStartHook ProfilerEndHook BytecodeHook
        _functorch._aot_autograd.subclass_parametrization: SubclassCreationMeta
        _functorch._aot_autograd.utils: call_func_at_runtime_with_args normalize_as_list
            partial_flatten_asdict strict_zip
        _functorch.autograd_function: CustomFunctionHigherOrderOperator CtxCustomSave
            autograd_function_forward_rewritten custom_function_call vmapify_autograd_function
        _functorch.compile_utils: get_aten_target fx_graph_cse raise_getitems strip_overloads
            get_placeholders get_outputs
        _functorch.compilers: DebugInterpreter debug_compile debug_nop draw_graph_compile get_inputs
            graph_dumper_aot memory_efficient_fusion nop print_compile simple_ts_compile ts_compile
        _functorch.fx_minifier: LoadTensorMeta ConcreteProp is_load_tensor_node
            create_minified_hlo_graph dump_state is_power_of_two ReproState minifier
        _functorch.predispatch: lazy_load_decompositions
        _functorch.pyfunctorch: FuncTorchInterpreter GradInterpreter JvpInterpreter VmapInterpreter
            FunctionalizeInterpreter retrieve_current_functorch_interpreter
            retrieve_all_functorch_interpreters temporarily_clear_interpreter_stack
            temporarily_pop_interpreter_stack
        _functorch.utils: enable_single_level_autograd_function unwrap_dead_wrappers
        _higher_order_ops.auto_functionalize: auto_functionalized auto_functionalized_v2
            can_auto_functionalize get_mutable_args
        _higher_order_ops.base_hop: BaseHOP
        _higher_order_ops.effects: has_aliasing has_effects with_effects
        _higher_order_ops.flat_apply: FlatApply flat_apply func_to_graphable to_graphable
        _higher_order_ops.flex_attention: FlexAttentionBackwardHOP FlexAttentionHOP flex_attention
            flex_attention_backward
        _higher_order_ops.foreach_map: ForeachMap
        _higher_order_ops.hints_wrap: HintsWrapper hints_wrapper
        _higher_order_ops.inline_asm_elementwise: inline_asm_elementwise
        _higher_order_ops.invoke_subgraph: InvokeSubgraphHOP invoke_subgraph mark_compile_region
        _higher_order_ops.out_dtype: OutDtypeOperator
        _higher_order_ops.strict_mode: StrictMode strict_mode
        _higher_order_ops.torchbind: call_torchbind enable_torchbind_tracing
        _higher_order_ops.triton_kernel_wrap: TraceableTritonKernelWrapper kernel_side_table
            triton_kernel_wrapper_functional triton_kernel_wrapper_mutation
        _higher_order_ops.utils: UnsupportedAliasMutationException autograd_not_implemented
            reenter_make_fx unique_graph_id has_potential_input_alias_or_mutation
        _higher_order_ops.wrap: TagActivationCheckpoint Wrap WrapActivationCheckpoint
            WrapWithAutocast WrapWithSetGradEnabled dynamo_bypassing_wrapper
            tag_activation_checkpoint wrap wrap_with_autocast wrap_with_set_grad_enabled
        _inductor.async_compile: AsyncCompile shutdown_compile_workers
        _inductor.codecache: CompiledFxGraph CppCodeCache PyCodeCache CodeCacheFuture cache_dir
            get_path FxGraphHashDetails BypassFxGraphCache code_hash write
        _inductor.compile_fx: compile_fx compile_fx_inner graph_returns_tuple
            make_graph_return_tuple
        _inductor.cudagraph_trees: CUDAGraphTreeManager cudagraphify_impl get_manager
            reset_cudagraph_trees
        _inductor.cudagraph_utils: BoxedDeviceIndex CudagraphCachedInfo PlaceholderInfo
        _inductor.debug: DebugContext DebugFormatter create_fx_from_snodes draw_buffers
        _inductor.decomposition: fast_random_decomps select_decomp_table
        _inductor.freezing: freeze
        _inductor.fuzzer: ConfigFuzzer
        _inductor.constant_folding: constant_fold ConstantFolder
        _inductor.fx_passes.freezing_patterns: freezing_passes register_freezing_graph_pattern
        _inductor.fx_passes.mkldnn_fusion: _hardswish_fusion _hardtanh_fusion _silu_fusion
            _gelu_fusion_1 _gelu_fusion_2 _get_remaining_users
        _inductor.codegen.cpp_template: CppTemplate
        _inductor.codegen.cpp_template_kernel: parse_expr_with_index_symbols wrap_with_tensorbox
        _inductor.codegen.cpp_flex_attention_template: CppFlexAttentionTemplate
        _inductor.codegen.triton: TritonOverrides
        _inductor.kernel.flex.common: construct_strides maybe_realize
        _inductor.kernel.flex_attention: construct_strides maybe_realize
        _inductor.fx_passes.fuse_attention: _sfdp_init
        _inductor.fx_passes.group_batch_fusion: group_batch_fusion_passes
        _inductor.fx_passes.joint_graph: joint_graph_passes
        _inductor.fx_passes.post_grad: post_grad_passes decompose_auto_functionalized
        _inductor.fx_passes.pre_grad: pre_grad_passes
        _inductor.fx_utils: FakeTensorUpdater get_node_storage
        _inductor.graph: GraphLowering
        _inductor.ir: Buffer ComputedBuffer ExternKernel ExternKernelOut FallbackKernel FixedLayout
            FlexibleLayout IRNode InputBuffer ChoiceCaller Layout Pointwise Reduction StorageBox
            TensorBox View get_fill_order
        _inductor.lowering: to_dtype add_layout_constraint fallback_handler fallbacks lowerings
            make_fallback make_pointwise
        _inductor.metrics: generated_kernel_count reset
        _inductor.output_code: CompiledFxGraph OutputCode
        _inductor.package: package_aoti
        _inductor.pattern_matcher: Match PatternMatcherPass PatternPrettyPrinter
            ReplacementPatternEntry fwd_only gen_pattern gen_register_replacement get_arg_value
            init_once_fakemode is_match joint_fwd_bwd register_graph_pattern
            register_lowering_pattern register_replacement stable_topological_sort
        _inductor.remote_cache: RemoteCache RemoteCacheBackend create_cache
        _inductor.runtime.benchmarking: benchmarker Benchmarker
        _inductor.runtime.triton_heuristics: pointwise reduction persistent_reduction
        _inductor.scheduler: BaseSchedulerNode BaseScheduling FusedSchedulerNode Scheduler
            SchedulerNode
        _inductor.select_algorithm: AlgorithmSelectorCache ExternKernelChoice TritonTemplate
            autotune_select_algorithm add_feedback_saver realize_inputs
        _inductor.standalone_compile: CompiledArtifact standalone_compile
        _inductor.test_operators: Realize realize
        _inductor.utils: clear_inductor_caches clear_on_fresh_inductor_cache
            do_bench_using_profiling is_big_gpu is_gpu
            is_view run_and_get_code run_and_get_graph_lowering run_and_get_kernels
            run_and_get_triton_code run_fw_bw_and_get_code use_triton_template
        _inductor.virtualized: NullHandler OpsValue OpsWrapper V Virtualized ops
        compiler._cache: CacheArtifact CacheArtifactFactory CacheInfo CacheArtifactRecorder
            CacheArtifactManager
    """,
}
