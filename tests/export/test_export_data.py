"""Programs whose numbers and sizes data decide: what is exported, what is checked where it runs,
and what is refused."""

import io
import operator

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.export import Dim, ExportedProgram, export, load, save, stablehlo
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    free_unbacked_symbols,
    guard_or_false,
    guard_or_true,
)


def exported(f: object, *args: torch.Tensor) -> ExportedProgram:
    class Module(nn.Module):
        def forward(self, *inputs: torch.Tensor) -> object:
            return f(*inputs)  # type: ignore[operator]

    return export(Module(), args)


def ranges(program: ExportedProgram) -> dict[str, str]:
    return {str(k): str(v) for k, v in program.range_constraints.items()}


X = torch.arange(6.0) - 2
N = torch.tensor(4)


def test_a_number_read_from_a_tensor_is_a_symbol() -> None:
    program = exported(lambda x: x * x.max().item(), X)
    assert ranges(program) == {"zuf0": "VR[-oo, oo]"}
    assert torch.equal(program.module()(2 * X), 2 * X * 6)
    program = exported(lambda x, n: (x + n.item(), n.item() * 2 + 1), X, N)
    # once read, it is the same until it is written to
    assert ranges(program) == {"u0": "VR[-int_oo, int_oo]"}
    y, n = program.module()(X, torch.tensor(-7))
    assert torch.equal(y, X - 7)
    assert n == -13


