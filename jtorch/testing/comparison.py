"""``assert_close``: comparing tensors, numbers and nested structures of them."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch

from . import tensor_comparison
from .tensor_comparison import TOLERANCES, Differs, numbers_in_words

if TYPE_CHECKING:
    from .._src.facts.kinds import Tree


_BOOLEANS = (bool, np.bool_)
_NUMBERS = (bool, int, float, complex, np.number)


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Asserts that ``|actual - expected| <= atol + rtol * |expected|`` everywhere, in tensors,
    numbers, sequences and mappings.

    Tolerances default to those of the dtype; attributes are compared first, as asked for.

    Raises:
        AssertionError: if something differs. ``msg`` replaces the words for elements and
            attributes, or makes others of them; whether lengths and keys agree is looked at first.
        TypeError: if the two cannot be compared.
        ValueError: if only one of ``rtol`` and ``atol`` is given.
    """
    if (rtol is None) ^ (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    checks = Checks(
        allow_subclasses,
        rtol,
        atol,
        equal_nan,
        check_device,
        check_dtype,
        check_layout,
        check_stride,
    )
    for compare, a, e, place in list(checks.pairs(actual, expected, ())):
        try:
            compare(a, e)
        except Differs as found:
            text = f"{found}{_where(place)}"
            raise AssertionError(
                text if msg is None else msg if isinstance(msg, str) else msg(text)
            ) from None


def _where(place: tuple[object, ...]) -> str:
    return (
        ""
        if not place
        else "\n\nThe failure occurred for item " + "".join(f"[{p!r}]" for p in place)
    )


class Checks:
    """The options of one comparison."""

    def __init__(
        self,
        subclasses: bool,
        rtol: Any,
        atol: Any,
        equal_nan: bool,
        device: bool,
        dtype: bool,
        layout: bool,
        stride: bool,
    ) -> None:
        self.subclasses, self.rtol, self.atol, self.equal_nan = subclasses, rtol, atol, equal_nan
        self.device, self.dtype, self.layout, self.stride = device, dtype, layout, stride

    def pairs(
        self, actual: Tree, expected: Tree, place: tuple[object, ...]
    ) -> Iterator[tuple[Callable[[Any, Any], None], Any, Any, tuple[Any, ...]]]:
        """What is to be compared of two objects found at ``place``: how, with what, and where it
        was found.

        Raises:
            AssertionError: if their lengths or keys differ.
            TypeError: if they cannot be compared.
        """
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                raise AssertionError(
                    f"The length of the sequences mismatch: {len(actual)} != "
                    f"{len(expected)}{_where(place)}"
                )
            for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
                yield from self.pairs(a, e, (*place, i))
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._keys(actual, expected, place)
            for k in actual:
                yield from self.pairs(actual[k], expected[k], (*place, k))
        elif actual is None or expected is None:
            yield _nothings, actual, expected, place
        elif isinstance(actual, _BOOLEANS) and isinstance(expected, _BOOLEANS):
            yield _booleans, actual, expected, place
        elif isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
            yield self._numbers, actual, expected, place
        elif (
            self._may_be_tensors(actual, expected)
            and (tensors := _as_tensors(actual, expected)) is not None
        ):
            yield self._tensors, tensors[0], tensors[1], place
        else:
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and "
                f"{type(expected)}.{_where(place)}"
            )

    def _tensors(self, actual: torch.Tensor, expected: torch.Tensor) -> None:
        tensor_comparison.compare(actual, expected, self)

    @staticmethod
    def _keys(actual: Any, expected: Any, place: tuple[object, ...]) -> None:
        missing = sorted(set(expected) - set(actual), key=str)
        extra = sorted(set(actual) - set(expected), key=str)
        if missing or extra:
            text = "The keys of the mappings do not match:"
            text += (
                f"\nMissing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}"
            )
            raise AssertionError(text + _where(place))

    def _may_be_tensors(self, actual: Any, expected: torch.Tensor) -> bool:
        if not self.subclasses and type(actual) is not type(expected):
            return False
        return isinstance(actual, type(expected)) or isinstance(expected, type(actual))

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """The tolerances that were given, or the largest of those that ``dtypes`` have."""
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)

    def _numbers(self, actual: int, expected: int) -> None:
        actual, expected = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        if self.dtype and type(actual) is not type(expected):
            raise Differs(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        rtol, atol = self.tolerances(_number_dtype(actual), _number_dtype(expected))
        difference = abs(actual - expected)
        if actual == expected:
            return
        if (
            cmath.isfinite(actual)
            and cmath.isfinite(expected)
            and difference <= atol + rtol * abs(expected)
        ):
            return
        if self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        raise Differs(numbers_in_words(actual, expected, rtol, atol))


def _is_sequence(x: object) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _as_tensors(*items: Any) -> list[object] | None:
    """Tensors of two objects, or None where there is none of one of them."""
    try:
        return [x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in items]
    except Exception:  # whatever the protocols of arrays raise
        return None


def _nothings(actual: object, expected: object) -> None:
    if actual is not expected:
        raise Differs(f"None mismatch: {actual} is not {expected}")


def _booleans(actual: object, expected: object) -> None:
    if bool(actual) is not bool(expected):
        raise Differs(f"Booleans mismatch: {actual} is not {expected}")


def _number_dtype(x: int) -> torch.dtype:
    return (
        torch.float64
        if isinstance(x, float)
        else torch.complex128
        if isinstance(x, complex)
        else torch.int64
    )


#: The tolerances that ``assert_allclose`` had, relative and absolute, by dtype.
_OLDER = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: object,
    expected: object,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """``assert_close`` with older tolerances; dtypes and strides may differ.

    Raises:
        AssertionError: if the values are not close.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    expected = (
        expected
        if isinstance(expected, torch.Tensor)
        else torch.tensor(expected, dtype=actual.dtype)
    )
    if rtol is None and atol is None:
        found = [_OLDER.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
