"""What programs ask ``torch._C`` about itself, with the answers that hold here, and switches that
change nothing."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import platform as _platform
import threading as _threading
import weakref as _weakref
from typing import Any

from .._src import hooks as _hooks
from .._src.aten.state import NoDispatch as _NoDispatch
from .._src.facts import devices as _devices
from .._src.facts.determinism import ASKED as _ASKED
from .._src.facts.errors import broadcast_shapes as _broadcast_shapes
from .._src.facts.errors import type_name as _type_name
from .._src.facts.layouts import strided as _strided
from .._src.facts.size import Size as _Size
from .._src.files.archive_records import PyTorchFileReader as PyTorchFileReader
from .._src.files.archive_records import PyTorchFileWriter as PyTorchFileWriter
from ..autograd.engine import is_walking as _is_walking
from ..autograd.engine import walk_now as _walk_now
from ..autograd.grad_mode import FORWARD as _FORWARD
from ..autograd.nodes import Shown as _Shown
from ..core import Tensor as _Tensor
from ..dispatch import EnableTorchFunction as _Enable
from ..dispatch import disabled_torch_dispatch_impl as _disabled

#: Whether PyTorch was built for GPUs, and with what libraries for devices that are none of JAX's.
_has_xpu = _has_cuda = _has_cudnn = _has_magma = _has_mps = _has_cusparselt = _has_kleidiai = (
    _has_mkldnn_acl
) = _has_eigen_sparse = False
#: The class of tensors' class.
_TensorMeta = type(_Tensor)
#: Objects while which there are no handlers of operators are asked, and handlers of functions are
#: asked again.
_DisableTorchDispatch = _NoDispatch
_EnableTorchFunction = _Enable


def _mps_is_available() -> bool:
    """Whether JAX found one of Apple's GPUs."""
    return bool(_devices.jax_devices("mps"))


def _mps_is_on_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of at least a version.

    Raises:
        RuntimeError: where there is none of Apple's GPUs.
    """
    if not _mps_is_available():
        raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
    found = _platform.mac_ver()[0]
    return bool(found) and tuple(int(n) for n in found.split(".")[:2]) >= (major, minor)


def _dispatch_isTensorSubclassLike(tensor: _Tensor) -> bool:
    """Whether operators on a tensor may do something of their own: its class handles them, or it
    has no strided data, or is an example."""
    from ..func.levels import Batched

    handler = getattr(type(tensor), "__torch_dispatch__", None)
    if handler is not None and handler is not _disabled:
        return True
    return (
        tensor.layout is not _strided
        or tensor.device.type == "meta"
        or type(tensor._read()) is Batched
    )


def _infer_size(a: Any, b: Any, /) -> object:
    """The shape that two shapes broadcast to.

    Raises:
        RuntimeError: if they do not.
    """
    return _Size(_broadcast_shapes(tuple(a), tuple(b)))


def _will_engine_execute_node(node: object, /) -> bool:
    """Whether the backward pass that is going on comes to a node.

    Raises:
        RuntimeError: outside of a backward pass, for what is no node, and for a leaf's node while
            ``autograd.grad`` runs.
    """
    if not isinstance(node, _Shown):
        raise RuntimeError(
            f"_will_engine_execute_node expects an grad_fn, but got {_type_name(node)}"
        )
    if not _is_walking():
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    walk = _walk_now()
    if walk.gathers and hasattr(type(node), "variable"):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return walk.will_reach(node)


def _current_graph_task_id() -> int:
    """The number of the backward pass that is going on, -1 outside of all."""
    return _walk_now().number if _is_walking() else -1


def _is_fwd_grad_enabled() -> bool:
    """Whether what is computed of dual tensors has tangents."""
    return _FORWARD.enabled


def _set_fwd_grad_enabled(enabled: bool, /) -> None:
    """Sets whether what is computed of dual tensors has tangents."""
    _FORWARD.enabled = enabled


def _log_api_usage_once(event: str) -> None:
    """Nothing: usage is not counted."""


def _get_accelerator(check: bool = False) -> object:
    """The accelerator's device; the CPU's if there is none."""
    return _devices.device(_devices.accelerator_type() or "cpu")


def _get_default_device() -> str:
    """The type of the default device."""
    return _devices.get_default_device().type


def _get_privateuse1_backend_name() -> str:
    """The name of devices that others add; nobody has added any."""
    return "privateuseone"


def _get_cudnn_enabled() -> bool:
    """``torch.backends.cudnn.enabled``."""
    return _hooks.backends.get().cudnn.enabled


def _are_functorch_transforms_active() -> bool:
    """Whether a ``vmap`` of ``torch.func`` is running.

    Differs from torch: ``torch.func.grad`` and its kin record as always, and do not count.
    """
    from ..func.levels import RUNNING

    return bool(RUNNING)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode of ``__torch_function__`` is on."""
    from ..overrides import _get_current_function_mode

    return _get_current_function_mode() is not None


