"""``torch.testing._internal.common_utils``, from which packages take helpers for their tests."""

# ruff: noqa: PT009, PT027  (these methods are what is tested)

from __future__ import annotations

import unittest
from pathlib import Path

import numpy as np

import jtorch as torch
from jtorch.testing._internal import common_cuda, common_utils
from jtorch.testing._internal.common_utils import TestCase as Case
from jtorch.testing._internal.common_utils import (
    instantiate_parametrized_tests,
    parametrize,
    subtest,
)


class _Compared(Case):
    def runTest(self) -> None:
        self.drawn = torch.rand(2)
        x = torch.tensor([1.0, float("nan")])
        self.assertEqual(x, x.clone())
        self.assertEqual(x, x.numpy())
        self.assertEqual({"a": [x, 1]}, {"a": [x + 1e-7, 1]})
        self.assertEqual(torch.tensor(2.0), 2)
        self.assertEqual(1.0, 1.0 + 1e-6)
        self.assertEqual(x[:1], 1)
        self.assertEqual(x[:1], [1.0])
        self.assertEqual(1, 1.0)
        self.assertEqual("word", "word")
        self.assertEqual(
            {"a": (x, "word", torch.int64), "b": None}, {"b": None, "a": [x, "word", torch.int64]}
        )
        self.assertEqual(np.float32(1), 1.0)
        self.assertNotEqual(x[0], 2.0)
        self.assertEqualIgnoreType(torch.ones(1), torch.ones(1, dtype=torch.float64))
        self.assertEqual(x[0], 1.1, atol=0.2, rtol=0)
        for wrong in (
            (x, x + 1),
            (x, x.double()),
            ([x[0]], [x[0], x[0]]),
            ("a", "b"),
            (1, 2),
            (x[0], 1.1),
            (None, x),
            (1.0, 1.0001),
            ([x, "a"], [x, "b"]),
            ({"a": x}, {"b": x}),
        ):
            with self.assertRaises(AssertionError):
                self.assertEqual(*wrong)
        with self.assertRaises(ValueError):
            self.assertEqual(x, x, atol=0.1)


def test_cases_compare_within_tolerances_and_are_seeded() -> None:
    cases = [_Compared(), _Compared()]
    for case in cases:
        found = unittest.TestResult()
        case.run(found)
        assert found.wasSuccessful(), (found.failures, found.errors)
    assert torch.equal(cases[0].drawn, cases[1].drawn)


def test_parametrised_methods() -> None:
    seen = []

    @instantiate_parametrized_tests
    class Tests(Case):
        @parametrize("dtype", [torch.float32, torch.int64])
        @parametrize(
            "a, b", [(1, 2), subtest((3, 4), name="named", decorators=[unittest.skip("not now")])]
        )
        def test_it(self, a, b, dtype):
            seen.append((a, b, dtype))

    names = sorted(name for name in vars(Tests) if name.startswith("test"))
    assert names == [
        "test_it_float32_a_1_b_2",
        "test_it_float32_named",
        "test_it_int64_a_1_b_2",
        "test_it_int64_named",
    ]
    found = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(found)
    assert found.wasSuccessful() and len(found.skipped) == 2
    assert seen == [(1, 2, torch.float32), (1, 2, torch.int64)]


def test_helpers() -> None:
    with common_utils.set_default_dtype(torch.float64):
        assert torch.ones(1).dtype is torch.float64
    assert torch.ones(1).dtype is torch.float32
    torch.manual_seed(3)
    with common_utils.freeze_rng_state():
        first = torch.rand(1)
    assert torch.equal(first, torch.rand(1))
    assert common_utils.make_tensor((2,), dtype=torch.float32, device="cpu").shape == (2,)
    assert common_cuda.TEST_CUDA is torch.cuda.is_available()
    with common_utils.TemporaryFileName() as name:
        Path(name).write_text("x")
    assert not Path(name).exists()
    assert (
        common_utils.skipIfTorchDynamo("why")(test_helpers)
        is test_helpers
        is common_utils.skipIfRocm(test_helpers)
    )
