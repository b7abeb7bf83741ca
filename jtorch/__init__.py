"""jtorch: PyTorch's namespace and semantics on JAX. ``import jtorch as torch``."""

from __future__ import annotations

import os as _os
import sys as _sys
from typing import Any as _Any

from ._startup import Pause as _Pause

with _Pause():
    import jax as _jax

    if _os.environ.get("JTORCH_X64", "1") != "0":
        _jax.config.update("jax_enable_x64", True)

    from . import caching as _caching

    _caching.enable()

    from . import dtypes as _dtypes
    from . import functional as functional
    from .core import Tensor as Tensor
    from .size import Size as Size
    from .size import SymBool as SymBool
    from .size import SymFloat as SymFloat
    from .size import SymInt as SymInt
    from .start import hooks as _start_hooks
    from .start import kernels as _kernels
    from .start import tensor as _start_tensor
    from .torch_version import __version__ as __version__

    Tensor.__module__ = "torch"
    _start_tensor.bind_everything()
for _path, _made in functional.PUBLIC.items():
    if "." not in _path:
        globals()[_path] = _made
for _name, _made in {**_dtypes.BY_NAME, **_dtypes.ALIASES, **_dtypes.ABSENT}.items():
    globals()[_name] = _made

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _C as _C
from . import _refusals as _refusals
from . import autograd as autograd
from . import devices as _devices
from . import engine as engine
from . import layouts as _layouts
from . import return_types as return_types
from . import version as version
from ._saving import load as load
from ._saving import save as save
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import inference_mode as inference_mode
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .devices import device as device
from .devices import get_default_device as get_default_device
from .devices import set_default_device as set_default_device
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import set_default_dtype as set_default_dtype
from .engine import OutOfMemoryError as OutOfMemoryError
from .engine import execution as execution
from .engine import execution_mode as execution_mode
from .engine import set_execution as set_execution
from .install import install as install
from .interop import *
from .layouts import channels_last as channels_last
from .layouts import channels_last_3d as channels_last_3d
from .layouts import contiguous_format as contiguous_format
from .layouts import layout as layout
from .layouts import memory_format as memory_format
from .layouts import preserve_format as preserve_format
from .layouts import strided as strided
from .printing import set_printoptions as set_printoptions

newaxis = None

for _name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn"):
    globals()[_name] = getattr(_layouts, _name)

from . import _tracebacks
from . import fft as fft
from . import linalg as linalg
from . import special as special
from .pytree import register as _register_pytree

_register_pytree()
_tracebacks.install()
import importlib.util as _iu

if _iu.find_spec("jtorch.random"):
    from .random import *

#: Subpackages that load when they are first touched, so that ``import jtorch`` stays quick.
_LAZY = (
    "__config__", "__future__",
    "accelerator", "amp", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "func", "hub", "jax", "jit", "library",
    "masked", "mps", "nested", "nn", "onnx", "optim", "fx", "overrides", "profiler",
    "random", "serialization", "signal", "sparse", "testing", "types", "utils", "wrappers", "xpu", "_utils", "return_types",
    "_VF", "_decomp", "_dynamo", "_functorch", "_guards", "_higher_order_ops", "_inductor", "_jit_internal", "_subclasses", "ao",
    "_ops", "_prims_common", "_tensor", "_tensor_str", "classes", "futures", "monitor", "mtia", "multiprocessing", "quasirandom", "storage",
    "torch_version",
)  # fmt: skip
#: Names that live in them.
_LAZY_NAMES = {
    "UntypedStorage": "storages", "TypedStorage": "typed_storages", "GradScaler": "amp", "Future": "futures", "Stream": "streams",
    "Event": "streams", "ScriptModule": "jit", "ScriptFunction": "jit", "PyTorchFileReader": "_archive_records",
    "PyTorchFileWriter": "_archive_records",
    **dict.fromkeys((
        "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with",
        "_check_type", "_check_value", "_check_with",
    ), "checks"),
    **dict.fromkeys((
        "_addmm_activation", "_aminmax", "_assert_async", "_compute_linear_combination", "_convert_indices_from_coo_to_csr",
        "_convert_indices_from_csr_to_coo", "_debug_has_internal_overlap", "_grouped_mm", "_int_mm", "_shape_as_tensor",
    ), "low_level"),
    **dict.fromkeys((
        "DoubleStorage", "FloatStorage", "HalfStorage", "LongStorage", "IntStorage", "ShortStorage", "CharStorage", "ByteStorage",
        "BoolStorage", "BFloat16Storage", "ComplexDoubleStorage", "ComplexFloatStorage",
        "Storage", "_storage_classes",
    ), "legacy_storages"),
    "StorageBase": "storages", "legacy_contiguous_format": "layouts",
    **dict.fromkeys((
        "_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long", "_cast_Short",
        "_segment_reduce",
    ), "low_level"),
    "compile": "compiler", "vmap": "func", "autocast": "amp", "fork": "jit",
    "wait": "jit",
    "get_autocast_dtype": "amp", "set_autocast_dtype": "amp", "is_autocast_enabled": "amp", "set_autocast_enabled": "amp",
    "is_autocast_cache_enabled": "amp", "set_autocast_cache_enabled": "amp", "clear_autocast_cache": "amp",
    **dict.fromkeys((
        "_nested_from_padded", "_nested_from_padded_and_nested_example", "_nested_tensor_from_mask",
        "_nested_tensor_from_mask_left_aligned",
    ), "wrappers.nested.from_dense"),
    "get_autocast_gpu_dtype": "amp", "get_autocast_cpu_dtype": "amp", "is_autocast_cpu_enabled": "amp",
    **dict.fromkeys((
        "is_autocast_available", "autocast_increment_nesting", "autocast_decrement_nesting", "set_autocast_cpu_enabled",
        "set_autocast_cpu_dtype", "set_autocast_gpu_dtype", "is_autocast_xla_enabled", "set_autocast_xla_enabled",
        "get_autocast_xla_dtype", "set_autocast_xla_dtype", "is_autocast_ipu_enabled", "set_autocast_ipu_enabled",
        "get_autocast_ipu_dtype", "set_autocast_ipu_dtype",
    ), "amp.autocast_mode"),
    "is_anomaly_enabled": "autograd.anomaly_mode", "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "FloatTensor": "legacy", "DoubleTensor": "legacy", "HalfTensor": "legacy", "BFloat16Tensor": "legacy", "ByteTensor": "legacy",
    "CharTensor": "legacy", "ShortTensor": "legacy", "IntTensor": "legacy", "LongTensor": "legacy", "BoolTensor": "legacy",
}  # fmt: skip

_sys.meta_path.append(_refusals.Finder())


def __getattr__(name: str) -> _Any:
    import importlib

    if name == "torch":  # programs write torch.torch
        return _sys.modules[__name__]
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in _LAZY:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    return _refusals.find("jtorch", name)
