"""Tables of what backends can quantise."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from .backend_config import BackendConfig as BackendConfig
from .backend_config import BackendPatternConfig as BackendPatternConfig
from .backend_config import DTypeConfig as DTypeConfig
from .backend_config import DTypeWithConstraints as DTypeWithConstraints
from .backend_config import ObservationType as ObservationType
from .native import get_fbgemm_backend_config as get_fbgemm_backend_config
from .native import get_native_backend_config as get_native_backend_config
from .native import get_native_backend_config_dict as get_native_backend_config_dict
from .native import get_qnnpack_backend_config as get_qnnpack_backend_config
from .native import (
    get_test_only_legacy_native_backend_config as get_test_only_legacy_native_backend_config,
)
from .native import (  # noqa: F401
    get_test_only_legacy_native_backend_config_dict,
)
from .native import get_x86_backend_config as get_x86_backend_config

__all__ = [
    "get_fbgemm_backend_config", "get_native_backend_config", "get_native_backend_config_dict",
    "get_qnnpack_backend_config",
    "get_tensorrt_backend_config",  # pyright: ignore[reportUnsupportedDunderAll]
    "get_tensorrt_backend_config_dict",  # pyright: ignore[reportUnsupportedDunderAll]
    "get_executorch_backend_config",  # pyright: ignore[reportUnsupportedDunderAll]
    "BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints",
    "ObservationType",
]  # fmt: skip

__getattr__ = _refusals.missing(__name__)
