"""Settings of PyTorch's reasoning about symbolic sizes: they are kept, and have no effect but
``use_duck_shape``."""

from __future__ import annotations

from ..._src.neighbours.within.settings import patches

# With PyTorch's defaults, as far as programs are known to read them.
translation_validation = print_specializations = inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY = (
    False
)
#: Whether sizes that are equal in the example are one symbol.
use_duck_shape = True
extended_debug_create_symbol = extended_debug_guard_added = None
backed_size_oblivious = no_data_dependent_graph_break = skip_dtype_check_in_meta_registrations = (
    False
)

patch = patches(__name__)
