"""The settings of PyTorch's compiler, which programs write and read: they are kept, and have no
effect, as XLA decides by itself."""

from __future__ import annotations

import os
from types import SimpleNamespace

from .._src.neighbours.within.settings import patches

# With PyTorch's defaults: programs read them, also to put them back. What stands for the folders of
# its own checkout is left out.
debug = cpp_wrapper = freezing = fallback_random = nan_asserts = memory_planning = (
    emulate_precision_casts
) = False
max_autotune = max_autotune_gemm = max_autotune_pointwise = coordinate_descent_tuning = (
    search_autotune_cache
) = False
conv_1x1_as_mm = force_fuse_int_mm_with_mul = benchmark_kernel = profiler_mark_wrapper_call = (
    force_disable_caches
) = False
combo_kernels = b2b_gemm_pass = permute_fusion = dce = comment_origin = assume_aligned_inputs = (
    verbose_progress
) = False
fx_graph_cache = autotune_local_cache = epilogue_fusion = pattern_matcher = shape_padding = (
    size_asserts
) = use_mixed_mm = True
reorder_for_locality = inplace_buffers = allow_buffer_reuse = keep_output_stride = (
    split_reductions
) = layout_optimization = True
joint_graph_constant_folding = implicit_fallbacks = static_weight_shapes = (
    loop_ordering_after_fusion
) = graph_partition = True
fx_graph_remote_cache = realize_opcount_threshold = pre_grad_custom_pass = joint_custom_pre_pass = (
    joint_custom_post_pass
) = None
post_grad_custom_pre_pass = post_grad_custom_post_pass = None
coordinate_descent_check_all_directions, cpp_cache_precompile_headers = False, True
compile_threads = os.cpu_count() or 1
unroll_reductions_threshold = 8
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_gemm_search_space = max_autotune_flex_search_space = "DEFAULT"
worker_start_method = "subprocess"
can_inplace_pad_graph_input = remote_gemm_autotune_cache = (
    unsafe_skip_cache_dynamic_shape_guards
) = cpp_wrapper_build_separate = False
fx_wrapper = runtime_triton_nan_asserts = use_fast_math = epilogue_fusion_with_atomic_add = (
    epilogue_fusion_first
) = False
epilogue_fusion_user_defined_triton_kernel = efficient_conv_bn_eval_fx_passes = is_predispatch = (
    group_fusion
) = False
reorder_for_compute_comm_overlap = reorder_for_peak_memory_debug = dedup_reduce_scatters = (
    runtime_estimations_mms_benchmark
) = False
distributed_max_autotune_gemm = pipeline_max_autotune_gemm = use_torch_profiler_benchmarker = (
    incremental_autotune
) = False
max_autotune_prune_choices_based_on_shared_mem = triton_disable_device_detection = (
    max_autotune_allow_flexible_layouts
) = False
nvgemm_supplement_configs = fallback_by_default = selective_decompose = (
    cutedsl_enable_autotuning
) = autotune_fallback_to_aten = False
save_args = autotune_in_subproc = autotune_multi_device = (
    coordinate_descent_check_all_directions
) = run_jit_post_compile_hook = False
force_layout_optimization = cache_sdpa_constraint = warn_mix_layout = align_random_eager = (
    fallback_embedding_bag_byte_unpack
) = False
assume_unaligned_fallback_output = aggressive_fusion = debug_fusion = benchmark_fusion = (
    force_pointwise_cat
) = deterministic = False
batch_invariant = always_keep_tensor_constants = do_not_emit_runtime_assertions = (
    compute_all_bounds
) = benchmark_combo_kernel = False
combo_kernel_per_subkernel_blocks = combo_kernels_pointwise_only = debug_index_asserts = (
    developer_warnings
) = log_tlparse = False
partitioned_scatter_enabled = static_launch_user_defined_triton_kernels = (
    strict_static_cuda_launcher
) = keep_static_cubin_raw = False
pad_channels_last = pad_dynamic_shapes = expand_dimension_for_pointwise_nodes = pad_outputs = (
    force_shape_pad
) = False
generate_intermediate_hooks = debug_ir_traceback = profile_bandwidth = (
    profile_bandwidth_with_do_bench_using_profiling
) = False
disable_cpp_codegen = freezing_discard_parameters = decompose_mem_bound_mm = (
    wrap_inductor_compiled_regions
) = False
assume_32bit_indexing = unsafe_ignore_unsupported_triton_autotune_args = (
    enable_linear_binary_folding
) = annotate_training = False
enable_autograd_for_aot = False
inplace_padding = enable_auto_functionalized_v2 = disable_progress = (
    bundle_triton_into_fx_graph_cache
) = True
non_blocking_remote_cache_write = cpp_cache_precompile_headers = online_softmax = (
    apply_gumbel_max_trick
) = scalar_asserts = True
alignment_asserts = pick_loop_orders = benchmark_harness = prologue_fusion = split_cat_fx_passes = (
    batch_fusion
) = True
dynamic_scale_rblock = keep_addmm_fused_for_half_dtypes = reorder_for_peak_memory = (
    use_experimental_benchmarker
) = True
max_autotune_report_choices_stats = use_dce = use_pre_grad_passes = use_joint_graph_passes = (
    use_post_grad_passes
) = True
delay_realize_cheap_outputs = loop_reindexing_after_fusion = loop_index_inversion_in_fusion = (
    benchmark_epilogue_fusion
) = True
constant_and_index_propagation = assert_indirect_indexing = combo_kernel_foreach_dynamic_shapes = (
    combo_kernel_autotune_grouping
) = True
optimize_scatter_upon_const_tensor = worker_suppress_logging = quiesce_async_compile_pool = (
    use_static_cuda_launcher
) = True
use_fast_triton_launcher = use_launch_metadata_schema = comprehensive_padding = (
    disable_padding_cpu
) = bw_outputs_user_visible = True
enable_caching_generated_triton_templates = write_are_deterministic_algorithms_enabled = (
    emulate_precision_casts_on_saved_tensors
) = True
worker_log_path = autotune_remote_cache = bundled_autotune_remote_cache = custom_partitioner_fn = (
    reorder_prefetch_limit
) = None
bucket_all_gathers_fx_bucket_size_determinator = (
    bucket_reduce_scatters_fx_bucket_size_determinator
) = None
bucket_all_reduces_fx_bucket_size_determinator = intra_node_bw = inter_node_bw = (
    cudagraph_policy
) = realize_acc_reads_threshold = None
realize_acc_reads_size_threshold = inductor_choices_class = max_fusion_unique_io_buffers = (
    combo_kernel_peak_memory_increase_gb
) = None
add_pre_grad_passes = remove_pre_grad_passes = global_cache_dir = profile_bandwidth_output = None
precompilation_timeout_seconds = 300
unsafe_marked_cacheable_functions: dict[str, object] = {}
pre_grad_fusion_options: dict[str, object] = {}
post_grad_fusion_options: dict[str, object] = {}
autotune_lookup_table: dict[str, object] = {}
triton_kernel_default_layout_constraint = "needs_fixed_stride_order"
memory_pool = "intermediates"
mixed_mm_choice = "heuristic"
reorder_for_compute_comm_overlap_passes: list[object] = []
custom_should_partition_ops: list[object] = []
cudagraph_unsafe_unbacked_ops: list[object] = []
multi_kernel_hints: list[object] = []
external_matmul: list[object] = []
size_threshold_for_succ_based_strategy = min_num_split = compile_worker_wait_timeout = 0
bucket_all_gathers_fx = bucket_reduce_scatters_fx = bucket_all_reduces_fx = "none"
bucket_all_gathers_bucket_mode = bucket_reduce_scatters_bucket_mode = estimate_op_runtime = (
    pre_grad_pass_timing
) = "default"
cpu_gpu_bw = 50.0
inductor_default_autotune_warmup = 25
inductor_default_autotune_rep = 100
autotune_num_choices_displayed = score_fusion_memory_threshold = kernel_name_max_ops = 10
nvgemm_max_profiling_configs = 5
max_autotune_conv_backends = "ATEN,TRITON"
max_autotune_conv_bwd_weight_backends = max_autotune_conv_bwd_input_backends = "ATEN"
max_autotune_gemm_search_space = max_autotune_flex_search_space = autoheuristic_log_path = "DEFAULT"
unbacked_symint_fallback = 8192
max_autotune_subproc_result_timeout_seconds = 60.0
max_autotune_subproc_graceful_timeout_seconds = max_autotune_subproc_terminate_timeout_seconds = 0.0
collective_benchmark_nruns = realize_cpu_opcount_threshold = 50
collective_benchmark_timeout = 30.0
coordinate_descent_search_radius = max_epilogue_benchmarked_choices = combo_kernels_autotune = (
    combo_kernel_allow_mixed_sizes
) = 1
layout_opt_default = "1"
realize_reads_threshold = 4
realize_cpu_acc_reads_threshold = 12
enabled_metric_tables = disabled_passes = profile_bandwidth_regex = ""
max_fusion_size = max_fusion_buffer_group_pairwise_attempts = 64
min_overlap_ratio = 1.1
max_complex_pointwise_cat_inputs = max_pointwise_cat_inputs = combo_kernel_max_num_nodes = 8
combo_kernel_max_num_args = 250
combo_kernel_peak_memory_pct_threshold = 0.05
combo_kernel_max_distance = -1
small_memory_access_threshold = 16777216
partitioned_scatter_min_partitions = 2
partitioned_scatter_max_partitions = padding_alignment_bytes = 128
partitioned_scatter_memory_budget = 0.1
quiesce_async_compile_time = 60
padding_stride_threshold = 1024
file_lock_timeout = 600
cpu_backend = "cpp"
cuda_backend = xpu_backend = "triton"
tpu_backend = "pallas"

