"""CUDA's switches: ``matmul.allow_tf32`` acts on JAX's matrix products, the others are
remembered."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
import numbers
import warnings
from collections.abc import Iterator
from typing import Any

from .. import cuda
from .._src.borders.interop import get_float32_matmul_precision, set_float32_matmul_precision
from .._src.facts.attention_kernels import ENABLED
from .._src.facts.warned_once import outside
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor


class _Matmul:
    """``torch.backends.cuda.matmul``."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 matrix products may round their operands to TF32, on GPUs that can."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        set_float32_matmul_precision("high" if value else "highest")

    @property
    def fp32_precision(self) -> str:
        """``"tf32"`` or ``"ieee"``."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        self.allow_tf32 = value == "tf32"


matmul = _Matmul()


def is_built() -> bool:
    """Whether JAX found a GPU: what it was built for does not show otherwise."""
    return cuda.is_available()


def flash_sdp_enabled() -> bool:
    """What was last set."""
    return ENABLED["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Remembered: one formulation serves all, and ``__torch_dispatch__`` sees what the switches
    choose."""
    ENABLED["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What was last set."""
    return ENABLED["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remembered: one formulation serves all, and ``__torch_dispatch__`` sees what the switches
    choose."""
    ENABLED["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What was last set."""
    return ENABLED["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Remembered: one formulation serves all, and ``__torch_dispatch__`` sees what the switches
    choose."""
    ENABLED["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What was last set."""
    return ENABLED["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remembered: one formulation serves all, and ``__torch_dispatch__`` sees what the switches
    choose."""
    ENABLED["cudnn"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What was last set."""
    return ENABLED["reduced"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Remembered, as seen by ``__torch_dispatch__``."""
    ENABLED["reduced"] = enabled


def is_flash_attention_available() -> bool:
    """False: there is one formulation of attention, under no such name."""
    return False


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> contextlib.AbstractContextManager[Any]:
    """A block in which the switches of attention are set; deprecated."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
        stacklevel=outside(),
    )
    return _switched(
        {
            "flash": enable_flash,
            "math": enable_math,
            "mem_efficient": enable_mem_efficient,
            "cudnn": enable_cudnn,
        }
    )


@contextlib.contextmanager
def _switched(switches: dict[str, bool]) -> Iterator[object]:
    before = dict(ENABLED)
    ENABLED.update(switches)
    try:
        yield {}
    finally:
        ENABLED.update(before)


def preferred_linalg_library(backend: object = None) -> str:
    """``"default"``: XLA chooses."""
    return "default"


def preferred_blas_library(backend: object = None) -> str:
    """``"default"``: XLA chooses."""
    return "default"


class SDPAParams:
    """The operands of one call of attention, as the questions below are asked about it; they cannot
    be changed."""

    __slots__ = ("_given",)

    def __init__(self, *given: Any) -> None:
        fits = (
            len(given) == 7
            and isinstance(given[4], numbers.Real)
            and all(type(flag) is bool for flag in given[5:])
        )
        if (
            not fits
            or not all(isinstance(t, Tensor) for t in given[:3])
            or not isinstance(given[3], (Tensor, type(None)))
        ):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are "
                "supported:\n"
                "    1. torch._C._SDPAParams(arg0: torch.Tensor, arg1: torch.Tensor, arg2: "
                "torch.Tensor, arg3: torch.Tensor | None, arg4: typing.SupportsFloat | "
                "typing.SupportsIndex, arg5: bool, arg6: bool)\n"
                "\n"
                f"Invoked with: {', '.join(map(repr, given))}"
            )
        self._given = given

    query = property(lambda self: self._given[0])
    key = property(lambda self: self._given[1])
    value = property(lambda self: self._given[2])
    attn_mask = property(lambda self: self._given[3])
    dropout = property(lambda self: float(self._given[4]))
    is_causal = property(lambda self: self._given[5])
    enable_gqa = property(lambda self: self._given[6])


def can_use_flash_attention(params: object, debug: bool = False) -> bool:
    """False: there is one formulation of attention, under no such name."""
    return False


def can_use_efficient_attention(params: object, debug: bool = False) -> bool:
    """False: there is one formulation of attention, under no such name."""
    return False


def can_use_cudnn_attention(params: object, debug: bool = False) -> bool:
    """False: there is one formulation of attention, under no such name."""
    return False


def __getattr__(name: str) -> Any:
    return _refusals.find(__name__, name)
