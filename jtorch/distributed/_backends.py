"""Names: of backends, of reductions, and what is there of each."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, Any, ClassVar

from .._src.facts.errors import not_offered

if TYPE_CHECKING:
    import numpy as np


class _RedOpType(enum.IntEnum):
    """How ``all_reduce`` and ``reduce`` combine the processes' tensors."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


# pickles look it up by the latter
_RedOpType.__name__, _RedOpType.__qualname__ = "RedOpType", "ReduceOp.RedOpType"


class _Kind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _RedOpType)


class ReduceOp(metaclass=_Kind):
    """How ``all_reduce`` and ``reduce`` combine the processes' tensors.

    Args:
        op: its number.
    """

    RedOpType = _RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = _RedOpType

    def __new__(cls, op: object = 0) -> Any:
        """One of the operations."""
        return _RedOpType(op)


class Backend(str):
    """The name of a backend, in lower case.

    Raises:
        ValueError: if the name is no string.
    """

    UNDEFINED = "undefined"
    GLOO, NCCL, UCC, MPI, XCCL, FAKE = "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": GLOO,
        "cuda": NCCL,
        "xpu": XCCL,
        "mps": GLOO,
    }

    def __new__(cls, name: str) -> Backend:
        """The name in lower case."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())

    def checked(self) -> Backend:
        """Itself.

        Raises:
            NotImplementedError: for a backend whose collectives are not offered.
            ValueError: for a name that is none.
        """
        for part in self.split(","):
            name = part.rpartition(":")[2]
            if name in ("mpi", "ucc", "fake"):
                raise not_offered(
                    f"torch.distributed's backend {name!r}",
                    "collectives are XLA's; use the backend gloo",
                )
            if name not in ("gloo", "nccl", "xccl", "xla", "undefined"):
                raise ValueError(f"Unknown backend {name!r}: gloo, nccl, xccl and xla are there")
        return self

    def of_cpu(self) -> str:
        """The backend of CPU tensors, where the name says one for each device."""
        parts = {part.partition(":")[0]: part.partition(":")[2] for part in self.split(",")}
        return parts.get("cpu", "") or self.partition(",")[0].rpartition(":")[2]


class BackendConfig:
    """The backend of each device's tensors, from a name such as ``gloo`` or ``cpu:gloo,cuda:nccl``.

    Raises:
        ValueError: for a name that says a device twice, or none.
    """

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, Backend] = {}
        name = str(backend).lower()
        if ":" not in name:
            self.device_backend_map = dict.fromkeys(
                _DEVICES_OF.get(name, ("cpu", "cuda")), Backend(name)
            )
            return
        for pair in name.split(","):
            device, _, kind = pair.partition(":")
            if not device or not kind or ":" in kind:
                raise ValueError(
                    f"Invalid device:backend pairing: {pair}: the backend is written as "
                    "'cpu:gloo,cuda:nccl'"
                )
            if device in self.device_backend_map:
                raise ValueError(f"Duplicate device type {device} in backend string: {backend}")
            self.device_backend_map[device] = Backend(kind)

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Device -> its backend."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{kind}" for device, kind in self.device_backend_map.items())


#: The devices that a backend is for, where it is named without them.
_DEVICES_OF = {"nccl": ("cuda",), "xccl": ("xpu",)}


def is_available() -> bool:
    """True."""
    return True


def is_gloo_available() -> bool:
    """True."""
    return True


def is_nccl_available() -> bool:
    """False."""
    return False


def is_mpi_available() -> bool:
    """False."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there."""
    return backend.lower() == "gloo"


def get_default_backend_for_device(device: Any) -> str:
    """The backend for tensors of a device.

    Raises:
        ValueError: if it has none.
    """
    kind = (device if isinstance(device, str) else device.type).partition(":")[0]
    known = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl"}
    if kind not in known:
        raise ValueError(f"Default backend not registered for device : {device}")
    return known[kind]


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp: object) -> bool:
    """Whether complex numbers can be combined so."""
    return ReduceOp.RedOpType(reduceOp).name not in ("MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR")


NAMES = {0: "sum", 1: "avg", 2: "product", 3: "min", 4: "max", 5: "band", 6: "bor", 7: "bxor"}


def operation(op: ReduceOp.RedOpType, dtype: np.dtype, name: str) -> str:
    """The name of a reduction.

    Raises:
        ValueError: for one that complex numbers have not.
        RuntimeError: for bits of numbers that are no integers, or means of integers.
        NotImplementedError: for one that is not offered.
    """
    kind = NAMES.get(int(op))
    if kind is None:
        raise NotImplementedError(
            f"torch.distributed.{name} with {op} is not offered by jtorch: only NCCL has it"
        )
    if dtype.kind == "c" and kind not in ("sum", "avg"):
        raise ValueError(f"{name} does not support {ReduceOp.RedOpType(op)} on complex tensors")
    if kind in ("band", "bor", "bxor") and dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use ReduceOp.{kind.upper()} with non-integral dtype")
    if kind == "avg" and dtype.kind in "iub":
        title = {"b": "Bool", "u": "Byte"}.get(
            dtype.kind, {1: "Char", 2: "Short", 4: "Int", 8: "Long"}.get(dtype.itemsize, "Long")
        )
        raise RuntimeError(f"result type Float can't be cast to the desired output type {title}")
    return kind
