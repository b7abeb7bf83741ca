"""Settings of PyTorch's function transforms ahead of time: they are kept, and have no effect."""

from __future__ import annotations

from .._src.neighbours.within.settings import patches

# With PyTorch's defaults, as far as programs are known to read them.
functionalize_rng_ops = unlift_effect_tokens = debug_assert = debug_partitioner = False
treat_parameters_as_free_to_save = cse = donated_buffer = (
    fake_tensor_allow_unsafe_data_ptr_access
) = enable_autograd_cache = True
activation_memory_budget = 1.0
recompute_views = aggressive_recomputation = False
max_dist_from_bw = 1000

patch = patches(__name__)
