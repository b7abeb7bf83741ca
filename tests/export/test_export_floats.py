"""Floats that are computed of sizes that vary, in exported programs: in the graph, in files, in
fewer operators, in StableHLO."""

from __future__ import annotations

import io
import math

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._src.tensor.shape_env import ConstraintViolation
from jtorch.export import Dim, export, load, save, stablehlo
from jtorch.nn import functional as F


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def attention(x):
    return torch.softmax(x @ x.T * (1.0 / x.shape[0]), -1)


PROGRAMS = {
    "quotient": lambda x: x * (x.shape[0] / 2),
    "reciprocal": attention,
    "power": lambda x: x * x.shape[0] ** -0.5,
    "base": lambda x: x * 2.0 ** x.shape[0],
    "mixed": lambda x: x + (x.shape[0] * 0.5 + 1) / 3 - -(x.shape[0] / 4),
    "of both": lambda x: x * (x.shape[0] / 2 - x.shape[0]),
    "root": lambda x: x / torch.sym_sqrt(x.shape[0]),
    "whole numbers": lambda x: x.int() * (x.shape[0] / 4),
    "bound": lambda x: x.clamp(max=x.shape[0] / 16),
    "comparison": lambda x: x > x.shape[0] / 16,
    "reversed": lambda x: (x.shape[0] / 2) - x,
    "float": lambda x: x * torch.sym_float(x.shape[0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_floats_of_sizes(name) -> None:
    function = PROGRAMS[name]
    program = export(Of(function), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("rows", min=2)},))
    other = torch.randn(6, 3)
    wanted = function(other)
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    ((lowered,), _) = stablehlo(program).call({}, other.jax())
    for found in (
        program.module()(other),
        program.run_decompositions().module()(other),
        load(file).module()(other),
        torch.from_jax(lowered),
    ):
        torch.testing.assert_close(found, wanted)


def test_the_graph_computes_them_from_sizes() -> None:
    def function(x):
        half = x.shape[0] / 2
        assert (
            isinstance(half, torch.SymFloat)
            and not isinstance(half, float)
            and f"{half}" == "s77/2"
        )
        return x * half, x + (x.shape[0] * 1.5 - half)

    program = export(Of(function), (torch.ones(4),), dynamic_shapes=({0: Dim("rows")},))
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    targets = [getattr(n.target, "__name__", str(n.target)) for n in calls]
    assert targets == [
        "sym_size.int",
        "truediv",
        "mul.Tensor",
        "sym_float",
        "mul",
        "sub",
        "add.Tensor",
    ]
    assert calls[2].args[1] is calls[1] and isinstance(calls[1].meta["val"], torch.SymFloat)
    first, second = program.module()(torch.ones(7))
    assert first[0].item() == 3.5 and second[0].item() == 8.0


ASKING = [
    lambda n: int(n * 0.5),
    lambda n: math.floor(n * 0.1),
    math.sqrt,
    lambda n: 1 if n / 2 > 1 else 2,
    lambda n: bool(n / 2),
]


@pytest.mark.parametrize("ask", [*ASKING, lambda n: round(n / 3, 1)])
def test_what_they_are_is_not_assumed(ask) -> None:
    with pytest.raises(ConstraintViolation):
        export(
            Of(lambda x: x * ask(x.shape[0])), (torch.ones(4),), dynamic_shapes=({0: Dim("rows")},)
        )
    assert export(Of(lambda x: x * ask(x.shape[0])), (torch.ones(4),)).module()(
        torch.ones(4)
    ).shape == (4,)


def test_numbers_that_decide_shapes_are_not_assumed() -> None:
    for function in (
        lambda x: torch.arange(0, x.shape[0] / 2, 1.0),
        lambda x: F.interpolate(x[None, None], scale_factor=x.shape[0] / 2),
    ):
        with pytest.raises(ConstraintViolation):
            export(Of(function), (torch.ones(4),), dynamic_shapes=({0: Dim("rows")},))


def test_what_stablehlo_cannot_be_given_is_named() -> None:
    program = export(
        Of(lambda x: F.layer_norm(x, (3,), eps=1.0 / x.shape[0])),
        (torch.ones(4, 3),),
        dynamic_shapes=({0: Dim("rows")},),
    )
    assert program.module()(torch.randn(5, 3)).shape == (5, 3)
    with pytest.raises(NotImplementedError, match="'eps', which is computed of sizes"):
        stablehlo(program)


def test_larger_and_smaller_of_sizes() -> None:
    def function(x):
        return x.new_zeros(torch.sym_max(x.shape[0], 8), torch.sym_min(5, x.shape[0]))

    program = export(Of(function), (torch.ones(6),), dynamic_shapes=({0: Dim("rows")},))
    assert program.module()(torch.ones(9)).shape == (9, 5) and program.module()(
        torch.ones(3)
    ).shape == (8, 3)


def test_vmap_over_a_size_that_varies() -> None:
    layer = nn.Linear(3, 2)

    def function(x):
        return (
            torch.vmap(layer)(x),
            torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, x.T),
            torch.vmap(lambda r: torch.softmax(r, 0))(x),
        )

    module = Of(function)
    module.layer = layer
    program = export(module, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("rows")},))
    x = torch.randn(6, 3)
    for found, wanted in zip(program.module()(x), function(x), strict=True):
        torch.testing.assert_close(found, wanted)


def test_what_varies_of_the_rest_of_the_arguments_has_one_name() -> None:
    class Sum(nn.Module):
        def forward(self, x, *rest):
            return x.sum(0) + sum(r.sum(0) for r in rest)

    x = torch.ones(4, 3)
    for shapes in ({"x": None, "rest": ({0: Dim("b")}, None)}, (None, ({0: Dim("b")}, None))):
        program = export(Sum(), (x, x, x), dynamic_shapes=shapes)
        assert program.module()(x, torch.ones(9, 3), x).tolist() == [17.0] * 3
        with pytest.raises(AssertionError, match="Guard failed"):
            program.module()(x, x, torch.ones(9, 3))


def test_associative_scan() -> None:
    from jtorch._higher_order_ops.associative_scan import associative_scan

    def sums(x):
        return associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")

    def line(pair):
        return associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), pair, 0, combine_mode="generic"
        )

    x = torch.randn(5, 2)
    torch.testing.assert_close(sums(x), x.cumsum(0))
    factor, offset = line((x, x))
    state = torch.zeros(2)
    for i in range(5):
        state = state * x[i] + x[i]
        torch.testing.assert_close(offset[i], state)
    torch.testing.assert_close(factor, x.cumprod(0))
    leaf = x.clone().requires_grad_()
    sums(leaf).sum().backward()
    assert leaf.grad[:, 0].tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    torch.testing.assert_close(
        torch.vmap(sums)(torch.stack([x, 2 * x])), torch.stack([x, 2 * x]).cumsum(1)
    )
    program = export(Of(sums), (x,))
    torch.testing.assert_close(program.module()(x + 1), (x + 1).cumsum(0))
