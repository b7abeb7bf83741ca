"""dtype objects, torch's promotion lattice, ``finfo`` and ``iinfo``. Knows NumPy (and ml_dtypes
through JAX's dependency), not JAX."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from .kinds import Values


#: Category of a dtype in the promotion lattice: a higher one wins over a lower one.
BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


#: Whether NumPy is told which of its dtypes one is. PyTorch does not say so, which programs for it
#: rely on: ``np.dtype(torch.float32)`` raises, and ``array.dtype == torch.float32`` is False. So
#: this is off where ``import torch`` means jtorch (``protocol/withheld.py``).
tells_numpy = True


class dtype:
    """A tensor's element type, such as ``jtorch.float32``. Instances are interned: compare them
    with ``is`` or ``==``.

    Args:
        name: its name.
        np_dtype: NumPy's dtype of the elements.
        category: its kind, in the order of promotion.
        legacy: how the tensor types of old are named.
        abbr: its short name in generated code.

    Example:
        >>> import jtorch as torch
        >>> (
        ...     torch.tensor([1, 2]).dtype is torch.int64,
        ...     torch.float32.is_floating_point,
        ...     torch.int16.itemsize,
        ... )
        (True, True, 2)
    """

    __slots__ = ("_name", "np", "category", "itemsize", "legacy", "abbr")

    def __init__(self, name: str, np_dtype: Any, category: int, legacy: str, abbr: str) -> None:
        self._name = name
        self.np = np.dtype(np_dtype)
        self.category = category
        self.itemsize = self.np.itemsize
        self.legacy = legacy  # "FloatTensor", and "Float" in error messages
        self.abbr = abbr

    @property
    def __numpy_dtype__(self) -> np.dtype:
        """NumPy's dtype of the elements, for code of NumPy and JAX that asks of what kind they are:
        ``jnp.issubdtype(t.dtype, ...)``."""
        if not tells_numpy or self._name in ABSENT:
            raise AttributeError("'torch.dtype' object has no attribute '__numpy_dtype__'")
        return self.np

    def __getattr__(self, name: str) -> Any:
        if name == "np":  # of types that no array can have
            raise NotImplementedError(
                f"torch.{self._name} is not offered by jtorch: JAX has no arrays of this type"
            )
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    @property
    def is_floating_point(self) -> bool:
        """Whether this is a real floating-point type."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type."""
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        """Whether negative values can be held."""
        if self._name.startswith(("q", "bits")):
            raise RuntimeError(
                "isSignedType not supported for quantized types"
                if self._name[0] == "q"
                else "Bits types are undefined"
            )
        return (self.category >= FLOATING and self is not float8_e8m0fnu) or (
            self.category == INTEGRAL and self._name.startswith("int")
        )

    def to_real(self) -> dtype:
        """The real type of the same precision: ``complex64.to_real()`` is ``float32``."""
        return {complex64: float32, complex128: float64, complex32: float16}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type of the same precision, or of the next that there is: ``bfloat16`` leads
        to ``complex64``. ``float16`` is refused: JAX has no complex type of halves.

        Raises:
            RuntimeError: for integers, bool and ``float16``.
        """
        found = {
            bfloat16: complex64,
            float32: complex64,
            float64: complex128,
            complex64: complex64,
            complex128: complex128,
        }.get(self)
        if found is None:
            if self is float16:
                raise RuntimeError(
                    f"to_complex not supported for {self}: JAX has no such complex type"
                )
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return found

    @property
    def scalar_name(self) -> str:
        """The name torch's messages use: ``Float`` for float32, ``Long`` for int64."""
        return self.legacy.removesuffix("Tensor")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_dtype_by_name, (self._name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self


def _dtype_by_name(name: str) -> dtype:
    return BY_NAME.get(name) or ABSENT[name]


dtype.__module__, _dtype_by_name.__module__ = "jtorch", "jtorch._utils"  # where pickles find them


def _absent(name: str, category: int, itemsize: int, legacy: str, abbr: str) -> dtype:
    """An element type that programs name, compare and save, but that no array of JAX can have: one
    without ``np``."""
    made = dtype.__new__(dtype)
    made._name, made.category, made.itemsize, made.legacy, made.abbr = (
        name,
        category,
        itemsize,
        legacy,
        abbr,
    )
    return made


def _define(name: str, np_dtype: type, category: int, legacy: str, abbr: str) -> dtype:
    made = dtype(name, np_dtype, category, legacy, abbr)
    BY_NAME[name] = made
    BY_NP[made.np] = made
    return made


BY_NAME: dict[str, dtype] = {}
BY_NP: dict[np.dtype, dtype] = {}

bool_ = _define("bool", np.bool_, BOOL, "BoolTensor", "b8")
uint8 = _define("uint8", np.uint8, INTEGRAL, "ByteTensor", "u8")
int8 = _define("int8", np.int8, INTEGRAL, "CharTensor", "i8")
int16 = _define("int16", np.int16, INTEGRAL, "ShortTensor", "i16")
int32 = _define("int32", np.int32, INTEGRAL, "IntTensor", "i32")
int64 = _define("int64", np.int64, INTEGRAL, "LongTensor", "i64")
uint16 = _define("uint16", np.uint16, INTEGRAL, "UInt16Tensor", "u16")
uint32 = _define("uint32", np.uint32, INTEGRAL, "UInt32Tensor", "u32")
uint64 = _define("uint64", np.uint64, INTEGRAL, "UInt64Tensor", "u64")
float16 = _define("float16", np.float16, FLOATING, "HalfTensor", "f16")
bfloat16 = _define("bfloat16", ml_dtypes.bfloat16, FLOATING, "BFloat16Tensor", "bf16")
float32 = _define("float32", np.float32, FLOATING, "FloatTensor", "f32")
float64 = _define("float64", np.float64, FLOATING, "DoubleTensor", "f64")
float8_e4m3fn = _define(
    "float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING, "Float8_e4m3fnTensor", "f8"
)
float8_e5m2 = _define("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING, "Float8_e5m2Tensor", "f8")
float8_e4m3fnuz = _define(
    "float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING, "Float8_e4m3fnuzTensor", "f8"
)
float8_e5m2fnuz = _define(
    "float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING, "Float8_e5m2fnuzTensor", "f8"
)
float8_e8m0fnu = _define(
    "float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING, "Float8_e8m0fnuTensor", "f8"
)
complex64 = _define("complex64", np.complex64, COMPLEX, "ComplexFloatTensor", "c64")
complex128 = _define("complex128", np.complex128, COMPLEX, "ComplexDoubleTensor", "c128")

complex32 = _absent("complex32", COMPLEX, 4, "ComplexHalfTensor", "c32")
#: Types that exist by name only: half complex numbers, quantised ones, and those of less than a
#: byte.
ABSENT: dict[str, dtype] = {
    "complex32": complex32,
    "chalf": complex32,
    **{
        name: _absent(name, INTEGRAL, size, legacy, name)
        for name, size, legacy in (
            ("quint8", 1, "QUInt8Tensor"), ("qint8", 1, "QInt8Tensor"),
            ("qint32", 4, "QInt32Tensor"), ("quint4x2", 1, "QUInt4x2Tensor"),
            ("quint2x4", 1, "QUInt2x4Tensor"), ("bits8", 1, "Bits8Tensor"),
            ("bits16", 2, "Bits16Tensor"), ("bits1x8", 1, "Bits1x8Tensor"),
            ("bits2x4", 1, "Bits2x4Tensor"), ("bits4x2", 1, "Bits4x2Tensor"),
            *[(f"int{n}", 1, f"Int{n}Tensor") for n in range(1, 8)],
            *[(f"uint{n}", 1, f"UInt{n}Tensor") for n in range(1, 8)],
        )
    },
    "float4_e2m1fn_x2": _absent("float4_e2m1fn_x2", FLOATING, 1, "Float4_e2m1fn_x2Tensor", "f4"),
}  # fmt: skip

ABSENT["bit"] = ABSENT["uint1"]

#: Other spellings that torch offers.
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64,
    "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

_default = float32
#: Called after the default dtype changed: kernels traced under the old one are stale.
on_default_change: Values = []


def get_default_dtype() -> dtype:
    """The floating-point type of ``tensor(1.)`` and of integer operands of floating-point
    functions.

    Example:
        >>> import jtorch as torch
        >>> torch.get_default_dtype()
        torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Sets the default floating-point type.

    Raises:
        TypeError: if ``d`` is no floating-point dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor(1.0).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {d!r}")
    if d not in (float16, bfloat16, float32, float64):
        raise TypeError("only floating-point types are supported as the default type")
    if d is not _default:
        _default = d
        for callback in on_default_change:
            callback()


def default_complex() -> dtype:
    """The complex type that Python complex numbers get."""
    return complex128 if _default is float64 else complex64


def from_np(np_dtype: Any) -> dtype:
    """The dtype for a NumPy dtype.

    Raises:
        TypeError: where torch has no such type (strings, objects, longdouble), or NumPy has none
            (JAX's random keys).
    """
    try:
        found = BY_NP.get(np.dtype(np_dtype))
    except TypeError:
        raise TypeError(
            f"can't convert an array of type {np_dtype}: a tensor has numbers; jax.random.key_data "
            "gives those of a key"
        ) from None
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {_np_name(np_dtype)}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
            "uint32, uint16, uint8, and bool."
        )
    return found


def _np_name(np_dtype: np.dtype) -> str:
    kind = np.dtype(np_dtype).type
    return f"{kind.__module__}.{kind.__name__}"


def converted(x: np.ndarray | np.generic, np_dtype: np.dtype) -> Any:
    """NumPy's numbers in another dtype; doubles become halves by way of floats, rounded twice, as
    PyTorch has it."""
    if np_dtype == np.float16 and x.dtype == np.float64:
        x = x.astype(np.float32)
    return x.astype(np_dtype)


def of_number(value: object) -> dtype:
    """The dtype of a Python number standing alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, complex):
        return default_complex()
    return _default


#: What Python's types stand for where a dtype is asked for.
OF_PYTHON: dict[object, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def meant(given: object) -> Any:
    """The dtype that one of Python's types stands for; anything else as it is."""
    return OF_PYTHON.get(given, given) if isinstance(given, type) else given


@functools.cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that both can be converted to, by torch's lattice.

    Raises:
        RuntimeError: for float8 kinds with another type, and unsigned 16 to 64 bit with any but
            floating-point ones, as torch.
    """
    if type1 is type2:
        return type1
    if type1._name in ABSENT or type2._name in ABSENT:
        _refuse_absent(type1, type2)
    if any(t.itemsize == 1 and t.category == FLOATING for t in (type1, type2)):
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{type1.scalar_name} and {type2.scalar_name}"
        )
    low, high = sorted((type1, type2), key=lambda t: t.category)
    if high.category != FLOATING and not {uint16, uint32, uint64}.isdisjoint((type1, type2)):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.scalar_name} and {type2.scalar_name}"
        )
    if high.category == COMPLEX:
        if high is complex32 and (low.category < FLOATING or low is float16):
            return complex32
        return complex128 if complex128 in (low, high) or low is float64 else complex64
    if high.category == FLOATING:
        return _promote_float(low, high)
    if low.category == BOOL:
        return high
    return _promote_integral(type1, type2)


def _refuse_absent(type1: dtype, type2: dtype) -> None:
    """Raises for types that exist by name only, and have no common type with others."""
    names = [t._name for t in (type1, type2)]
    shown = [t.scalar_name for t in (type1, type2)]
    if any(name in _STORED for name in names):
        raise RuntimeError(
            "promoteTypes with quantized numbers is not handled yet; figure out what the correct "
            f"rules should be, offending types: {shown[0]} {shown[1]}"
        )
    if any(name.startswith("bits") for name in names):
        raise RuntimeError(f"Promotion from {shown[0]} and {shown[1]} is unsupported.")
    small = [name for name in names if name in ABSENT and name.lstrip("u").startswith("int")]
    if any(name.startswith("int") for name in small):
        raise RuntimeError(
            "Promotion of integers of less than a byte is not supported, attempted to promote "
            f"{shown[0]} and {shown[1]}"
        )
    if small and not all(t.category == FLOATING or t._name in small for t in (type1, type2)):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{shown[0]} and {shown[1]}"
        )


def _promote_float(low: dtype, high: dtype) -> dtype:
    if low.category < FLOATING:
        return high
    if low.itemsize == high.itemsize:  # float16 with bfloat16
        return float32
    return low if low.itemsize > high.itemsize else high


def _promote_integral(a: dtype, b: dtype) -> dtype:
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed = a if a.is_signed else b
    return int16 if signed is int8 else signed


#: Rank of an operand in ``result_type``: dimensioned tensors decide before 0-dim tensors before
#: Python numbers.
DIMENSIONED, ZERO_DIM, NUMBER = range(3)


@functools.cache
def result_type_of(operands: tuple[tuple[dtype, int], ...]) -> dtype:
    """torch's result type of ``(dtype, rank)`` pairs: a lower-ranked operand counts only if its
    category is higher."""
    best: dtype | None = None
    for rank in (DIMENSIONED, ZERO_DIM, NUMBER):
        group: dtype | None = None
        for d, r in operands:
            if r == rank:
                group = d if group is None else promote_types(group, d)
        if group is None:
            continue
        if best is None:
            best = group
        elif group.category > best.category:
            # as precise as the tensors with dimensions
            if group.category == COMPLEX and best.category == FLOATING:
                best = best.to_complex() if best.itemsize > 2 else complex64
            else:
                best = promote_types(best, group) if best.category == BOOL else group
    assert best is not None
    return best


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether torch allows a value of ``from_`` to be written into a tensor of ``to``: never to a
    lower category."""
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOATING and to.category < FLOATING:
        return False
    return not (from_.category != BOOL and to.category == BOOL)


def _limited(name: str, given: dtype | type) -> dtype:
    """The dtype whose limits are asked for."""
    found = meant(given)
    if not isinstance(found, dtype):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{type(given).__name__}"
        )
    return found


class finfo:
    """Machine limits of a floating-point type, like ``torch.finfo``.

    Args:
        type: the dtype; the default one if it is None.

    Example:
        >>> import jtorch as torch
        >>> torch.finfo(torch.float16).max, torch.finfo(torch.float32).eps
        (65504.0, 1.1920928955078125e-07)
    """

    __module__ = "jtorch"

    def __init__(self, type: dtype | None = None) -> None:
        d = _default if type is None else _limited("finfo", type)
        if d.category < FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        d = d.to_real()
        info = ml_dtypes.finfo(d.np)
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        # A power of ten: the decimal digits that survive, as C counts them.
        self.resolution = {8: 1.0, 16: 1e-3 if d is float16 else 1e-2, 32: 1e-6, 64: 1e-15}[
            self.bits
        ]
        self.dtype = d._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


#: What quantised types store.
_STORED = {
    "quint8": np.uint8,
    "qint8": np.int8,
    "qint32": np.int32,
    "quint4x2": np.uint8,
    "quint2x4": np.uint8,
}


class iinfo:
    """Machine limits of an integer type, like ``torch.iinfo``.

    Example:
        >>> import jtorch as torch
        >>> torch.iinfo(torch.int16).max
        32767
    """

    __module__ = "jtorch"

    def __init__(self, type: dtype) -> None:
        d = _limited("iinfo", type)
        if d.category != INTEGRAL:
            if d.category == BOOL:
                raise TypeError("torch.bool is not supported by torch.iinfo")
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        stored = _STORED.get(d._name)
        info = np.iinfo(stored or d.np)
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)
        self._of = d

    @property
    def dtype(self) -> str:
        """The type's name; quantised ones have none here (NotImplementedError), as in PyTorch."""
        if self._of._name in _STORED:
            raise NotImplementedError(f"\"dtype\" not implemented for '{self._of.scalar_name}'")
        return self._of._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self._of is other._of

    def __hash__(self) -> int:
        return hash((iinfo, self._of._name))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