class _Tracing(_threading.local):
    """The tracer of ``torch.jit`` that is running in this thread, if one is."""

    now: Any = None


TRACING = _Tracing()


def _is_tracing() -> bool:
    """Whether ``torch.jit`` makes a graph of what is being called."""
    return TRACING.now is not None


def _get_tracing_state() -> object:
    """The state of the trace that ``torch.jit`` is making, or None."""
    return None if TRACING.now is None else TRACING.now.state


def _is_alias_of(input: _Tensor, other: _Tensor) -> bool:
    """Whether two tensors look at one storage."""
    return input.untyped_storage() == other.untyped_storage()


def _jit_set_profiling_executor(profiling_flag: bool) -> bool:
    """Nothing: there is no TorchScript. True, what was set before."""
    return True


def _jit_set_profiling_mode(profiling_flag: bool) -> bool:
    """Nothing: there is no TorchScript. True, what was set before."""
    return True


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Nothing: XLA fuses by its own rules."""


def _jit_override_can_fuse_on_cpu(override: bool) -> None:
    """Nothing: XLA fuses by its own rules."""


def _jit_override_can_fuse_on_gpu(override: bool) -> None:
    """Nothing: XLA fuses by its own rules."""


def _jit_set_nvfuser_enabled(enabled: bool) -> None:
    """Nothing: XLA fuses by its own rules."""


def _jit_set_nvfuser_guard_mode(profiling_flag: bool) -> None:
    """Nothing: XLA fuses by its own rules."""


def _jit_can_fuse_on_cpu() -> bool:
    """False: there is no TorchScript."""
    return False


def _jit_can_fuse_on_gpu() -> bool:
    """False: there is no TorchScript."""
    return False


def _set_math_sdp_allow_fp16_bf16_reduction(value: bool) -> None:
    """``torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp``."""
    _hooks.backends.get().cuda.allow_fp16_bf16_reduction_math_sdp(value)


class _WeakTensorRef:
    """Refers to a tensor without keeping it alive."""

    def __init__(self, tensor: _Tensor) -> None:
        self._there = _weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._there() is None


#: Whether programs asked to be told where a ``vmap`` runs example by example. None ever does here:
#: JAX has a rule for every kernel.
_FALLBACK_WARNINGS: list[bool] = [False]


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether warnings were asked for where a ``vmap`` runs example by example; there is nothing to
    warn of."""
    return _FALLBACK_WARNINGS[0]


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Asks for warnings where a ``vmap`` runs example by example, which it never does."""
    _FALLBACK_WARNINGS[0] = bool(enabled)


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """Whether deterministic algorithms fill memory that nobody wrote."""
    return _ASKED.fill


def _set_deterministic_fill_uninitialized_memory(mode: bool, /) -> None:
    """Asks deterministic algorithms to fill memory that nobody wrote, or not to.

    Raises:
        RuntimeError: for what is no bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _ASKED.ask_to_fill(mode)
