"""``torch.FloatTensor`` and its like: classes that tensors of one dtype on one kind of device are
instances of."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..facts import devices, dtypes, layouts
from . import old_constructors


class _TensorType(type):
    """The class of these classes: an instance is any tensor of the dtype and device."""

    dtype: Any
    on: str

    def __instancecheck__(cls, other: object) -> bool:
        return (
            isinstance(other, Tensor) and other.dtype is cls.dtype and other.device.type == cls.on
        )

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> Any:
        """Makes one of these classes, which nobody else can inherit from."""
        for base in bases:
            raise TypeError(
                f"type '{base.__module__}.{base.__name__}' is not an acceptable base type"
            )
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: object, **kwargs: object) -> Tensor:
        """A tensor of the given sizes (uninitialised, as ``empty`` gives them), or of the given
        data."""
        if cls.on == "cuda" and not devices.jax_devices("cuda"):
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA "
                "enabled."
            )
        return old_constructors.made(args, kwargs, cls.dtype, cls.on)


#: Every name, such as ``FloatTensor``, with its dtype.
NAMES = {d.legacy: d for d in dtypes.BY_NAME.values() if d.legacy in (
    "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor",
    "ShortTensor", "IntTensor", "LongTensor", "BoolTensor",
)}  # fmt: skip


_DOC = """Tensors of {} on the device type {}.

    Args:
        args: sizes, or a sequence of numbers, or a tensor.
        kwargs: ``device``, which must be of that type.
    """


def _make(name: str, on: str) -> type:
    made = _TensorType(
        name, (), {"dtype": NAMES[name], "on": on, "__doc__": _DOC.format(NAMES[name], on)}
    )
    made.__module__ = "torch" if on == "cpu" else f"torch.{on}"
    return made


_made: dict[tuple[str, str], Any] = {}


class _SparseType(_TensorType):
    """The class of ``torch.sparse.FloatTensor`` and its like: an instance is any COO tensor of the
    dtype and device."""

    def __instancecheck__(cls, other: object) -> bool:
        return super().__instancecheck__(other) and other.layout is layouts.sparse_coo

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """A COO tensor of indices and values, or without elements of the given sizes."""
        import jtorch

        place = cls.on if device is None else device
        if args and isinstance(args[0], Tensor):
            return jtorch.sparse_coo_tensor(*args, dtype=cls.dtype, device=place)
        size = tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return jtorch.sparse_coo_tensor(size, dtype=cls.dtype, device=place)


def sparse_tensor_type(name: str, on: str = "cpu") -> object:
    """The class for a name in ``torch.sparse``."""
    if name not in NAMES:
        raise AttributeError(f"module 'torch.sparse' has no attribute '{name}'")
    found = _made.get((name, f"sparse.{on}"))
    if found is None:
        made = _SparseType(
            name,
            (),
            {
                "dtype": NAMES[name],
                "on": on,
                "__doc__": f"COO tensors of {NAMES[name]} on the device type {on}.",
            },
        )
        made.__module__ = "torch.sparse" if on == "cpu" else f"torch.{on}.sparse"
        found = _made[name, f"sparse.{on}"] = made
    return found


def tensor_type(name: str, on: str = "cpu") -> object:
    """The class for a name, for tensors on one kind of device."""
    found = _made.get((name, on))
    if found is None:
        found = _made[name, on] = _make(name, on)
    return found


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return tensor_type(name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
