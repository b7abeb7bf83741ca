"""Test cases whose tests several processes run, checks of operators, and the wrapper of two
tensors, as packages import them."""

# ruff: noqa: PT009  (helpers of unittest)

from __future__ import annotations

import types
import unittest
from typing import Any

import pytest

import jtorch as torch
import jtorch.distributed as dist
from jtorch.testing._internal import common_distributed, optests
from jtorch.testing._internal.common_fsdp import MLP, FSDPTest, check_sharded_parity
from jtorch.testing._internal.distributed._tensor import common_dtensor
from jtorch.testing._internal.two_tensor import TwoTensor, TwoTensorMode


class Sharded(FSDPTest):
    """One test of two processes; pytest does not collect it."""

    __test__ = False

    @property
    def world_size(self) -> int:
        """How many processes run it."""
        return 2

    def test_parity(self) -> None:
        """What two processes compute together is what one does."""
        torch.manual_seed(0)
        whole, model = MLP(4), MLP(4)
        model.load_state_dict(whole.state_dict())
        torch.distributed.fsdp.fully_shard(model)
        for m in (whole, model):
            m(torch.ones(2, 4)).sum().backward()
        check_sharded_parity(self, whole, model)
        mesh = dist.init_device_mesh("cpu", (2,))
        converter = common_dtensor.DTensorConverter(mesh, (torch.ones(4, 3),), {})
        self.assertEqual([str(a.placements[0]) for (a,), _ in converter], ["R", "S(0)"])
        if self.rank == 1:
            raise ValueError("only one rank fails")


def test_processes_run_a_test_and_tell_who_failed() -> None:
    result = unittest.TestResult()
    Sharded("test_parity").run(result)
    assert result.testsRun == 1
    [(_, words)] = result.errors
    assert "Process 1 exited with error code 10" in words
    assert "only one rank fails" in words
    assert "Process 0" not in words


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((75, 75), "SkipTest: Need at least 1 CUDA device"),
        ((0, 75), r"RuntimeError: processes ended unlike: \[0, 75\]"),
        ((3, 3), "RuntimeError: all processes ended with 3"),
    ],
)
def test_what_exit_codes_mean(codes: tuple[int, ...], expected: str) -> None:
    case = common_distributed.MultiProcessTestCase()
    case.processes = [types.SimpleNamespace(exitcode=c, pid=i) for i, c in enumerate(codes)]
    kind, _, words = expected.partition(": ")
    with pytest.raises(unittest.SkipTest if kind == "SkipTest" else RuntimeError, match=words):
        case._check_return_codes(None, 0)


@torch.library.custom_op("testing_internal::twice", mutates_args=())
def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@_twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty((7,))


class Checked(unittest.TestCase):
    """One test, of an operator whose fake results have another shape."""

    __test__ = False

    def test_call(self) -> None:
        """The operator itself is right."""
        self.assertEqual(_twice(torch.ones(2)).tolist(), [2, 2])


def test_every_call_of_an_operator_is_checked() -> None:
    utils = ["test_schema", "test_faketensor"]
    optests.generate_opcheck_tests(Checked, ["testing_internal"], None, {}, utils)
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(Checked).run(result)
    assert result.testsRun == 3
    [(failed, words)] = result.errors
    assert failed.id().endswith("test_faketensor__test_call")
    assert "testing_internal::twice" in words
    with pytest.raises(optests.OpCheckError):
        optests.fake_check(torch.ops.testing_internal.twice.default, (torch.ones(2),), {})


def test_two_tensors_are_computed_with_as_one() -> None:
    x: Any = TwoTensor(torch.ones(2), torch.zeros(2)).requires_grad_()
    (x * x).sum().backward()
    assert repr(x.grad) == "TwoTensor(tensor([2., 2.]), tensor([0., 0.]))"
    with TwoTensorMode():
        assert type(torch.ones(2)) is TwoTensor
