"""The settings of PyTorch's compiler, which programs write and read: they are kept, and have no effect, as XLA decides by itself."""

from __future__ import annotations

import os
from types import SimpleNamespace

from .._src.neighbours.within.settings import patches

# With PyTorch's defaults, as far as programs are known to read them, also to put them back.
debug = cpp_wrapper = freezing = fallback_random = nan_asserts = memory_planning = emulate_precision_casts = False
max_autotune = max_autotune_gemm = max_autotune_pointwise = coordinate_descent_tuning = search_autotune_cache = False
conv_1x1_as_mm = force_fuse_int_mm_with_mul = benchmark_kernel = profiler_mark_wrapper_call = force_disable_caches = False
combo_kernels = b2b_gemm_pass = permute_fusion = dce = comment_origin = assume_aligned_inputs = verbose_progress = False
fx_graph_cache = autotune_local_cache = epilogue_fusion = pattern_matcher = shape_padding = size_asserts = use_mixed_mm = True
reorder_for_locality = inplace_buffers = allow_buffer_reuse = keep_output_stride = split_reductions = layout_optimization = True
joint_graph_constant_folding = implicit_fallbacks = static_weight_shapes = loop_ordering_after_fusion = graph_partition = True
fx_graph_remote_cache = realize_opcount_threshold = pre_grad_custom_pass = joint_custom_pre_pass = joint_custom_post_pass = None
post_grad_custom_pre_pass = post_grad_custom_post_pass = None
coordinate_descent_check_all_directions, cpp_cache_precompile_headers = False, True
compile_threads = os.cpu_count() or 1
unroll_reductions_threshold = 8
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_gemm_search_space = max_autotune_flex_search_space = "DEFAULT"
worker_start_method = "subprocess"

triton = SimpleNamespace(
    unique_kernel_names=True, cudagraphs=False, cudagraph_trees=True, cudagraph_skip_dynamic_graphs=False, max_tiles=None,
    store_cubin=False, multi_kernel=0, prefer_nd_tiling=False,
)  # fmt: skip
trace = SimpleNamespace(enabled=False, graph_diagram=False, log_url_for_graph_xform=None)
cpp = SimpleNamespace(threads=-1, simdlen=None, enable_kernel_profile=False, weight_prepack=True, enable_concat_linear=False)
cuda = SimpleNamespace()
eager_numerics = SimpleNamespace(division_rounding=False, disable_ftz=False, use_pytorch_libdevice=False)
aot_inductor = SimpleNamespace(output_path="", debug_compile=False)

patch = patches(__name__)