def test_what_is_checked_while_tracing_is_checked_where_the_program_runs() -> None:
    def first(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        k = n.item()
        torch._check(k >= 0)
        torch._check(k < x.shape[0])
        return x[:k]

    program = exported(first, X, N)
    assert ranges(program) == {"u0": "VR[0, 5]"}
    for loaded in (
        program,
        program.run_decompositions(),
        reread(program),
        reread(program).run_decompositions({}),
    ):
        module = loaded.module()
        assert torch.equal(module(X, torch.tensor(0)), X[:0])
        assert torch.equal(module(X, torch.tensor(5)), X[:5])
        for bad in (-1, 6):
            with pytest.raises(
                RuntimeError, match=r"Runtime assertion failed for expression u0 (>=|<=|<) \d"
            ):
                module(X, torch.tensor(bad))


def reread(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    again = load(file)
    assert again.graph_module.code == program.graph_module.code
    assert ranges(again) == ranges(program)
    return again


def test_sizes_that_data_decide() -> None:
    def chosen(x: torch.Tensor) -> tuple[object, ...]:
        y = x[x > 0]
        return (
            y * 2,
            y.sum(),
            y.shape[0],
            y.unsqueeze(1) @ torch.ones(1, 3),
            torch.cat([y, x]),
            y[1:],
        )

    program = exported(chosen, X)
    assert ranges(program)["u0"] == "VR[0, 6]"
    for x in (X, -X.abs(), X.abs() + 1):
        for mine, right in zip(
            reread(program).run_decompositions().module()(x), chosen(x), strict=True
        ):
            assert torch.equal(torch.as_tensor(mine), torch.as_tensor(right))


def test_bounds_follow_from_dimensions_that_vary() -> None:
    class Chosen(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[x > 0]

    program = export(Chosen(), (X,), dynamic_shapes=({0: Dim("n", min=2, max=50)},))
    assert sorted(ranges(program).values()) == ["VR[0, 50]", "VR[2, 50]"]
    assert program.module()(torch.ones(40)).shape == (40,)


@pytest.mark.parametrize(
    "f",
    [
        torch.nonzero,
        torch.argwhere,
        lambda x: torch.where(x > 0),
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        lambda x: torch.unique_consecutive(x, return_counts=True),
        lambda x: torch.unique(x.view(3, 2), dim=0),
        lambda x: torch.repeat_interleave(x, x.abs().long()),
        lambda x: torch.repeat_interleave(x.view(2, 3), x.abs().long()[:3], dim=1),
        lambda x: torch.bincount(x.abs().long(), minlength=9),
        lambda x: x.view(2, 3)[x.view(2, 3) > 0],
        lambda x: x.view(2, 3)[:, x[:3] > 0],
        lambda x: x.clone().index_put_((x > 0,), torch.tensor(7.0)),
        lambda x: x[torch.nonzero(x)[:, 0]],
        lambda x: torch.ones(x.long().abs().tolist()[0], 2),
        lambda x: x[x.long().max()],
        lambda x: x[-2 : x.long().max().item()],
    ],
)
def test_operators_with_such_sizes(f: object) -> None:
    program = exported(f, X)
    for x in (X, X.flip(0), X * 0 + 1):
        found, right = program.module()(x), f(x)  # type: ignore[operator]
        for a, b in zip(
            *[v if isinstance(v, tuple) else (v,) for v in (found, right)], strict=True
        ):
            assert torch.equal(a, b)


def test_a_program_that_is_another_one_for_few_elements_says_so() -> None:
    program = exported(lambda x: x[x > 0].max(), X)
    assert ranges(program) == {"u0": "VR[1, 6]"}
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 >= 1"):
        program.module()(-X.abs())


def test_equal_sizes_are_one() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        a, b = x[x > 0], x[x < 1]
        torch._check(a.shape[0] == b.shape[0])
        return a + b

    program = exported(both, X)
    assert torch.equal(program.run_decompositions().module()(X), both(X))
    with pytest.raises(RuntimeError, match=r"Eq\(u0, u1\)"):
        reread(program).module()(X + 1)

    def three(x: torch.Tensor) -> torch.Tensor:
        y = x[x > 0]
        torch._check(y.shape[0] == 3)
        return y + torch.ones(3)

    program = exported(three, X)
    assert ranges(program) == {"u0": "VR[3, 3]"}
    assert torch.equal(reread(program).run_decompositions().module()(X), three(X))


def test_what_was_written_to_is_read_anew() -> None:
    def counted(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask, n = x > 0, n.clone()
        first, k = x[mask], n.item()
        mask.logical_not_()
        n.add_(1)
        return first + k, x[mask] + n.item()

    program = exported(counted, X[:5], N)
    assert set(ranges(program)) == {"u0", "u1", "u2", "u3"}
    for mine, right in zip(program.module()(X[:5], N), counted(X[:5], N), strict=True):
        assert torch.equal(mine, right)


def test_decisions_by_data_are_refused_by_what_they_are() -> None:
    def decides(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        return x if n.item() > 3 else -x

    with pytest.raises(
        GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression u0 > 3"
    ):
        exported(decides, X, N)
    with pytest.raises(GuardOnDataDependentSymNode, match=r"Eq\(u0, 1\)"):
        exported(lambda x: x if x.sum() > 0 else -x, X)
    with pytest.raises(GuardOnDataDependentSymNode, match="zuf0"):
        exported(lambda x: int(x.sum()), X)
    with pytest.raises(GuardOnDataDependentSymNode, match="u0"):
        exported(lambda x, n: x.sum(dim=n.item()), X, N)

    def oblivious(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        k = n.item()
        return x + int(guard_or_false(k > 3)) + 2 * int(guard_or_true(k > 3))

    assert torch.equal(exported(oblivious, X, N).module()(X, N), X + 2)


def test_branches_by_numbers() -> None:
    def either(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        return torch.cond(n.item() > 3, lambda y: y.sin(), lambda y: y.cos(), (x,))

    program = exported(either, X, N)
    for loaded in (program, program.run_decompositions(), reread(program)):
        assert torch.equal(loaded.module()(X, N), X.sin())
        assert torch.equal(loaded.module()(X, N - 1), X.cos())


def test_truth_values_and_numbers_are_results() -> None:
    program = exported(lambda x: ((x.sum() > 0).item(), x.long().sum().item()), X)
    assert program.module()(X) == (True, 3)
    assert program.run_decompositions().module()(-X) == (False, -3)
    kinds = [type(s.arg).__name__ for s in program.graph_signature.output_specs]
    assert kinds == ["SymBoolArgument", "SymIntArgument"]


def test_no_stablehlo_of_sizes_that_data_decide() -> None:
    with pytest.raises(
        NotImplementedError, match=r"aten.index.Tensor gives, and StableHLO's sizes are known"
    ):
        stablehlo(exported(lambda x: x[x > 0], X))


def test_fake_tensors_with_an_environment() -> None:
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(torch.ones(3, 4), static_shapes=True)
        y = x.nonzero()
        assert str(y.shape) == "torch.Size([u0, 2])"
        assert free_unbacked_symbols(y) == {"u0"}
        assert not y.shape[0].node.has_hint()
        assert (y.shape[0] >= 0) is True
        assert (y.shape[0] <= 12) is True
    graph = make_fx(lambda x: x[x > 0].sum() + x.max().item(), tracing_mode="symbolic")(X).graph
    assert (
        operator.countOf(
            [n.target for n in graph.nodes], torch.ops.aten._local_scalar_dense.default
        )
        == 1
    )


def test_operators_that_check() -> None:
    ops = torch.ops.aten
    assert ops._assert_scalar(2.5, "no") is None
    assert ops._assert_tensor_metadata(torch.ones(2), [2], [1], torch.float32) is None
    for call in (
        lambda: ops._assert_scalar(0, "words"),
        lambda: ops._assert_async.msg(torch.tensor(0.0), "words"),
    ):
        with pytest.raises(RuntimeError, match="words"):
            call()
    with pytest.raises(RuntimeError, match=r"Invalid value range for 3 between \[4, 9\]"):
        ops.sym_constrain_range(3, min=4, max=9)
    with pytest.raises(RuntimeError, match="must be greater than 2"):
        ops.sym_constrain_range_for_size(3, min=1, max=2)


def test_checks_of_floats_are_in_the_graph_and_in_files() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        s = x.sum().item()
        torch._check(s > 0)
        torch._check(x.max().item() * 2 <= s)
        return x * s if s > 0 else x

    program = exported(f, torch.ones(3))
    file = io.BytesIO()
    save(program.run_decompositions({}), file)
    file.seek(0)
    for again in (program, program.run_decompositions({}), load(file)):
        assert again.module()(torch.ones(3)).tolist() == [3, 3, 3]
        for x in (-torch.ones(3), torch.tensor([5.0, 1.0, 1.0])):
            with pytest.raises(RuntimeError, match="Runtime assertion failed for expression zuf"):
                again.module()(x)


def test_what_is_checked_may_be_computed_later() -> None:
    class Part(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            n = x.item()
            assert not isinstance(n, (float, bool))
            torch._check(n >= 0)
            torch._check(n + 1 < y.size(0))
            torch._check(2 * n < 13)
            return y[: n + 1] + 2 * n

    call = torch.export.export(Part(), (torch.tensor(4), torch.randn(10))).module()
    assert call(torch.tensor(3), torch.arange(10.0)).tolist() == [6, 7, 8, 9]
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        call(torch.tensor(7), torch.arange(10.0))
