"""Tests that are written once for all devices, dtypes and operations."""

from __future__ import annotations

import unittest
from typing import Any

import pytest

import jtorch as torch
from jtorch.testing._internal import common_device_type as kinds
from jtorch.testing._internal.common_utils import TestCase, parametrize


class Described:
    """As much of an operation's description as is asked for."""

    name, formatted_name = "my.op", "my_op"

    def supported_dtypes(self, device_type: str) -> set[Any]:
        return {torch.float32, torch.float64, torch.int64}

    def supported_backward_dtypes(self, device_type: str) -> set[Any]:
        return {torch.float64}

    def get_decorators(self, cls: str, test: str, device: str, dtype: Any, given: Any) -> list[Any]:
        return [unittest.skip("as described")] if dtype is torch.int64 else []


@pytest.fixture
def ran() -> tuple[unittest.TestResult, list[Any], type]:
    """The outcome of a class of tests on the CPU, what its tests saw, and the class."""
    seen: list[Any] = []

    class TestAll(TestCase):
        def setUp(self) -> None:
            super().setUp()
            self.ready = True

        def test_plain(self, device):
            seen.append(("plain", device, self.device_type, self.ready))

        @kinds.dtypes(torch.float32, torch.int64)
        @kinds.dtypesIfCUDA(torch.float16)
        @kinds.toleranceOverride({torch.float32: kinds.tol(atol=0.1, rtol=0.2)})
        def test_one(self, device, dtype):
            seen.append((dtype, self.precision, self.rel_tol))

        @kinds.dtypes((torch.float32, torch.float64))
        def test_two(self, device, dtypes):
            seen.append(dtypes)

        @parametrize("a", [1, 2])
        @kinds.dtypes(torch.float32)
        @kinds.precisionOverride({torch.float32: 0.5})
        def test_more(self, device, dtype, a):
            seen.append((a, self.precision))

        @kinds.ops([Described()])
        def test_op(self, device, dtype, op):
            seen.append((op.name, dtype))

        @kinds.ops(
            [Described()],
            dtypes=kinds.OpDTypes.unsupported_backward,
            allowed_dtypes=[torch.float32],
        )
        def test_forward(self, device, dtype, op):
            seen.append(("forward", dtype))

        @kinds.ops([Described()], dtypes=kinds.OpDTypes.none)
        def test_any(self, device, op):
            seen.append(op.formatted_name)

        @kinds.onlyCUDA
        def test_elsewhere(self, device):
            raise AssertionError

        @kinds.skipCPUIf(True, "not here")
        def test_left_out(self, device):
            raise AssertionError

        @kinds.largeTensorTest("900000GB", "cpu")
        def test_large(self, device):
            raise AssertionError

        @kinds.expectedFailureCPU
        def test_failing(self, device):
            raise AssertionError

        @kinds.expectedFailureCPU
        def test_passing(self, device):
            pass

        @kinds.deviceCountAtLeast(1)
        def test_devices(self, devices):
            seen.append(devices)

    scope = {"TestAll": TestAll}
    kinds.instantiate_device_type_tests(TestAll, scope, only_for="cpu")
    assert list(scope) == ["TestAllCPU"]
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(scope["TestAllCPU"]).run(result)
    return result, seen, scope["TestAllCPU"]


def test_a_test_for_each_dtype_parameter_and_operation(ran):
    result, seen, made = ran
    assert not result.errors and [t._testMethodName for t, _ in result.failures] == [
        "test_passing_cpu"
    ]
    assert {t._testMethodName: why for t, why in result.skipped} == {
        "test_elsewhere_cpu": "Only runs on cuda", "test_left_out_cpu": "not here",
        "test_large_cpu": "Insufficient cpu memory", "test_op_my_op_cpu_int64": "as described",
    }  # fmt: skip
    for one in (
        ("plain", "cpu", "cpu", True), (torch.float32, 0.1, 0.2), (torch.int64, 0, 0),
        (torch.float32, torch.float64), (1, 0.5), (2, 0.5), ("my.op", torch.float32),
        ("my.op", torch.float64), ("forward", torch.float32), "my_op", ["cpu"],
    ):  # fmt: skip
        seen.remove(one)
    assert seen == []
    names = {
        "test_one_cpu_float32",
        "test_two_cpu_float32_float64",
        "test_more_a_1_cpu_float32",
        "test_op_my_op_cpu_float64",
        "test_any_my_op_cpu",
    }
    assert names <= set(dir(made)) and made.__name__ == "TestAllCPU"


def test_other_types_of_devices_make_no_class():
    for only, without in (("cuda", None), (None, ("cpu",))):
        scope: Any = {
            "TestNone": type("TestNone", (TestCase,), {"test_a": lambda self, device: None})
        }
        kinds.instantiate_device_type_tests(
            scope["TestNone"], scope, except_for=without, only_for=only
        )
        assert scope == {} or kinds.get_all_device_types() != ["cpu"]


def test_dtypes_are_all_tuples_or_none():
    with pytest.raises(AssertionError, match="must be"):
        kinds.dtypes((torch.float32,), torch.int64)
