"""Helpers of tests: a ``TestCase`` that compares tensors, parametrised methods, questions about the
platform."""

# ruff: noqa: PT009, PT027  (helpers of unittest)

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import os
import platform
import random
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch.autograd import gradcheck as gradcheck
from jtorch.autograd import gradgradcheck as gradgradcheck
from jtorch.testing import assert_close
from jtorch.testing import make_tensor as make_tensor

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, Operand


SEED = 1234
IS_LINUX, IS_WINDOWS, IS_MACOS = (
    sys.platform.startswith(name) for name in ("linux", "win32", "darwin")
)
IS_ARM64, IS_X86 = (
    platform.machine() in ("arm64", "aarch64"),
    platform.machine() in ("x86_64", "i386"),
)
IS_CI, IS_FBCODE, IS_SANDCASTLE, IS_JETSON, IS_PPC = (
    bool(os.environ.get("CI")),
    False,
    False,
    False,
    False,
)
TEST_CUDA = torch.cuda.is_available()
TEST_NUMPY, TEST_SCIPY = True, importlib.util.find_spec("scipy") is not None
TEST_MPS = TEST_XPU = TEST_HPU = TEST_MKL = TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = (
    TEST_WITH_UBSAN
) = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_CROSSREF = TEST_CUDA_MEM_LEAK_CHECK = (
    False
)
TEST_WITH_SLOW, TEST_SKIP_FAST = bool(os.environ.get("PYTORCH_TEST_WITH_SLOW")), False
NO_MULTIPROCESSING_SPAWN = False

skipIfRocm = skipIfTorchDynamo = skipIfTorchInductor = skipIfCrossRef = skipIfMps = (
    lambda *given, **_: given[0] if given and callable(given[0]) else lambda test: test
)
slowTest = unittest.skipUnless(
    TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test"
)


def skipIfNoSciPy(fn: Callable[..., object]) -> Callable[..., object]:
    """Leaves a test out without SciPy."""
    return unittest.skipUnless(TEST_SCIPY, "test require SciPy, but SciPy not found")(fn)


def set_rng_seed(seed: int = SEED) -> None:
    """Seeds the generators of torch, NumPy and Python."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """A block after which the generators go on as if it had not been."""
    with torch.random.fork_rng():
        yield


@contextlib.contextmanager
def set_default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """A block with another default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is removed afterwards."""
    with tempfile.NamedTemporaryFile(*args, delete=False, **kwargs) as file:
        name = file.name
    try:
        yield name
    finally:
        os.unlink(name)


def _leaves(value: object) -> Operand:
    """The same, with tensors in the place of arrays and numbers of NumPy, and lists in that of
    other sequences."""
    if isinstance(value, np.ndarray | np.generic):
        return torch.as_tensor(value)
    if isinstance(value, Mapping):
        return {key: _leaves(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_leaves(item) for item in value]
    return value


def _alike(x: object, y: object) -> tuple[Any, Any]:
    """Both as tensors where one is: a list of numbers is one too, and a number may stand for a
    tensor's only element."""
    if isinstance(y, torch.Tensor) and not isinstance(x, torch.Tensor):
        y, x = _alike(y, x)
    elif isinstance(x, torch.Tensor) and isinstance(y, list):
        y = torch.as_tensor(y, dtype=x.dtype, device=x.device)
    elif isinstance(x, torch.Tensor) and isinstance(y, _NUMBERS):
        x = x.item()
    return x, y


_NUMBERS = (bool, int, float, complex)


def _numeric(value: object) -> bool:
    """Whether there is a tensor or a number in it."""
    if isinstance(value, dict):
        return any(map(_numeric, value.values()))
    return (
        any(map(_numeric, value))
        if isinstance(value, list)
        else isinstance(value, torch.Tensor | float | complex)
    )


def _shape(value: list[torch.Tensor | int] | dict[str, object]) -> set[str] | int:
    """What two lists or dicts have in common whose parts are compared one by one."""
    return set(value) if isinstance(value, dict) else len(value)


