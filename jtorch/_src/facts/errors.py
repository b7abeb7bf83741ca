"""torch-worded errors and the argument checks that raise them. Knows no Tensor and no JAX."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def canonical_dim(dim: int, ndim: int, *, wrap_scalar: bool = True) -> int:
    """``dim`` counted from the front.

    Raises:
        IndexError: if it is out of range. A 0-dim tensor has dimensions -1 and 0 if
            ``wrap_scalar``.
    """
    if ndim == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        low, high = -1, 0
    else:
        low, high = -ndim, ndim - 1
    if not low <= dim <= high:
        check_long(dim)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
        )
    return dim + max(ndim, 1) if dim < 0 else dim


#: The limits of whole numbers in arguments.
LOWEST_LONG, HIGHEST_LONG = -(2**63), 2**63 - 1
OVERFLOW = "Overflow when unpacking long long"


def check_long(value: int) -> None:
    """Refuses an argument of more than 64 bits where a whole number is due.

    Raises:
        ValueError: in torch's words.
    """
    if not LOWEST_LONG <= value <= HIGHEST_LONG:
        raise ValueError(OVERFLOW)


def check_longs(name: str, argument: str, values: object) -> None:
    """``check_long`` for an argument that may be a list of whole numbers; what is no whole number
    is not looked at.

    Raises:
        ValueError: for a number that is too large.
        TypeError: for one in a list.
    """
    if type(values) is int:
        check_long(values)
    elif isinstance(values, (tuple, list)):
        for k, x in enumerate(values):
            if type(x) is int and not LOWEST_LONG <= x <= HIGHEST_LONG:
                raise TypeError(
                    f"{name}(): argument '{argument}' failed to unpack the object at pos {k + 1} "
                    f'with error "{OVERFLOW}"'
                )


def check_scalar(value: int) -> None:
    """Refuses a Python int that no number of 64 bits can hold where any number may stand.

    Raises:
        OverflowError: in the words that torch passes on from Python.
    """
    if value < LOWEST_LONG:
        raise OverflowError("can't convert negative int to unsigned")
    if value > 2 * HIGHEST_LONG + 1:
        raise OverflowError("int too big to convert")


def canonical_dims(
    dims: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True
) -> tuple[int, ...]:
    """Dimensions of a reduction, counted from the front and sorted as given; None (and an empty
    list) mean all.

    Raises:
        IndexError: if one is out of range.
        RuntimeError: if one appears twice, or of more than 64.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if not dims and empty_is_all:
        return tuple(range(ndim))
    if ndim > 64:  # torch counts them in the bits of a word
        raise RuntimeError("only tensors with up to 64 dims are supported")
    seen: list[int] = []
    for dim in dims:
        found = canonical_dim(dim, ndim)
        if found in seen:
            raise RuntimeError(f"dim {found} appears multiple times in the list of dims")
        seen.append(found)
    return tuple(seen) if ndim else ()


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all ``shapes`` broadcast to.

    Raises:
        RuntimeError: in torch's words, naming the first pair and dimension that disagree.
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        result = _broadcast_two(result, tuple(shape))
    return result