triton = SimpleNamespace(
    unique_kernel_names=True, cudagraphs=False, cudagraph_trees=True,
    cudagraph_skip_dynamic_graphs=False, max_tiles=None, store_cubin=False, multi_kernel=0,
    prefer_nd_tiling=False,
)  # fmt: skip
trace = SimpleNamespace(enabled=False, graph_diagram=False, log_url_for_graph_xform=None)
cpp = SimpleNamespace(
    threads=-1,
    simdlen=None,
    enable_kernel_profile=False,
    weight_prepack=True,
    enable_concat_linear=False,
)
cuda = SimpleNamespace()
eager_numerics = SimpleNamespace(
    division_rounding=False, disable_ftz=False, use_pytorch_libdevice=False
)
aot_inductor = SimpleNamespace(
    output_path="",
    debug_compile=False,
    debug_symbols=False,
    enable_frame_pointer=True,
    enable_line_tables=True,
    compile_wrapper_opt_level="O1",
    debug_intermediate_value_printer="0",
    filtered_kernel_names=None,
    use_runtime_constant_folding=False,
    force_mmap_weights=False,
    use_consts_asm_build=True,
    package=False,
    package_cpp_only=None,
    package_constants_in_so=True,
    package_constants_on_disk_format=None,
    dynamic_linkage=True,
    metadata={},
    raise_error_on_ignored_optimization=True,
    check_lowerbound=True,
    allow_stack_allocation=False,
    use_minimal_arrayref_interface=False,
    weight_use_caching_allocator=False,
    precompile_headers=True,
    embed_kernel_binary=None,
    emit_multi_arch_kernel=None,
    model_name_for_generated_files=None,
    enable_lto=False,
    link_libtorch=True,
    cross_target_platform=None,
)

patch = patches(__name__)
