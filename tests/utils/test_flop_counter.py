"""Counted operations, by operator and by module."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def counted(run: Any, **options: Any) -> FlopCounterMode:
    with FlopCounterMode(display=False, **options) as counter:
        run()
    return counter


def test_matrix_products_and_their_gradients() -> None:
    w = torch.ones(3, 4, requires_grad=True)
    assert counted(lambda: torch.ones(2, 3) @ w).get_total_flops() == 2 * 2 * 3 * 4
    assert counted(lambda: (torch.ones(2, 3) @ w).sum().backward()).get_total_flops() == 2 * (2 * 2 * 3 * 4)
    assert counted(lambda: torch.ones(5, 2, 3) @ torch.ones(5, 3, 4)).get_total_flops() == 2 * 5 * 2 * 3 * 4


def test_convolutions() -> None:
    conv = torch.nn.Conv2d(3, 4, 3, padding=1)
    x = torch.ones(2, 3, 5, 5)
    forward = 2 * 2 * 25 * 4 * 3 * 9
    assert counted(lambda: conv(x)).get_total_flops() == forward
    assert counted(lambda: conv(x).sum().backward()).get_total_flops() == 2 * forward
    assert counted(lambda: conv(x.requires_grad_()).sum().backward()).get_total_flops() == 3 * forward


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention(dropout: float) -> None:
    q, k, v = torch.ones(2, 3, 4, 8), torch.ones(2, 3, 6, 8), torch.ones(2, 3, 6, 8)
    found = counted(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout))
    assert found.get_total_flops() == 2 * 2 * 3 * 4 * 6 * (8 + 8)
    q.requires_grad_()
    back = counted(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout).sum().backward())
    assert back.get_total_flops() >= 3 * found.get_total_flops()


def test_modules_forward_and_backward() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Sequential(torch.nn.Linear(16, 4)))
    found = counted(lambda: net(torch.ones(3, 8)).sum().backward()).get_flop_counts()
    totals = {name: sum(counts.values()) for name, counts in found.items()}
    first, second = 2 * 3 * 8 * 16, 2 * 3 * 16 * 4
    assert totals["Sequential.0"] == 2 * first and totals["Sequential.1.0"] == totals["Sequential.1"] == 3 * second
    assert totals["Global"] == totals["Sequential"] == 2 * first + 3 * second


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode():
        torch.nn.Linear(4, 4)(torch.ones(2, 4))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["Module", "FLOP", "%", "Total"], ["-" * 12, "-" * 6, "-" * 9], ["Linear", "64", "100.00%"], ["-", "aten.addmm", "64", "100.00%"],
    ]  # fmt: skip
    assert counted(lambda: None).get_table().split()[-3:] == ["Global", "0", "0%"]
    assert "54.000M" in counted(lambda: torch.ones(300, 300) @ torch.ones(300, 300)).get_table()


def test_formulas_of_other_operators() -> None:
    def formula(shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        return shape[0] * out_shape[0]

    relu = torch.ops.aten.relu
    assert counted(lambda: torch.relu(torch.ones(3)), custom_mapping={relu: formula}).get_total_flops() == 9
    try:
        register_flop_formula(relu)(formula)
        assert counted(lambda: torch.relu(torch.ones(2))).get_total_flops() == 4
        with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.relu"):
            register_flop_formula(relu)(formula)
    finally:
        del flop_registry[relu]
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(torch.relu)(formula)


def test_hooks_of_several_gradients_in_a_mode() -> None:
    seen: list[Any] = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda gradients: seen.append([g.tolist() for g in gradients]))
    counted(lambda: (x * 2 + y).sum().backward())
    assert seen == [[[2, 2], [1, 1]]]
