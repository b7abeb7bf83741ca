"""``torch.cuda.memory``: how much of a device's memory is in use."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals
from . import empty_cache as empty_cache
from . import max_memory_allocated as max_memory_allocated
from . import max_memory_reserved as max_memory_reserved
from . import mem_get_info as mem_get_info
from . import memory_allocated as memory_allocated
from . import memory_reserved as memory_reserved
from . import memory_stats as memory_stats
from . import memory_summary as memory_summary
from . import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from . import reset_max_memory_allocated as reset_max_memory_allocated
from . import reset_max_memory_cached as reset_max_memory_cached
from . import reset_peak_memory_stats as reset_peak_memory_stats
from . import set_per_process_memory_fraction as set_per_process_memory_fraction
from ._state import get_allocator_backend as get_allocator_backend
from ._state import get_per_process_memory_fraction as get_per_process_memory_fraction
from ._state import host_memory_stats as host_memory_stats
from ._state import host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict
from ._state import list_gpu_processes as list_gpu_processes
from ._state import max_memory_cached as max_memory_cached
from ._state import memory_cached as memory_cached
from ._state import memory_snapshot as memory_snapshot
from ._state import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from ._state import reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats
from ._state import reset_peak_host_memory_stats as reset_peak_host_memory_stats

__getattr__ = _refusals.missing(__name__)
