"""Counted operations, by operator and by module."""

from __future__ import annotations

import math
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
    assert counted(lambda: (torch.ones(2, 3) @ w).sum().backward()).get_total_flops() == 2 * (
        2 * 2 * 3 * 4
    )
    assert (
        counted(lambda: torch.ones(5, 2, 3) @ torch.ones(5, 3, 4)).get_total_flops()
        == 2 * 5 * 2 * 3 * 4
    )


def test_convolutions() -> None:
    conv = torch.nn.Conv2d(3, 4, 3, padding=1)
    x = torch.ones(2, 3, 5, 5)
    forward = 2 * 2 * 25 * 4 * 3 * 9
    assert counted(lambda: conv(x)).get_total_flops() == forward
    assert counted(lambda: conv(x).sum().backward()).get_total_flops() == 2 * forward
    assert (
        counted(lambda: conv(x.requires_grad_()).sum().backward()).get_total_flops() == 3 * forward
    )


# fused, all gradients; by products, that of the queries alone
@pytest.mark.parametrize(("dropout", "again"), [(0.0, 3), (0.5, 2)])
def test_attention(dropout: float, again: int) -> None:
    q, k, v = torch.ones(2, 3, 4, 8), torch.ones(2, 3, 6, 8), torch.ones(2, 3, 6, 8)
    found = counted(
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
    )
    assert found.get_total_flops() == 2 * 2 * 3 * 4 * 6 * (8 + 8)
    q.requires_grad_()
    back = counted(
        lambda: (
            torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
            .sum()
            .backward()
        )
    )
    assert back.get_total_flops() >= again * found.get_total_flops()


def test_attention_by_products() -> None:
    x = torch.ones(2, 4, 6, 8, requires_grad=True)
    few = torch.ones(2, 2, 6, 8, requires_grad=True)
    attend = torch.nn.functional.scaled_dot_product_attention
    whole = {torch.ops.aten.bmm: 3 * 2 * 2 * 4 * 6 * 6 * (8 + 8)}
    ways: list[Any] = [
        lambda: attend(x, x, x, dropout_p=0.5),
        lambda: attend(x, x[:1], x[:1]),
        lambda: attend(x, few, few, enable_gqa=True, dropout_p=0.5),
    ]
    for way in ways:
        assert counted(lambda way=way: way().sum().backward()).get_flop_counts()["Global"] == whole
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert (
            counted(lambda: attend(x, x, x).sum().backward()).get_flop_counts()["Global"] == whole
        )
    assert (
        torch.ops.aten.bmm
        not in counted(lambda: attend(x, few, few, enable_gqa=True)).get_flop_counts()["Global"]
    )


@pytest.mark.parametrize(
    ("kind", "options", "count"),
    [
        ("GRU", {}, 8448),
        ("GRU", {"num_layers": 2, "bidirectional": True, "batch_first": True}, 55296),
        ("RNN", {}, 2816),
        ("RNN", {"nonlinearity": "relu", "bidirectional": True}, 5632),
        ("LSTM", {"proj_size": 3}, 7008),
    ],
)
def test_recurrent_layers(kind: str, options: dict[str, Any], count: int) -> None:
    layer = getattr(torch.nn, kind)(4, 8, **options)  # the counts are PyTorch's
    assert (
        counted(lambda: layer(torch.ones(3, 2, 4))[0].sum().backward()).get_total_flops() == count
    )


@pytest.mark.parametrize(("kind", "count"), [("GRU", 6912), ("LSTM", 9216)])
def test_recurrent_layers_of_packed_sequences(kind: str, count: int) -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 4), torch.ones(2, 4)])
    layer = getattr(torch.nn, kind)(4, 8)
    assert counted(lambda: layer(packed)[0].data.sum().backward()).get_total_flops() == count


def filled(*shape: int) -> torch.Tensor:
    return torch.arange(float(math.prod(shape))).reshape(shape).div(7).sin()


F, func = torch.nn.functional, torch.func

