"""``assert_close``: comparing tensors, numbers and nested structures of them."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import jtorch as torch
from jtorch.autograd.jacobians import keeps_elsewhere

_TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any,
    expected: Any,
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
    """Asserts that ``|actual - expected| <= atol + rtol * |expected|`` everywhere, in tensors, numbers, sequences and mappings.

    Tolerances default to those of the dtype; attributes are compared first, as asked for.

    Raises:
        AssertionError: if something differs; ``msg`` replaces its words, or makes others of them.
        TypeError: if the two cannot be compared.
        ValueError: if only one of ``rtol`` and ``atol`` is given.
    """
    if (rtol is None) ^ (atol is None):
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}.")
    checks = _Checks(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        checks.compare(actual, expected, ())
    except _Differs as found:
        text = str(found)
        if isinstance(msg, str):
            text = msg
        elif msg is not None:
            text = msg(text)
        raise AssertionError(text) from None


class _Differs(Exception):
    """What differs, in words."""


def _where(place: tuple[Any, ...]) -> str:
    return "" if not place else "\n\nThe failure occurred for item " + "".join(f"[{p!r}]" for p in place)


class _Checks:
    """The options of one comparison."""

    def __init__(
        self, subclasses: bool, rtol: Any, atol: Any, equal_nan: bool, device: bool, dtype: bool, layout: bool, stride: bool
    ) -> None:
        self.subclasses, self.rtol, self.atol, self.equal_nan = subclasses, rtol, atol, equal_nan
        self.device, self.dtype, self.layout, self.stride = device, dtype, layout, stride

    def compare(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        """Compares two objects found at ``place``.

        Raises:
            _Differs: if they differ.
            TypeError: if they cannot be compared.
        """
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                raise _Differs(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}" + _where(place))
            for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
                self.compare(a, e, (*place, i))
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._keys(actual, expected, place)
            for k in actual:
                self.compare(actual[k], expected[k], (*place, k))
        elif actual is None and expected is None:
            return
        elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
            if bool(actual) is not bool(expected):
                raise _Differs(f"Booleans mismatch: {actual} is not {expected}" + _where(place))
        elif _is_number(actual) and _is_number(expected):
            self._numbers(actual, expected, place)
        elif self._are_tensors(actual, expected):
            self._tensors(torch.as_tensor(actual), torch.as_tensor(expected), place)
        elif type(actual) is not type(expected) and (actual is None or expected is None):
            raise _Differs(f"None mismatch: {actual} is not {expected}" + _where(place))
        else:
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}." + _where(place))

    @staticmethod
    def _keys(actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        missing = sorted(set(expected) - set(actual), key=str)
        extra = sorted(set(actual) - set(expected), key=str)
        if missing or extra:
            text = "The keys of the mappings do not match:"
            text += f"\nMissing keys in the actual mapping: {missing}" if missing else ""
            text += f"\nAdditional keys in the actual mapping: {extra}" if extra else ""
            raise _Differs(text + _where(place))

    def _are_tensors(self, actual: Any, expected: Any) -> bool:
        kinds = (torch.Tensor, np.ndarray, np.generic, bool, int, float, complex)
        if not (isinstance(actual, kinds) and isinstance(expected, kinds)):
            return False
        if not self.subclasses and type(actual) is not type(expected):
            return False
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        return related or (isinstance(actual, (np.ndarray, np.generic)) and isinstance(expected, (np.ndarray, np.generic)))

    def _tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)

    def _numbers(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        if self.dtype and type(actual) is not type(expected):
            raise _Differs(f"The (d)types do not match: {type(actual)} != {type(expected)}." + _where(place))
        rtol, atol = self._tolerances(_number_dtype(actual), _number_dtype(expected))
        difference = abs(actual - expected)
        if actual == expected:
            return
        if cmath.isfinite(actual) and cmath.isfinite(expected) and difference <= atol + rtol * abs(expected):
            return
        if self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        exact = rtol == 0 and atol == 0
        relative = float("inf") if expected == 0 else difference / abs(expected)
        raise _Differs(
            f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
            f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}" + _where(place)
        )

    def _tensors(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        for name, wanted in (("shape", True), ("layout", self.layout), ("device", self.device), ("dtype", self.dtype)):
            a, e = getattr(actual, name), getattr(expected, name)
            if wanted and a != e:
                raise _Differs(f"The values for attribute '{name}' do not match: {a} != {e}." + _where(place))
        if self.stride and actual.stride() != expected.stride():
            raise _Differs(f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}." + _where(place))
        if actual.device.type == "meta":
            return
        rtol, atol = self._tolerances(actual.dtype, expected.dtype)
        if actual.dtype is not expected.dtype:
            common = torch.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        a, e = _exact(actual), _exact(expected)
        with np.errstate(all="ignore"):
            close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if close.all():
            return
        number = not a.shape
        raise _Differs(_scalar_words(a, e, rtol, atol) + _where(place) if number else _words(a, e, close, rtol, atol) + _where(place))


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)


def _number_dtype(x: Any) -> Any:
    return torch.float64 if isinstance(x, float) else torch.complex128 if isinstance(x, complex) else torch.int64


def _exact(t: Any) -> np.ndarray:
    """The elements in a NumPy dtype whose differences do not overflow."""
    t = t.detach().cpu()
    if t.dtype in (torch.bfloat16, torch.float16):
        t = t.to(torch.float32)
    # What a class keeps elsewhere is read element by element.
    a = np.array([e.item() for e in t.reshape(-1).unbind()], t.dtype.np).reshape(t.shape) if keeps_elsewhere(t) else t.numpy()
    if a.dtype == np.bool_:
        a = a.astype(np.int64)
    return a.astype(np.int64) if a.dtype.kind in "iu" and a.dtype.itemsize < 8 else a


def _scalar_words(a: np.ndarray, e: np.ndarray, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    with np.errstate(all="ignore"):
        difference = abs(a - e).item()
        relative = difference / abs(e.item()) if e.item() != 0 else float("inf")
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {e.item()} but got {a.item()}.\n"
        f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )


def _words(a: np.ndarray, e: np.ndarray, close: np.ndarray, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    bad = int((~close).sum())
    with np.errstate(all="ignore"):
        absolute = np.where(close, 0, np.abs(a - e))
        relative = np.where(close, 0, np.abs(a - e) / np.abs(e))

    def greatest(name: str, d: np.ndarray, allowed: float) -> str:
        place = np.unravel_index(int(np.argmax(np.where(np.isnan(d), np.inf, d))), d.shape)
        index = tuple(int(i) for i in place)
        return f"Greatest {name} difference: {d[place].item()} at index {index}{'' if exact else f' (up to {allowed} allowed)'}"

    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\nMismatched elements: {bad} / {a.size} ({bad / a.size:.1%})\n"
        f"{greatest('absolute', absolute, atol)}\n{greatest('relative', relative, rtol)}"
    )


#: The tolerances that ``assert_allclose`` had, relative and absolute, by dtype.
_OLDER = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """``assert_close`` with older tolerances; dtypes and strides may differ.

    Raises:
        AssertionError: if the values are not close.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    expected = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        found = [_OLDER.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, check_stride=False, msg=msg or None)
