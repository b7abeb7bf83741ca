"""Tests that are written once for all types of devices, dtypes and described operations: a class of
tests for each type of device there is.

``instantiate_device_type_tests(TestThing,
globals())`` puts ``TestThingCPU`` in the place of ``TestThing``; its methods are named after what
they are run with, ``test_add_cpu_float32``.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import unittest
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ..._src.refusals import stand_ins as _refusals
from .common_utils import TestCase

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function


tol = namedtuple("tol", ["atol", "rtol"])

NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia", "privateuseone")


class DeviceTypeTestBase(TestCase):
    """What the tests of one type of device have in common."""

    device_type = "generic_device_type"

    @classmethod
    def get_primary_device(cls) -> str:
        """The device that tests are given."""
        return cls.device_type

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """The devices that tests of several are given."""
        return [cls.get_primary_device()]


class CPUTestBase(DeviceTypeTestBase):
    """Tests on the CPU."""

    device_type = "cpu"


class CUDATestBase(DeviceTypeTestBase):
    """Tests on GPUs."""

    device_type = "cuda"

    @classmethod
    def get_primary_device(cls) -> str:
        """The current one."""
        return f"cuda:{torch.cuda.current_device()}"

    @classmethod
    def get_all_devices(cls) -> list[str]:
        """All, the current one first."""
        first = torch.cuda.current_device()
        return [
            f"cuda:{i}"
            for i in (first, *(i for i in range(torch.cuda.device_count()) if i != first))
        ]


device_type_test_bases: list[type[DeviceTypeTestBase]] = [
    CPUTestBase,
    *([CUDATestBase] if torch.cuda.is_available() else []),
]


def get_all_device_types() -> list[str]:
    """The types of devices that there are."""
    return [base.device_type for base in device_type_test_bases]


def _given_types(types: Any) -> Iterable[str]:
    return (types,) if isinstance(types, str) else types or ()


def instantiate_device_type_tests(
    generic_test_class: type,
    scope: dict[str, object],
    except_for: tuple[str, ...] | None = None,
    only_for: Any = None,
    include_lazy: bool = False,
    allow_mps: bool = False,
    allow_xpu: bool = False,
) -> None:
    """Takes a class of tests out of ``scope``, and puts one in for each type of device that there
    is."""
    del include_lazy, allow_mps, allow_xpu  # there are none of these
    del scope[generic_test_class.__name__]
    tests = {
        name: test
        for name, test in vars(generic_test_class).items()
        if name.startswith("test") and callable(test)
    }
    for name in tests:
        delattr(generic_test_class, name)
    wanted = os.environ.get("PYTORCH_TESTING_DEVICE_ONLY_FOR", "").split(",")
    for base in device_type_test_bases:
        kind = base.device_type
        if (
            (only_for and kind not in _given_types(only_for))
            or kind in _given_types(except_for)
            or (wanted != [""] and kind not in wanted)
        ):
            continue
        methods = {
            made: run
            for name, test in tests.items()
            for made, run in _tests_of(name, test, base).items()
        }
        name = generic_test_class.__name__ + kind.upper()
        scope[name] = type(
            name,
            (generic_test_class, base),
            {**methods, "__module__": generic_test_class.__module__, "__qualname__": name},
        )


def _tests_of(
    name: str, test: Callable[..., object], base: type[DeviceTypeTestBase]
) -> dict[str, object]:
    """The methods that a test becomes, by their names."""
    found: dict[str, Any] = {}
    chosen = getattr(test, "_chosen", None)
    cases = [("", {}, [])] if chosen is None else chosen.cases(test, name, base)
    for label, given, decorators in cases:
        for combined in itertools.product(
            *(p.runs() for p in reversed(getattr(test, "_runs", ())))
        ):
            arguments = dict(given) | {k: v for _, more, _ in combined for k, v in more.items()}
            parts = [name, *(word for word, _, _ in combined)]
            before, after = label or ("", "")
            full = "_".join(part for part in (*parts, before, base.device_type, after) if part)
            run = _run_of(test, full, arguments)
            for decorator in [*(d for _, _, more in combined for d in more), *decorators]:
                run = decorator(run)
            found[full] = run
    return found


def _run_of(test: Callable[..., object], name: str, arguments: dict[str, object]) -> object:
    """One run of a test: on its device, within its tolerances."""
    count = getattr(test, "num_required_devices", None)
    dtype = arguments.get("dtype")

    @functools.wraps(test)
    def run(self: DeviceTypeTestBase) -> Any:
        before = self.precision, self.rel_tol
        precise, close = (
            getattr(test, "precision_overrides", {}),
            getattr(test, "tolerance_overrides", {}),
        )
        if dtype in close:
            self.precision, self.rel_tol = close[dtype]
        elif dtype in precise:
            self.precision = precise[dtype]
        devices = {"device": self.get_primary_device()} if count is None else _several(self, count)
        try:
            return test(self, **devices, **arguments)
        finally:
            self.precision, self.rel_tol = before

    run.__name__ = name
    del run.__wrapped__  # whose arguments a runner would look for
    return run


def _several(test: DeviceTypeTestBase, count: int) -> dict[str, list[str]]:
    devices = test.get_all_devices()
    if len(devices) < count:
        raise unittest.SkipTest(f"fewer than {count} devices detected")
    return {"devices": devices}


def deviceCountAtLeast(num_required_devices: int) -> Callable[[Any], Any]:
    """Gives a test all devices, ``devices``, where there are so many."""

    def mark(fn: Any) -> object:
        fn.num_required_devices = num_required_devices
        return fn

    return mark


# ---- dtypes and described operations -------------------------------------------------------------


def _word(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


class dtypes:
    """``@dtypes(torch.float32, torch.float64)``: a test for each dtype, or for each tuple of some
    (``dtypes``)."""

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        if args and all(isinstance(a, (list, tuple)) for a in args):
            self.args: tuple[Any, ...] = tuple(map(tuple, args))
        elif args and all(isinstance(a, torch.dtype) for a in args):
            self.args = args
        else:
            raise AssertionError(
                "When one dtype variant is a tuple or list, all dtype variants must be"
            )
        self.device_type = device_type
        self.others: dict[str, tuple[Any, ...]] = {}

    def __call__(self, fn: Any) -> Any:
        """Remembers the dtypes beside those for other types of devices."""
        inner = getattr(fn, "_chosen", None)
        self.others = {**(inner.others if inner is not None else {}), self.device_type: self.args}
        fn._chosen = self
        return fn

    def cases(
        self, test: object, name: str, base: type[DeviceTypeTestBase]
    ) -> Iterator[tuple[object, dict[str, object], list[object]]]:
        """What goes into the name before and after the device, the arguments and the decorators of
        each run."""
        del test, name
        for one in self.others.get(base.device_type, self.others.get("all", ())):
            if isinstance(one, tuple) and len(one) == 1:
                (one,) = one
            several = isinstance(one, tuple)
            yield (
                ("", "_".join(map(_word, one)) if several else _word(one)),
                {"dtypes" if several else "dtype": one},
                [],
            )


dtypesIfCPU, dtypesIfCUDA, dtypesIfMPS, dtypesIfXPU, dtypesIfHPU, dtypesIfPRIVATEUSE1 = (
    functools.partial(dtypes, device_type=kind)
    for kind in ("cpu", "cuda", "mps", "xpu", "hpu", "privateuseone")
)


class OpDTypes(Enum):
    """Which dtypes of an operation's description tests are made for."""

    supported = 0
    unsupported = 1
    supported_backward = 2
    unsupported_backward = 3
    any_one = 4
    none = 5
    any_common_cpu_cuda_one = 6