#: What runs inside transformations, and PyTorch's counts.
INSIDE: list[tuple[Any, int]] = [
    (lambda: func.vmap(torch.mm)(filled(3, 2, 4), filled(3, 4, 5)), 240),
    (lambda: func.vmap(torch.mm, in_dims=(0, None))(filled(3, 2, 4), filled(4, 5)), 240),
    (lambda: func.vmap(torch.mm, in_dims=(1, 2), out_dims=1)(filled(2, 3, 4), filled(4, 5, 3)),
     240),
    (lambda: func.vmap(func.vmap(torch.mm, in_dims=(0, None)), in_dims=(None, 0))(filled(3, 2, 4),
        filled(6, 4, 5)), 1440),
    (lambda: func.vmap(torch.mv)(filled(3, 2, 4), filled(3, 4)), 48),
    (lambda: func.vmap(torch.dot)(filled(3, 4), filled(3, 4)), 24),
    (lambda: func.vmap(torch.matmul)(filled(3, 6, 2, 4), filled(3, 4, 5)), 1440),
    (lambda: func.vmap(lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=0.5))(filled(3, 5),
        filled(3, 2, 4), filled(3, 4, 5)), 240),
    (lambda: func.vmap(torch.baddbmm)(filled(3, 6, 2, 5), filled(3, 6, 2, 4), filled(3, 6, 4, 5)),
     1440),
    (lambda: func.vmap(lambda x: torch.einsum("ij,jk->ki", x, filled(4, 5)))(filled(3, 2, 4)), 240),
    (lambda: func.vmap(lambda x, y: torch.tensordot(x, y, 1))(filled(3, 2, 4), filled(3, 4, 5)),
     240),
    (lambda: func.vmap(lambda x: F.linear(x, filled(5, 4), filled(5)))(filled(3, 4)), 120),
    (lambda: func.vmap(lambda x: F.conv2d(x, filled(5, 3, 3, 3), filled(5)))(filled(7, 2, 3, 8, 8)),
     136080),
    (lambda: func.vmap(lambda w, b: F.conv2d(filled(2, 3, 8, 8), w, b))(filled(7, 5, 3, 3, 3),
        filled(7, 5)), 136080),
    (lambda: func.vmap(lambda x, w: F.conv2d(x, w, stride=2, padding=1))(filled(7, 2, 3, 8, 8),
        filled(7, 5, 3, 3, 3)), 60480),
    (lambda: func.vmap(lambda w: F.conv2d(filled(2, 4, 8, 8), w, groups=2))(filled(7, 6, 2, 3, 3)),
     108864),
    (lambda: func.vmap(lambda x, w: F.conv2d(x, w, groups=2))(filled(7, 2, 4, 8, 8),
        filled(7, 6, 2, 3, 3)), 108864),
    (lambda: func.jvp(torch.mm, (filled(2, 4), filled(4, 5)), (filled(2, 4), filled(4, 5)))[1],
     240),
    (lambda: func.jvp(F.conv2d, (filled(2, 3, 6, 6), filled(5, 3, 3, 3)),
                      (filled(2, 3, 6, 6), filled(5, 3, 3, 3)))[1], 25920),
    (lambda: func.vmap(lambda x, t: func.jvp(lambda y: y @ y.T, (x,), (t,))[1])(filled(3, 2, 4),
        filled(3, 2, 4)), 288),
    (lambda: func.vmap(func.grad(lambda w, x: (x @ w).sin().sum()), in_dims=(None, 0))(filled(4, 5),
        filled(3, 4)), 240),
    (lambda: func.vmap(lambda x: F.scaled_dot_product_attention(x, x, x))(filled(3, 2, 4, 6)),
     2304),
    (lambda: func.jacrev(lambda x: (x @ filled(4, 5)).sin())(filled(2, 4)), 880),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(INSIDE)))
def test_inside_transformations(at: int) -> None:
    run, count = INSIDE[at]
    found: list[torch.Tensor] = []
    assert counted(lambda: found.append(run())).get_total_flops() == count
    assert torch.allclose(found[0], run(), rtol=1e-4, atol=1e-5)


def test_modules_inside_gradients() -> None:
    layer = torch.nn.Linear(4, 5).requires_grad_(False)
    found = counted(lambda: func.grad(lambda x: layer(x).sum())(torch.ones(3, 4))).get_flop_counts()
    assert {name: sum(counts.values()) for name, counts in found.items()} == {
        "Linear": 240,
        "Global": 240,
    }


def test_second_forward_derivatives() -> None:
    run = func.jacfwd(func.jacfwd(lambda x: (x @ filled(4, 5)).sin().sum()))
    found: list[torch.Tensor] = []
    assert counted(lambda: found.append(run(filled(4)))).get_total_flops() >= 640
    assert torch.allclose(found[0], run(filled(4)), rtol=1e-4, atol=1e-5)


def test_modules_forward_and_backward() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Sequential(torch.nn.Linear(16, 4)))
    found = counted(lambda: net(torch.ones(3, 8)).sum().backward()).get_flop_counts()
    totals = {name: sum(counts.values()) for name, counts in found.items()}
    first, second = 2 * 3 * 8 * 16, 2 * 3 * 16 * 4
    assert (
        totals["Sequential.0"] == 2 * first
        and totals["Sequential.1.0"] == totals["Sequential.1"] == 3 * second
    )
    assert totals["Global"] == totals["Sequential"] == 2 * first + 3 * second


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode():
        torch.nn.Linear(4, 4)(torch.ones(2, 4))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["Module", "FLOP", "%", "Total"], ["-" * 12, "-" * 6, "-" * 9], ["Linear", "64", "100.00%"],
        ["-", "aten.addmm", "64", "100.00%"],
    ]  # fmt: skip
    assert counted(lambda: None).get_table().split()[-3:] == ["Global", "0", "0%"]
    assert "54.000M" in counted(lambda: torch.ones(300, 300) @ torch.ones(300, 300)).get_table()


def test_formulas_of_other_operators() -> None:
    def formula(shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        return shape[0] * out_shape[0]

    relu = torch.ops.aten.relu
    assert (
        counted(lambda: torch.relu(torch.ones(3)), custom_mapping={relu: formula}).get_total_flops()
        == 9
    )
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
    torch.autograd.graph.register_multi_grad_hook(
        [x, y], lambda gradients: seen.append([g.tolist() for g in gradients])
    )
    counted(lambda: (x * 2 + y).sum().backward())
    assert seen == [[[2, 2], [1, 1]]]
