"""jtorch: PyTorch's namespace and semantics on JAX. ``import jtorch as torch``."""

from __future__ import annotations

import os as _os
import sys as _sys
import warnings as _warnings
from typing import Any as _Any

from ._src.start.pausing import Pause as _Pause
from ._src.start.sharing import take_share as _take_share

_take_share()
with _Pause():
    import jax as _jax

    if _os.environ.get("JTORCH_X64", "1") != "0":
        _jax.config.update("jax_enable_x64", True)

    from ._src.keeping import compiled as _caching

    _caching.enable()

    from ._src.bind import everything as _everything
    from ._src.facts import dtypes as _dtypes
    from ._src.facts.size import Size as Size
    from ._src.facts.size import SymBool as SymBool
    from ._src.facts.size import SymFloat as SymFloat
    from ._src.facts.size import SymInt as SymInt
    from ._src.start import hooks as _start_hooks
    from ._src.start import kernels as _kernels
    from ._src.start import tensor as _start_tensor
    from .core import Tensor as Tensor
    from .torch_version import __version__ as __version__

    # hints of what nobody else uses, of names that are not there
    Tensor.__module__, Tensor.__annotations__ = "torch", {}
    _start_tensor.bind_everything()
for _path, _made in _everything.PUBLIC.items():
    if "." not in _path:
        globals()[_path] = _made
for _name, _made in {**_dtypes.BY_NAME, **_dtypes.ALIASES, **_dtypes.ABSENT}.items():
    globals()[_name] = _made

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _C as _C
from . import autograd as autograd
from . import return_types as return_types
from . import version as version
from ._src import engine as _engine
from ._src.borders.interop import *
from ._src.borders.settings import *
from ._src.engine import OutOfMemoryError as OutOfMemoryError
from ._src.engine import execution as execution
from ._src.engine import execution_mode as execution_mode
from ._src.engine import set_execution as set_execution
from ._src.facts import devices as _devices
from ._src.facts import layouts as _layouts
from ._src.facts.devices import device as device
from ._src.facts.devices import get_default_device as get_default_device
from ._src.facts.devices import set_default_device as set_default_device
from ._src.facts.dtypes import dtype as dtype
from ._src.facts.dtypes import finfo as finfo
from ._src.facts.dtypes import get_default_dtype as get_default_dtype
from ._src.facts.dtypes import iinfo as iinfo
from ._src.facts.dtypes import set_default_dtype as set_default_dtype
from ._src.facts.layouts import channels_last as channels_last
from ._src.facts.layouts import channels_last_3d as channels_last_3d
from ._src.facts.layouts import contiguous_format as contiguous_format
from ._src.facts.layouts import layout as layout
from ._src.facts.layouts import memory_format as memory_format
from ._src.facts.layouts import preserve_format as preserve_format
from ._src.facts.layouts import strided as strided
from ._src.files.saving import load as load
from ._src.files.saving import save as save
from ._src.refusals import stand_ins as _refusals
from ._src.start import old_pickles as _old_pickles
from ._src.start.install import install as install
from ._src.tensor.printing import set_printoptions as set_printoptions
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import inference_mode as inference_mode
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled

newaxis = None

for _name in (
    "sparse_coo",
    "sparse_csr",
    "sparse_csc",
    "sparse_bsr",
    "sparse_bsc",
    "jagged",
    "_mkldnn",
):
    globals()[_name] = getattr(_layouts, _name)

from . import fft as fft
from . import linalg as linalg
from . import special as special
from ._src.borders.pytree import register as _register_pytree
from ._src.start import tracebacks as _tracebacks

_register_pytree()
_tracebacks.install()
from .random import *

