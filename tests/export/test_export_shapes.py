"""What is said of the sizes of a program's inputs, and what is found out of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._dynamo.exc import UserError
from jtorch.export import AdditionalInputs, Dim, ShapesCollection, export
from jtorch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes


class Called(nn.Module):
    """A function as module."""

    def __init__(self, f: Callable[..., Any]) -> None:
        super().__init__()
        self.f = f

    def forward(self, *a: torch.Tensor) -> torch.Tensor:
        return self.f(*a)


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, others: Any) -> torch.Tensor:
        return x + others["a"] + others["b"][0]


@dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


torch.export.register_dataclass(Pair)


def sizes(f: Callable[..., Any], *shapes: tuple[int, ...], dim: Any = Dim.DYNAMIC) -> Any:
    """The sizes of the inputs and their ranges, where all may vary."""
    args = tuple([torch.randn(s) for s in shapes])
    program = export(Called(f), args, dynamic_shapes=(tuple([(dim,) * len(s) for s in shapes]),))
    program.module()(*args)
    return program._sizes, sorted(map(str, program.range_constraints.values()))


ANY = "VR[0, int_oo]"


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim.DYNAMIC])
@pytest.mark.parametrize(
    ("f", "shapes", "found"),
    [
        (lambda x, y: x + y, ((5, 4), (5, 4)), ([["s18", "s7"], ["s18", "s7"]], [ANY, ANY])),
        (lambda x, y: x @ y, ((5, 4), (4, 3)), ([["s18", "s7"], ["s7", "s5"]], [ANY] * 3)),
        (
            lambda x, y: torch.cat([x, y], 1),
            ((5, 4), (5, 3)),
            ([["s18", "s7"], ["s18", "s5"]], [ANY] * 3),
        ),
        (lambda x, y: x[1:] + y, ((5,), (4,)), ([["s35 + 1"], ["s35"]], [ANY])),
        (lambda x: x if x.shape[0] > 4 else -x, ((5,),), ([["s18"]], ["VR[5, int_oo]"])),
        (lambda x: x if 2 * x.shape[0] + 1 <= 16 else -x, ((5,),), ([["s18"]], ["VR[0, 7]"])),
        (lambda x: -x if x.shape[0] > 8 else x, ((5,),), ([["s18"]], ["VR[0, 8]"])),
        (lambda x: x if x.shape[0] == x.shape[1] else -x, ((5, 5),), ([["s18", "s18"]], [ANY])),
    ],
)
def test_what_must_hold_of_sizes_is_found_out(f: Any, shapes: Any, found: Any, dim: Any) -> None:
    assert sizes(f, *shapes, dim=dim) == found


def test_sizes_that_must_be_numbers() -> None:
    assert sizes(lambda x: x + torch.ones(6, 1), (6, 3), dim=Dim.AUTO) == ([[6, "s7"]], [ANY])
    with pytest.raises(UserError, match=r"Constraints violated: aten\.add\.Tensor needs s18"):
        sizes(lambda x: x + torch.ones(6, 1), (6, 3))


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim.DYNAMIC])
@pytest.mark.parametrize(
    ("f", "shapes", "more", "wrong"),
    [
        (lambda x: x.view(2, -1), ((6, 3),), ((8, 5),), ((3, 5),)),
        (lambda x: x.reshape(x.shape[0] // 2, 2).sum(1), ((6,),), ((2,),), ((3,),)),
        (lambda x: x.view(-1, 4), ((8, 3),), ((4, 5),), ((6, 3),)),
        (lambda x: torch.add(*x.chunk(2)), ((6, 2),), ((8, 2),), ((5, 2),)),
        (lambda x: x[: x.shape[0] // 2] + x[x.shape[0] // 2 :], ((6,),), ((4,),), ((5,),)),
        (
            lambda x: nn.functional.pixel_unshuffle(x, 2),
            ((1, 2, 4, 6),),
            ((1, 2, 8, 4),),
            ((1, 2, 3, 4),),
        ),
        (lambda x, y: torch.cat([y, y]) + x, ((4, 3), (2, 3)), ((6, 3), (3, 3)), ((6, 3), (4, 3))),
        (lambda x, y: x.flatten() + y, ((8, 4), (32,)), ((3, 5), (15,)), ((3, 5), (14,))),
        (lambda y, x: y + x.flatten(), ((32,), (8, 4)), ((15,), (3, 5)), ((15,), (3, 4))),
        (
            lambda x, y: x.view(2, -1).view(-1) + y,
            ((6, 3), (18,)),
            ((4, 5), (20,)),
            ((3, 4), (12,)),
        ),
        (lambda x, y: x[y > 0], ((5, 2), (5,)), ((3, 2), (3,)), ((3, 2), (4,))),
        (
            lambda x, y: torch.einsum("bij,bjk->bik", x, y),
            ((2, 3, 4), (2, 4, 5)),
            ((3, 2, 4), (3, 4, 6)),
            ((3, 2, 4), (2, 4, 6)),
        ),
    ],
)
def test_multiples_and_sizes_that_are_alike_are_found_out(
    f: Any, shapes: Any, more: Any, wrong: Any, dim: Any
) -> None:
    dims = tuple([tuple([dim if n > 1 else None for n in s]) for s in shapes])
    module = export(
        Called(f), tuple([torch.randn(s) for s in shapes]), dynamic_shapes=(dims,)
    ).module()
    for given in (shapes, more):
        args = tuple([torch.randn(s) for s in given])
        torch.testing.assert_close(module(*args), f(*args))
    with pytest.raises(AssertionError, match="Guard failed"):
        module(*[torch.randn(s) for s in wrong])


@pytest.mark.parametrize(
    ("f", "shapes", "dims", "fixes", "ranges"),
    [
        (lambda x, y: x + y, ((5, 4), (5, 4)), ({0: Dim("a")}, {0: Dim("b")}), ["b = a"], [ANY]),
        (lambda x, y: x + y, ((5, 4), (5, 4)), ({0: Dim("a")}, None), ["a = 5"], []),
        (
            lambda x, y: x[1:] + y,
            ((5, 4), (4, 4)),
            ({0: Dim("a")}, {0: Dim("b")}),
            ["a = b + 1"],
            [ANY],
        ),
        (
            lambda x: x if x.shape[0] > 4 else -x,
            ((5,),),
            ({0: Dim("a")},),
            ["a = Dim('a', min=5)"],
            ["VR[5, int_oo]"],
        ),
        (lambda x, y: x @ y, ((5, 4), (4, 6)), ({1: Dim("k")}, {0: Dim("k2")}), ["k2 = k"], [ANY]),
        (
            lambda x, y: torch.cat([y, y]) + x,
            ((4, 3), (2, 3)),
            ({0: Dim("a")}, {0: Dim("b")}),
            ["a = 2*b"],
            [ANY],
        ),
        (lambda x: x.reshape(x.shape[0] // 2, 2), ((6,),), ({0: Dim("a")},), ["a = 2*_a"], [ANY]),
    ],
)
def test_errors_suggest_how_sizes_are_declared(
    f: Any, shapes: Any, dims: Any, fixes: list[str], ranges: list[str]
) -> None:
    args = tuple([torch.randn(s) for s in shapes])
    with pytest.raises(
        UserError, match=r"Constraints violated \(\w+\)!(.|\n)*Suggested fixes:"
    ) as error:
        export(Called(f), args, dynamic_shapes=(dims,))
    text = str(error.value)
    assert [
        line.strip() for line in text.partition("Suggested fixes:")[2].strip().splitlines()
    ] == fixes
    refined = refine_dynamic_shapes_from_suggested_fixes(text, (dims,))
    assert (
        list(map(str, export(Called(f), args, dynamic_shapes=refined).range_constraints.values()))
        == ranges
    )


def test_nothing_suggested_is_an_error() -> None:
    with pytest.raises(AssertionError, match="suggests no fixes"):
        refine_dynamic_shapes_from_suggested_fixes("Constraints violated", {})


def test_tensors_tell_what_varies_of_them() -> None:
    x, y, z = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 4)
    batch, shapes = Dim("batch"), ShapesCollection()
    shapes[x], shapes[y] = {0: batch}, (batch, 4)
    shapes[x] = {0: batch}
    assert len(shapes) == 2
    others = {"a": y, "b": [z]}
    assert shapes.dynamic_shapes(Sum(), (x, others)) == {
        "x": {0: batch},
        "others": {"a": (batch, 4), "b": [None]},
    }
    shapes[z] = {0: batch}
    program = export(Sum(), (x,), {"others": others}, dynamic_shapes=shapes)
    assert program.module()(
        torch.ones(2, 4), others={"a": torch.ones(2, 4), "b": [torch.ones(2, 4)]}
    ).shape == (2, 4)
    with pytest.raises(AssertionError, match="Shapes assigned to input do not match"):
        shapes[x] = {0: Dim("other")}
    with pytest.raises(AssertionError, match="Cannot assign shape to non-tensor"):
        shapes[3] = {0: batch}
    with pytest.raises(ValueError, match="were not found in args"):
        shapes.dynamic_shapes(Sum(), (x, {"a": y, "b": []}))


def test_more_examples_tell_what_varies() -> None:
    def given(n: int, m: int = 4) -> Any:
        return torch.randn(n, m), {"a": torch.randn(n, m), "b": [torch.randn(n, m)]}

    more = AdditionalInputs()
    more.add(given(7))
    row = (Dim.DYNAMIC, None)
    assert more.dynamic_shapes(Sum(), given(5)) == {"x": row, "others": {"a": row, "b": [row]}}
    program = export(Sum(), given(5), dynamic_shapes=more)
    assert list(map(str, program.range_constraints.values())) == [ANY]
    more.verify(program)
    more.add(given(7, 6)[:1], {"others": given(7, 6)[1]})
    assert more.dynamic_shapes(Sum(), given(5))["x"] == (Dim.DYNAMIC, Dim.DYNAMIC)
    with pytest.raises(AssertionError, match="Guard failed"):
        more.verify(program)
    unlike = AdditionalInputs()
    unlike.add((torch.randn(7, 4), {"a": torch.randn(6, 4), "b": [torch.randn(7, 4)]}))
    # the first example cannot tell that these may differ
    with pytest.raises(AssertionError, match="Guard failed"):
        export(Sum(), given(5), dynamic_shapes=unlike)
    more.add((torch.randn(5, 4), {"a": 3, "b": [2]}))
    with pytest.raises(ValueError, match="differing values"):
        more.dynamic_shapes(Sum(), given(5))


def test_sizes_inside_dataclasses() -> None:
    class Sums(nn.Module):
        def forward(self, p: Pair) -> Pair:
            return Pair(p.a + p.b, p.a)

    given, batch = Pair(torch.ones(3, 2), torch.ones(3, 2)), Dim("batch")
    shapes = ShapesCollection()
    shapes[given.a] = shapes[given.b] = {0: batch}
    for said in ({"p": [{0: batch}, {0: batch}]}, shapes):
        found = export(Sums(), (given,), dynamic_shapes=said).module()(
            Pair(torch.ones(5, 2), torch.ones(5, 2))
        )
        assert isinstance(found, Pair)
        assert found.a.shape == (5, 2)


def test_whole_numbers_that_vary_are_refused_by_name() -> None:
    class Times(nn.Module):
        def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
            return x * n

    with pytest.raises(NotImplementedError, match="export of whole numbers that vary"):
        export(Times(), (torch.ones(2), 4), dynamic_shapes={"x": None, "n": Dim.DYNAMIC})


def test_numbers_made_of_sizes_keep_varying() -> None:
    cases: dict[str, Callable[[torch.Tensor], Any]] = {
        "tensor": lambda x: torch.tensor(x.shape[0]) + x,
        "list": lambda x: torch.tensor([[x.shape[0], 3], [1, x.shape[1]]]),
        "mixed": lambda x: torch.as_tensor([x.shape[0], 1.5, x.shape[0] / 4]),
        "given": lambda x: torch.tensor(x.shape, dtype=torch.float64),
        "like": lambda x: x.new_tensor([x.shape[0], 1]),
        "ceil": lambda x: x * math.ceil(x.shape[0] / 3),
        "floor": lambda x: x.new_zeros(math.floor(x.shape[0] * 0.5)),
        "trunc": lambda x: x.new_zeros(torch.sym_int((x.shape[0] + 1) / 4)),
        "round": lambda x: torch.tensor(
            [round(x.shape[0] / 2), round(x.shape[0] / 3), round(x.shape[0] / 6)]
        ),
        "bits": lambda x: x * (x.shape[0] & 6) + (x.shape[0] >> 1) + (x.shape[0] << 2),
        "permuted": lambda x: torch.randperm(x.shape[0]).sort()[0],
        "down": lambda x: torch.arange(x.shape[0] - 1, -1, -2),
        "drawn": lambda x: torch.randn(x.shape[0], 2) * 0,
        "gradient": lambda x: torch.gradient(x, dim=0)[0],
        "places": lambda x: torch.searchsorted(x[:, 0].sort()[0], x[:, 1]),
        "up": lambda x: torch.arange(x.shape[0] // 2, x.shape[0]),
    }
    for name, f in cases.items():
        call = export(
            Called(f), (torch.randn(7, 2),), dynamic_shapes=(({0: Dim("n", min=4, max=64)},),)
        ).module()
        for n in (5, 9, 10, 12, 15):
            found, expected = call(x := torch.randn(n, 2)), f(x)
            assert torch.equal(found, expected) and found.dtype is expected.dtype, name


def test_windows_bound_the_sizes_that_they_are_moved_over() -> None:
    for hint in (Dim.DYNAMIC, Dim.AUTO):
        program = export(
            nn.Conv2d(1, 2, 3, stride=2), (torch.ones(2, 1, 8, 8),), dynamic_shapes=({2: hint},)
        )
        assert [str(r) for r in program.range_constraints.values()] == ["VR[3, int_oo]"]
        assert program.module()(torch.ones(2, 1, 11, 8)).shape == (2, 2, 5, 3)
    with pytest.raises(Exception, match=r"h = Dim\('h', min=3\)"):
        export(nn.Conv2d(1, 2, 3), (torch.ones(2, 1, 8, 8),), dynamic_shapes=({2: Dim("h")},))


def test_one_size_that_is_a_number_and_one_that_a_table_is_cut_to() -> None:
    table = torch.ones(1, 10, 4)
    found = sizes(lambda x: x + table[:, : x.size(1)], (2, 5, 4), dim=Dim.AUTO)
    assert found == ([["s18", "s7", 4]], ["VR[0, 10]", ANY])
