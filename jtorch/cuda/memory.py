"""``torch.cuda.memory``: how much of a device's memory is in use."""

from __future__ import annotations

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