#: In which order ``any_one`` looks for a dtype.
ANY_DTYPE_ORDER = (
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


class ops:
    """``@ops(descriptions)``: a test for each operation, given as ``op``, and each of its dtypes.

    Args:
        op_list: descriptions with ``name``, ``formatted_name``, ``supported_dtypes(device_type)``,
            ``supported_backward_dtypes(device_type)`` and ``get_decorators(class, test, device,
            dtype, arguments)``. This package has no list of them.
        dtypes: which of their dtypes, or the dtypes themselves.
        allowed_dtypes: dtypes that others are left out for.
    """

    def __init__(
        self, op_list: Iterable[Any], *, dtypes: OpDTypes = OpDTypes.supported,
        allowed_dtypes: Sequence[torch.dtype] | None = None, skip_if_dynamo: bool = True
    ) -> None:  # fmt: skip
        del skip_if_dynamo
        self.op_list, self.opinfo_dtypes = list(op_list), dtypes
        self.allowed_dtypes = None if allowed_dtypes is None else set(allowed_dtypes)

    def __call__(self, fn: Any) -> Any:
        """Remembers the operations."""
        fn._chosen = self
        return fn

    def _dtypes_of(self, op: Any, kind: str) -> Iterable[object]:
        which = self.opinfo_dtypes
        if not isinstance(which, OpDTypes):
            return set(which)
        if which is OpDTypes.none:
            return {None}
        forward, every = set(op.supported_dtypes(kind)), set(ANY_DTYPE_ORDER)
        if which in (OpDTypes.any_one, OpDTypes.any_common_cpu_cuda_one):
            common = (
                forward & set(op.supported_dtypes("cuda"))
                if which is OpDTypes.any_common_cpu_cuda_one
                else forward
            )
            return list(itertools.islice((d for d in ANY_DTYPE_ORDER if d in common), 1))
        if which is OpDTypes.supported:
            return forward
        if which is OpDTypes.unsupported:
            return every - forward
        backward = set(op.supported_backward_dtypes(kind))
        return backward if which is OpDTypes.supported_backward else forward - backward

    def cases(
        self, test: Callable[..., object], name: str, base: type[DeviceTypeTestBase]
    ) -> Iterator[tuple[object, dict[str, object], list[object]]]:
        """What goes into the name before and after the device, the arguments and the decorators of
        each run."""
        for op in self.op_list:
            for dtype in sorted(self._dtypes_of(op, base.device_type), key=str):
                if self.allowed_dtypes is not None and dtype not in self.allowed_dtypes | {None}:
                    continue
                given = {"op": op} if dtype is None else {"op": op, "dtype": dtype}
                decorators = op.get_decorators(
                    base.__name__, test.__name__, base.device_type, dtype, given
                )
                yield (
                    (op.formatted_name, "" if dtype is None else _word(dtype)),
                    given,
                    list(decorators),
                )


class precisionOverride:
    """``@precisionOverride({torch.float16: 1e-2})``: absolute tolerances of ``assertEqual`` by
    dtype."""

    def __init__(self, d: dict[object, float]) -> None:
        if not (isinstance(d, dict) and all(isinstance(k, torch.dtype) for k in d)):
            raise AssertionError("precisionOverride takes a dict of tolerances by dtype")
        self.d = d

    def __call__(self, fn: Any) -> Function:
        """Remembers them."""
        fn.precision_overrides = self.d
        return fn


class toleranceOverride:
    """``@toleranceOverride({torch.float16: tol(atol=1e-2,
    rtol=1e-3)})``: tolerances of ``assertEqual`` by dtype."""

    def __init__(self, d: dict[object, object]) -> None:
        if not (isinstance(d, dict) and all(isinstance(v, tol) for v in d.values())):
            raise AssertionError("toleranceOverride takes a dict of tol(atol=, rtol=) by dtype")
        self.d = d

    def __call__(self, fn: Any) -> Function:
        """Remembers them."""
        fn.tolerance_overrides = self.d
        return fn


# ---- tests that are left out ---------------------------------------------------------------------


def _left_out(reason: Callable[[Any], str | None]) -> Callable[..., object]:
    """A decorator that skips a test where ``reason`` of its instance is one."""

    def decorate(fn: Callable[..., object]) -> object:
        if inspect.isclass(fn):
            raise unittest.SkipTest("classes are not left out by their devices")

        @functools.wraps(fn)
        def run(self: CPUTestBase, *args: object, **kwargs: object) -> Any:
            why = reason(self)
            if why is not None:
                raise unittest.SkipTest(why)
            return fn(self, *args, **kwargs)

        return run

    return decorate


def _true(dep: object, test: object) -> bool:
    return bool(getattr(test, dep, True) if isinstance(dep, str) else dep)


class skipIf:
    """``@skipIf(condition, reason, device_type)``: leaves a test out on a type of devices; a text
    names an attribute of the test."""

    def __init__(self, dep: object, reason: str, device_type: str | None = None) -> None:
        self.dep, self.reason, self.device_type = dep, reason, device_type

    def __call__(self, fn: object) -> Any:
        """The test, as left out."""
        return _left_out(
            lambda t: (
                self.reason
                if self.device_type in (None, t.device_type) and _true(self.dep, t)
                else None
            )
        )(fn)


def skipCPUIf(dep: object, reason: str) -> skipIf:
    """Leaves a test out on the CPU."""
    return skipIf(dep, reason, "cpu")


def skipCUDAIf(dep: object, reason: str) -> skipIf:
    """Leaves a test out on GPUs."""
    return skipIf(dep, reason, "cuda")


def skipMetaIf(dep: object, reason: str) -> skipIf:
    """Leaves a test out on the meta device."""
    return skipIf(dep, reason, "meta")


class onlyOn:
    """``@onlyOn("cuda")``: leaves a test out on other types of devices."""

    def __init__(self, device_type: str | Sequence[str]) -> None:
        self.device_type = device_type

    def __call__(self, fn: object) -> Any:
        """The test, as left out elsewhere."""
        return _left_out(
            lambda t: (
                None
                if t.device_type in _given_types(self.device_type)
                else f"Only runs on {self.device_type}"
            )
        )(fn)


onlyCPU, onlyCUDA, onlyMPS, onlyXPU = onlyOn("cpu"), onlyOn("cuda"), onlyOn("mps"), onlyOn("xpu")
onlyAccelerator = onlyOn(("cuda", "xpu", "mps", "mtia"))
onlyNativeDeviceTypes = _left_out(
    lambda t: (
        None
        if t.device_type in NATIVE_DEVICES
        else f"onlyNativeDeviceTypes: doesn't run on {t.device_type}"
    )
)
skipMeta, skipXLA = (
    skipIf(True, "test doesn't work with meta tensors", "meta"),
    skipIf(True, "Marked as skipped for XLA", "xla"),
)
skipGPUTraceIf = skipIf

#: Libraries that are there in one form or another: nothing is left out for want of them.
skipCPUIfNoLapack = skipCPUIfNoFFT = skipCPUIfNoMkl = skipCUDAIfNoMagma = skipCUDAIfNoCusolver = (
    skipCUDAIfNoMagmaAndNoCusolver
) = lambda fn: fn


class expectedFailure:
    """``@expectedFailure("cuda")``: a test that is to fail on a type of devices."""

    def __init__(self, device_type: str | None) -> None:
        self.device_type = device_type

    def __call__(self, fn: Callable[..., object]) -> Any:
        """The test, turned round there."""

        @functools.wraps(fn)
        def run(self_: CPUTestBase, *args: object, **kwargs: object) -> Any:
            if self.device_type not in (None, self_.device_type):
                return fn(self_, *args, **kwargs)
            try:
                fn(self_, *args, **kwargs)
            except Exception:
                return None
            return self_.fail(f"expected test to fail, but it passed: {fn.__name__}")

        return run


expectedFailureCPU, expectedFailureCUDA, expectedFailureMeta = map(
    expectedFailure, ("cpu", "cuda", "meta")
)


def largeTensorTest(size: str | int, device: str | None = None) -> Callable[[Any], Any]:
    """Leaves a test out where there is less memory: ``"2GB"``, or bytes."""
    if isinstance(size, str):
        if not size.endswith(("GB", "gb")):
            raise AssertionError(f"only bytes or GB supported, got {size!r}")
        size = 1024**3 * int(size[:-2])
    most = int(size)

    def reason(test: CPUTestBase) -> str | None:
        kind = torch.device(device or test.get_primary_device()).type
        if kind == "cuda":
            there = torch.cuda.mem_get_info()[0]
        else:
            there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return None if there >= most else f"Insufficient {kind} memory"

    return _left_out(reason)


__getattr__ = _refusals.missing(__name__)