#: Subpackages that load when they are first touched, so that ``import jtorch`` stays quick.
_LAZY = (
    "__config__", "__future__", "_vmap_internals", "_weights_only_unpickler",
    "accelerator", "amp", "backends", "functional", "compiler", "cpu", "cuda", "distributed",
    "distributions", "func", "hub", "jax", "jit", "library",
    "masked", "mps", "nested", "nn", "onnx", "optim", "fx", "overrides", "profiler",
    "random", "serialization", "signal", "sparse", "testing", "types", "utils", "wrappers", "xpu",
    "_utils", "return_types", "_VF", "_decomp", "_dynamo", "_functorch", "_guards",
    "_higher_order_ops", "_inductor", "_jit_internal", "_subclasses", "ao", "_ops", "ops",
    "_prims_common", "_tensor", "_tensor_str", "classes", "futures", "monitor", "mtia",
    "multiprocessing", "quasirandom", "storage", "torch_version",
)  # fmt: skip
#: Names that live in them.
_LAZY_NAMES = {
    "_disable_dynamo": "_compile",
    "UntypedStorage": "_src.tensor.untyped_storage", "TypedStorage": "_src.tensor.typed_storage",
    "GradScaler": "amp", "Future":
    "futures", "Stream": "_src.borders.streams",
    "Event": "_src.borders.streams", "ScriptModule": "jit", "ScriptFunction": "jit",
    "PyTorchFileReader": "_src.files.archive_records",
    "PyTorchFileWriter": "_src.files.archive_records", "FileCheck": "testing",
    **dict.fromkeys((
        "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
        "_check_tensor_all_with", "_check_type", "_check_value", "_check_with",
    ), "_src.bind.conditions"),
    **dict.fromkeys((
        "_addmm_activation", "_aminmax", "_assert_async", "_assert_tensor_metadata",
        "_compute_linear_combination", "_convert_indices_from_coo_to_csr",
        "_convert_indices_from_csr_to_coo", "_debug_has_internal_overlap", "_fused_sdp_choice",
        "_grouped_mm", "_int_mm", "_shape_as_tensor",
    ), "_src.bind.underscored"),
    **dict.fromkeys((
        "_masked_softmax", "_native_multi_head_attention", "_transform_bias_rescale_qkv",
        "_transformer_encoder_layer_fwd",
    ), "_src.bind.fused_layers"),
    **dict.fromkeys((
        "DoubleStorage", "FloatStorage", "HalfStorage", "LongStorage", "IntStorage", "ShortStorage",
        "CharStorage", "ByteStorage", "BoolStorage", "BFloat16Storage", "ComplexDoubleStorage",
        "ComplexFloatStorage", "Storage", "_storage_classes",
    ), "_src.tensor.legacy_storage"),
    "StorageBase": "_src.tensor.untyped_storage", "legacy_contiguous_format": "_src.facts.layouts",
    **dict.fromkeys((
        "qscheme", "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
        "per_channel_symmetric", "per_channel_affine_float_qparams",
    ), "_src.facts.layouts"),
    "Tag": "library.tags",
    "_amp_foreach_non_finite_check_and_unscale_": "amp.scale_updates",
    "_amp_update_scale_": "amp.scale_updates",
    **dict.fromkeys((
        "_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int",
        "_cast_Long", "_cast_Short", "_segment_reduce", "_unique", "_unique2",
    ), "_src.bind.underscored"),
    "compile": "compiler", "vmap": "func", "autocast": "amp", "fork": "jit",
    "wait": "jit",
    "get_autocast_dtype": "amp", "set_autocast_dtype": "amp", "is_autocast_enabled": "amp",
    "set_autocast_enabled": "amp", "is_autocast_cache_enabled": "amp",
    "set_autocast_cache_enabled": "amp", "clear_autocast_cache": "amp",
    **dict.fromkeys((
        "_nested_from_padded", "_nested_from_padded_and_nested_example", "_nested_tensor_from_mask",
        "_nested_tensor_from_mask_left_aligned", "_nested_compute_contiguous_strides_offsets",
        "_nested_view_from_buffer",
    ), "wrappers.nested.from_dense"),
    "get_autocast_gpu_dtype": "amp", "get_autocast_cpu_dtype": "amp",
    "is_autocast_cpu_enabled": "amp",
    **dict.fromkeys((
        "is_autocast_available", "autocast_increment_nesting", "autocast_decrement_nesting",
        "set_autocast_cpu_enabled", "set_autocast_cpu_dtype", "set_autocast_gpu_dtype",
        "is_autocast_xla_enabled", "set_autocast_xla_enabled", "get_autocast_xla_dtype",
        "set_autocast_xla_dtype", "is_autocast_ipu_enabled", "set_autocast_ipu_enabled",
        "get_autocast_ipu_dtype", "set_autocast_ipu_dtype",
    ), "amp.autocast_mode"),
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "FloatTensor": "_src.tensor.legacy_classes", "DoubleTensor": "_src.tensor.legacy_classes",
    "HalfTensor":
    "_src.tensor.legacy_classes", "BFloat16Tensor": "_src.tensor.legacy_classes",
    "ByteTensor": "_src.tensor.legacy_classes", "CharTensor": "_src.tensor.legacy_classes",
    "ShortTensor": "_src.tensor.legacy_classes", "IntTensor": "_src.tensor.legacy_classes",
    "LongTensor": "_src.tensor.legacy_classes", "BoolTensor": "_src.tensor.legacy_classes",
}  # fmt: skip

_sys.meta_path += [_refusals.Finder(), _old_pickles.Finder()]


def __getattr__(name: str) -> _Any:
    import importlib

    if name == "torch":  # programs write torch.torch
        return _sys.modules[__name__]
    if name == "__all__":  # what `import *` takes: no modules, as there
        known = {
            name: getattr(_sys.modules[__name__], name)
            for name in (*globals(), *_LAZY_NAMES)
            if not name.startswith("_")
        }
        return sorted(name for name, value in known.items() if not isinstance(value, type(_sys)))
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    if name in _LAZY:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in ("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"):
        backend = getattr(importlib.import_module(f"{__name__}.backends"), name[4:])
        asked = "is_built" if name in ("has_cuda", "has_mps") else "is_available"
        _warnings.warn(
            f"'{name}' is deprecated, please use 'torch.backends.{name[4:]}.{asked}()'",
            stacklevel=2,
        )
        return getattr(backend, asked)()
    if name == "set_vital":  # as in PyTorch, which keeps nothing either
        _warnings.warn(f"'{name}' is deprecated, please do not call", stacklevel=2)
        return lambda *_: None
    return _refusals.find("jtorch", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})