def _broadcast_two(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    ndim = max(len(a), len(b))
    out = [1] * ndim
    for i in range(ndim - 1, -1, -1):
        size_a = a[i - ndim + len(a)] if i >= ndim - len(a) else 1
        size_b = b[i - ndim + len(b)] if i >= ndim - len(b) else 1
        if size_a != size_b and size_a != 1 and size_b != 1:
            raise RuntimeError(
                f"The size of tensor a ({size_a}) must match the size of tensor b ({size_b}) at "
                f"non-singleton dimension {i}"
            )
        out[i] = size_b if size_a == 1 else size_a
    return tuple(out)


#: What functions whose ``out`` must have the result's dtype say otherwise, where several say it.
OUT_WORDS = {
    "expected": "Expected out tensor to have dtype {its_cpp}, but got {mine_cpp} instead",
    "found": "Found dtype {mine} but expected {its}",
    "found of real": "Found dtype {mine} but expected {its}",
    "type": "Expected tensor for '{field}' to have the same type as tensor for argument #2 'self'; "
    "but type torch.{mine}Tensor does not equal torch.{its}Tensor (while checking "
    "arguments for {name})",
    "Long": "Expected tensor for argument #1 '{field}' to have scalar type Long; but got "
    "torch.{mine}Tensor instead (while checking arguments for {name})",
    "scalar_type": "expected scalar_type {its} but found {mine}",
    "scalar type": "expected scalar type {its} but found {mine}",
}


def uncastable(castable: str | tuple[str, str], field: str, result: str, out: str) -> RuntimeError:
    """What a function says of an ``out`` that its result cannot be cast to, if it has words of its
    own: a name, and that of the result."""
    name, word = (castable, "result") if isinstance(castable, str) else castable
    word = field or word
    return RuntimeError(
        f"{name}: Expected {word} to be safely castable from {result} dtype, but got {word} with "
        f"dtype {out}"
    )


CPP_NAMES = {
    "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16",
    "Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char",
    "Byte": "unsigned char", "Bool": "bool", "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>", "UInt16": "short unsigned int",
    "UInt32": "unsigned int", "UInt64": "long unsigned int",
}  # fmt: skip


def wrong_out_dtype(
    words: str, result: str, out: str, name: str = "", field: str = ""
) -> RuntimeError:
    """What a function that does not convert says of an ``out`` of another dtype, in the function's
    ``words`` or by their key.

    ``{its}`` is the result's dtype, ``{mine}`` that of ``out``, by their names in messages
    (``Float``) or in C++ (``{its_cpp}``); ``{name}`` is the function, ``{field}`` which of several
    results it is, ``{kind}`` what tensors of such dtypes are.
    """
    cpp = {"its_cpp": CPP_NAMES.get(result, result), "mine_cpp": CPP_NAMES.get(out, out)}
    text = OUT_WORDS.get(words, words)
    kind = "complex tensors" if out.startswith("Complex") else "tensors with different dtypes"
    flag = "True" if result == "Int" else "False"
    return RuntimeError(
        text.format(its=result, mine=out, name=name, field=field, flag=flag, kind=kind, **cpp)
    )


#: The types whose C counterparts PyTorch names with their module.
_NAMED = {"dtype": "torch.dtype", "device": "torch.device", "layout": "torch.layout",
          "memory_format": "torch.memory_format",
          "Size": "torch.Size", "Generator": "torch._C.Generator", "iinfo": "torch.iinfo",
          "finfo": "torch.finfo", "UntypedStorage": "torch.storage.UntypedStorage",
          "SparseTensor": "Tensor"}  # fmt: skip


def is_ours(kind: type) -> bool:
    """Whether a type is one of this package's, which are named after torch where ``import torch``
    means it."""
    name = kind.__module__.partition(".")[0]
    return name == "jtorch" or (
        name == "torch" and sys.modules.get("torch") is sys.modules["jtorch"]
    )


def type_name(value: object) -> str:
    """The name of a value's type, as messages give it: C types of other packages with their
    modules."""
    kind = type(value)
    if is_ours(kind):
        return _NAMED.get(kind.__name__, kind.__name__)
    heap_type = kind.__flags__ & (1 << 9)
    return (
        kind.__name__
        if heap_type or kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__name__}"
    )


def must_be_tensor(function: str, argument: str, position: int, value: object) -> TypeError:
    """The TypeError for a wrong operand: ``add(): argument 'other' (position 2) must be Tensor, not
    str``."""
    return TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be Tensor, not "
        f"{type_name(value)}"
    )


def must_be(kind: type, words: str, function: str, argument: str, at: int, value: object) -> None:
    """Refuses what is not of one type, as PyTorch's parser does.

    Raises:
        TypeError: in torch's words.
    """
    if not isinstance(value, kind):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {at}) must be {words}, not "
            f"{type_name(value)}"
        )


def check_flag(function: str, argument: str, value: object) -> None:
    """Refuses what is neither a bool nor None.

    Raises:
        TypeError: in torch's words.
    """
    if type(value) is not bool and value is not None:
        raise TypeError(f"{function}(): argument '{argument}' must be bool, not {type_name(value)}")


def given_twice(function: str, argument: str) -> TypeError:
    """The TypeError for an argument that is given by position and by name."""
    return TypeError(f"{function}() got multiple values for argument '{argument}'")


def no_kernel(name: str, backend: str) -> NotImplementedError:
    """torch's error for an operator that a layout or device has no kernel for, such as
    ``fill_.Scalar`` and ``SparseCPU``."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be "
        "because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build). If you are a Facebook employee "
        "using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible "
        f"resolutions. 'aten::{name}' is only available for these backends: [CPU, CUDA, Meta]."
    )


def not_offered(name: str, why: str) -> NotImplementedError:
    """The error of everything that jtorch leaves out: it names the function and the reason."""
    return NotImplementedError(f"{name} is not offered by jtorch: {why}")


class LinAlgError(RuntimeError):
    """A linear algebra function was given an operand that it cannot solve, such as a singular
    matrix."""


# as it says in what programs print
LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"