class TestCase(unittest.TestCase):
    """Tests that are seeded anew, and compare what holds tensors within tolerances of their
    dtypes."""

    _precision: float = 0
    _rel_tol: float = 0
    maxDiff = None

    @property
    def precision(self) -> float:
        """The least absolute tolerance of comparisons."""
        return self._precision

    @precision.setter
    def precision(self, value: float) -> None:
        self._precision = value

    @property
    def rel_tol(self) -> float:
        """The least relative tolerance of comparisons."""
        return self._rel_tol

    @rel_tol.setter
    def rel_tol(self, value: float) -> None:
        self._rel_tol = value

    def setUp(self) -> None:
        """Seeds the generators."""
        set_rng_seed(SEED)

    def assertEqual(
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None,
        rtol: float | None = None, equal_nan: bool = True, exact_dtype: bool = True,
        exact_device: bool = False, exact_layout: bool = False, exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:  # fmt: skip
        """Compares numbers, tensors, and what holds them, within tolerances; other things by
        ``==``."""
        del exact_is_coalesced
        if (atol is None) != (rtol is None):
            raise ValueError("Either both 'rtol' and 'atol' or none of them have to be specified.")
        x, y = _alike(_leaves(x), _leaves(y))
        if isinstance(x, list | dict) and type(x) is type(y) and (_numeric(x) or _numeric(y)):
            given = {
                "atol": atol,
                "rtol": rtol,
                "equal_nan": equal_nan,
                "exact_dtype": exact_dtype,
                "exact_device": exact_device,
            }
            given |= {"exact_layout": exact_layout, "exact_stride": exact_stride}
            super().assertEqual(_shape(x), _shape(y), msg)
            for key in x if isinstance(x, dict) else range(len(x)):
                self.assertEqual(x[key], y[key], msg, **given)
            return
        if not (_numeric(x) and _numeric(y)):
            super().assertEqual(x, y, msg)
            return
        if isinstance(x, _NUMBERS):
            exact_dtype = False
        # numbers as if they were of float32
        if atol is None and (isinstance(x, _NUMBERS) or self._precision or self._rel_tol):
            atol, rtol = max(self._precision, 1e-5), max(self._rel_tol, 1.3e-6)
        assert_close(
            x, y, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=exact_dtype,
            check_device=exact_device, check_layout=exact_layout, check_stride=exact_stride,
            msg=None if msg is None else str(msg),
        )  # fmt: skip

    def assertNotEqual(
        self,
        x: object,
        y: object,
        msg: str | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        **kwargs: Any,
    ) -> None:
        """The opposite."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def assertEqualIgnoreType(self, *args: torch.Tensor, **kwargs: Any) -> None:
        """``assertEqual`` whatever the dtypes."""
        self.assertEqual(*args, exact_dtype=False, **kwargs)


class subtest:
    """Arguments of one run of a parametrised test, with a name or decorators of its own."""

    def __init__(
        self, arg_values: Any, name: str | None = None, decorators: Iterable[Any] | None = None
    ) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


def _word(name: str, value: object) -> str:
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return f"{name}_{str(value).replace('.', '_')}"


class parametrize:
    """``@parametrize("a,b", [(1, 2), subtest((3, 4),
    name="x")])``: a test for each; ``instantiate_parametrized_tests`` makes them."""

    def __init__(
        self, arg_str: str, arg_values: Iterable[object], name_fn: Callable[..., str] | None = None
    ) -> None:
        self.names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.values, self.name_fn = list(arg_values), name_fn

    def __call__(self, fn: Any) -> Any:
        """Remembers the runs beside those of inner decorators."""
        fn._runs = [*getattr(fn, "_runs", ()), self]
        return fn

    def runs(self) -> Iterator[tuple[str, dict[str, object], list[object]]]:
        """Name, arguments and decorators of each."""
        for i, value in enumerate(self.values):
            case = value if isinstance(value, subtest) else subtest(value)
            given = (case.arg_values,) if len(self.names) == 1 else tuple(case.arg_values)
            simple = all(
                isinstance(v, bool | int | float | str | torch.dtype | torch.device) for v in given
            )
            plain = "_".join(_word(n, v) for n, v in zip(self.names, given, strict=True))
            name = case.name or (
                self.name_fn(*given)
                if self.name_fn
                else plain
                if simple
                else f"{'_'.join(self.names)}{i}"
            )
            yield name, dict(zip(self.names, given, strict=True)), case.decorators


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Puts a method for each run in the place of a class's parametrised tests."""
    for name, test in list(vars(generic_cls).items()):
        if not hasattr(test, "_runs"):
            continue
        delattr(generic_cls, name)
        for combined in itertools.product(*(p.runs() for p in reversed(test._runs))):
            arguments = {k: v for _, given, _ in combined for k, v in given.items()}

            def made(
                self: object, _test: Callable[..., object] = test, _arguments: Named = arguments
            ) -> Any:
                return _test(self, **_arguments)

            run: Any = functools.wraps(test)(made)
            run.__name__ = "_".join([name, *(label for label, _, _ in combined)])
            del run.__wrapped__  # whose arguments a runner would look for
            for decorator in (d for _, _, decorators in combined for d in decorators):
                run = decorator(run)
            setattr(generic_cls, run.__name__, run)
    return generic_cls


def run_tests(argv: Any = None) -> None:
    """Runs the tests of the main module."""
    unittest.main(argv=argv or sys.argv)
