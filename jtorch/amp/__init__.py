"""Automatic mixed precision: ``autocast`` and ``GradScaler``."""

from __future__ import annotations

from .autocast_mode import _enter_autocast as _enter_autocast
from .autocast_mode import _exit_autocast as _exit_autocast
from .autocast_mode import autocast as autocast
from .autocast_mode import clear_autocast_cache as clear_autocast_cache
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .autocast_mode import get_autocast_dtype as get_autocast_dtype
from .autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .autocast_mode import is_autocast_available as is_autocast_available
from .autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .autocast_mode import is_autocast_enabled as is_autocast_enabled
from .autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .autocast_mode import set_autocast_dtype as set_autocast_dtype
from .autocast_mode import set_autocast_enabled as set_autocast_enabled
from .grad_scaler import GradScaler as GradScaler
