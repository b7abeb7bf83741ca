"""``torch._foreach_*``: each is the operation of one tensor for every item."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch


def pair() -> list[torch.Tensor]:
    return [torch.tensor([0.25, 1.0]), torch.tensor([[4.0]])]


@pytest.mark.parametrize(
    "name", ["abs", "sqrt", "exp", "neg", "sigmoid", "round", "lgamma", "trunc", "rsqrt", "erf"]
)
def test_unary(name: str) -> None:
    expected = [getattr(torch, name)(t).tolist() for t in pair()]
    assert [t.tolist() for t in getattr(torch, f"_foreach_{name}")(pair())] == expected
    items = pair()
    changed = getattr(torch, f"_foreach_{name}_")(items)
    assert all(a is b for a, b in zip(changed, items, strict=True))
    assert [t.tolist() for t in items] == expected


@pytest.mark.parametrize("many", [1, 9])
@pytest.mark.parametrize("kind", [list, tuple])
def test_in_place_forms_give_what_they_were_given(kind: type, many: int) -> None:
    items, others = kind(pair() * many), [t + 1 for t in pair() * many]
    given: dict[str, tuple[Any, ...]] = {
        "add": (1.0,), "sub": (others,), "mul": (others,), "div": (2.0,), "maximum": (0.5,),
        "abs": (), "zero": (), "pow": (2,), "addcmul": (others, others),
        "addcdiv": (others, others), "lerp": (others, 0.5), "copy": (others,), "exp": (),
    }  # fmt: skip
    for name, arguments in given.items():
        assert getattr(torch, f"_foreach_{name}_")(items, *arguments) is items


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow"]
)
def test_binary_takes_a_number_numbers_or_tensors(name: str) -> None:
    one = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    for given, each in ((2.0, [2.0, 2.0]), ([2.0, 3.0], [2.0, 3.0]), (pair(), pair())):
        expected = [getattr(torch, one)(t, o).tolist() for t, o in zip(pair(), each, strict=True)]
        assert [t.tolist() for t in getattr(torch, f"_foreach_{name}")(pair(), given)] == expected
        items = pair()
        getattr(torch, f"_foreach_{name}_")(items, given)
        assert [t.tolist() for t in items] == expected


def test_scaled_products_and_sums() -> None:
    x = pair()
    assert [t.tolist() for t in torch._foreach_add(x, x, alpha=2)] == [[0.75, 3.0], [[12.0]]]
    assert [t.tolist() for t in torch._foreach_addcmul(x, x, x, torch.tensor([1.0, 2.0]))] == [
        [0.3125, 2.0],
        [[36.0]],
    ]
    assert [t.tolist() for t in torch._foreach_lerp(x, [t * 3 for t in x], 0.5)] == [
        [0.5, 2.0],
        [[8.0]],
    ]
    assert [t.item() for t in torch._foreach_norm(x, float("inf"))] == [1.0, 4.0]
    assert [t.item() for t in torch._foreach_powsum(x, 2)] == [1.0625, 16.0]
    assert [t.item() for t in torch._foreach_max(x)] == [1.0, 4.0]
    torch._foreach_copy_(x, [t + 1 for t in x])
    assert x[1].item() == 5.0
    torch._foreach_zero_(x)
    assert x[0].tolist() == [0.0, 0.0]


def test_refuses_lists_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
        torch._foreach_add([], 1)
    with pytest.raises(
        RuntimeError, match="Tensor lists must have the same number of tensors, got 2 and 1"
    ):
        torch._foreach_mul(pair(), pair()[:1])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        torch._foreach_mul(pair(), [1.0])
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        torch._foreach_abs(torch.ones(2))


def many(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """So many that one operation takes them all; one is large, one has one element, whose square is
    out of range, and one none."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), (2, 3), (), (0,), (70, 70), (2, 2, 2), (1,), (6,), (4, 4)]
    made = [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes
    ]
    made[7].fill_(3e19)
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("ord", [0.0, 1, 2, 3.0, math.inf, -1.0])
def test_norms_of_many(ord: float, dtype: torch.dtype) -> None:
    items = [t for t in many(dtype) if t.numel() or ord in (0.0, 1, 2, 3.0)]
    found = torch._foreach_norm(items, ord)
    assert all(n.dtype is dtype and n.shape == () for n in found)
    expected = [torch.linalg.vector_norm(t, ord).item() for t in items]
    np.testing.assert_allclose(
        [n.item() for n in found], expected, rtol=1e-12 if dtype is torch.float64 else 3e-7
    )


def test_norms_of_many_refuse_what_has_none() -> None:
    with pytest.raises(
        RuntimeError,
        match="norm on an empty tensor because the operation does not have an identity",
    ):
        torch._foreach_norm(many(), math.inf)
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        torch._foreach_norm([torch.ones(2, dtype=torch.int64)] * 9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize(
    "factor", [0.1, 2, torch.tensor(0.1), torch.tensor(0.1, dtype=torch.float64)]
)
def test_many_times_one_factor(factor: Any, dtype: torch.dtype) -> None:
    items = many(dtype) if dtype.is_floating_point else [torch.arange(3)] * 9
    expected = [t * factor for t in items]
    found = torch._foreach_mul(items, factor)
    assert all(f.dtype is e.dtype and f.equal(e) for f, e in zip(found, expected, strict=True))
    if dtype.is_floating_point:
        assert all(a is b for a, b in zip(torch._foreach_mul_(items, factor), items, strict=True))
        assert all(
            t.equal(e.to(dtype)) and t._version == 1 + (t.numel() == 1 and t.dim() == 1)
            for t, e in zip(items, expected, strict=True)
        )


def twice(items: list[torch.Tensor]) -> list[torch.Tensor]:
    return [*items, items[0]]


def as_views(items: list[torch.Tensor]) -> list[torch.Tensor]:
    return [items[0][0], *items]


@pytest.mark.parametrize("given", [twice, as_views])
def test_tensors_that_share_memory_are_multiplied_one_after_the_other(
    given: Callable[[Any], Any],
) -> None:
    items = many()
    expected = (items[0] * 2).clone()
    expected[0 if given is as_views else slice(None)] *= 2
    torch._foreach_mul_(given(items), 2.0)
    assert items[0].equal(expected)


def test_graphs_hear_of_many_that_are_written() -> None:
    items = many()
    w = torch.ones(3, 4, requires_grad=True)
    y = (w * items[0]).sum()
    torch._foreach_mul_(items, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_many_have_histories_and_tangents() -> None:
    items = [t.requires_grad_() for t in many()]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch._foreach_mul_(items, 2.0)
    torch._foreach_mul(items, 3.0)[0].sum().backward()
    assert items[0].grad is not None and items[0].grad.eq(3).all()
    plain = [t.detach() for t in many()]
    found = torch.func.grad(lambda x: torch._foreach_norm([x, *plain])[0])(torch.tensor([3.0, 4.0]))
    np.testing.assert_allclose(found.numpy(), [0.6, 0.8], rtol=1e-6)
    _, tangent = torch.func.jvp(
        lambda x: torch._foreach_mul([x, *plain], 2.0)[0], (torch.ones(2),), (torch.ones(2),)
    )
    assert tangent.tolist() == [2.0, 2.0]


def _lists(n: int, seed: int) -> list[list[torch.Tensor]]:
    rng = np.random.default_rng(seed)
    return [
        [torch.tensor(rng.uniform(0.5, 2, 1 + i % 3), dtype=torch.float32) for i in range(n)]
        for _ in range(3)
    ]


LISTS_OF_MANY: list[tuple[str, Any, Any]] = [
    ("add", lambda a, b, c: ([a, b], {"alpha": 0.3}), lambda x, y, z: x + 0.3 * y),
    ("add", lambda a, b, c: ([a, b], {}), lambda x, y, z: x + y),
    ("sub", lambda a, b, c: ([a, b], {"alpha": 2}), lambda x, y, z: x - 2 * y),
    ("mul", lambda a, b, c: ([a, b], {}), lambda x, y, z: x * y),
    ("div", lambda a, b, c: ([a, b], {}), lambda x, y, z: x / y),
    ("lerp", lambda a, b, c: ([a, b, 0.1], {}), lambda x, y, z: x + 0.1 * (y - x)),
    ("lerp", lambda a, b, c: ([a, b, 0.75], {}), lambda x, y, z: y - (y - x) * 0.25),
    ("addcmul", lambda a, b, c: ([a, b, c, 0.5], {}), lambda x, y, z: x + 0.5 * (y * z)),
    ("addcdiv", lambda a, b, c: ([a, b, c], {"value": -0.5}), lambda x, y, z: x - 0.5 * (y / z)),
]


@pytest.mark.parametrize(("name", "given", "formula"), LISTS_OF_MANY)
@pytest.mark.parametrize("n", [3, 12])
def test_operations_of_lists(name: str, given: Any, formula: Any, n: int) -> None:
    a, b, c = _lists(n, 0)
    expected = [
        formula(x.numpy().copy(), y.numpy().copy(), z.numpy().copy())
        for x, y, z in zip(a, b, c, strict=True)
    ]
    args, options = given(a, b, c)
    for found, e in zip(
        getattr(torch, f"_foreach_{name}")(*args, **options), expected, strict=True
    ):
        np.testing.assert_allclose(found.numpy(), e, 1e-6)
    assert [t._version for t in a] == [0] * n
    graph = (torch.ones(1, requires_grad=True) * a[0]).sum()
    getattr(torch, f"_foreach_{name}_")(*args, **options)
    for t, e in zip(a, expected, strict=True):
        np.testing.assert_allclose(t.numpy(), e, 1e-6)
        assert t._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        graph.backward()


@pytest.mark.parametrize(
    ("name", "options"),
    [("add", {"alpha": 0.7}), ("addcmul", {"value": 0.3}), ("addcdiv", {"value": 0.3})],
)
@pytest.mark.parametrize("n", [3, 40])
def test_lists_give_what_each_tensor_gives(name: str, options: dict[str, float], n: int) -> None:
    lists = _lists(n, 2)[: 2 if name == "add" else 3]
    for found, operands in zip(
        getattr(torch, f"_foreach_{name}")(*lists, **options), zip(*lists, strict=True), strict=True
    ):
        assert found.tolist() == getattr(torch, name)(*operands, **options).tolist()


def test_lists_that_share_tensors_are_written_one_after_the_other() -> None:
    a = [torch.full((2,), float(i)) for i in range(10)]
    torch._foreach_add_(a, [a[-1], *a[:-1]])
    assert [t[0].item() for t in a] == [9.0, *[9.0 + sum(range(1, i + 1)) for i in range(1, 10)]]
    b = [torch.full((2,), float(i)) for i in range(10)]
    torch._foreach_add_(b, b)
    assert [t[0].item() for t in b] == [2.0 * i for i in range(10)]
    c = [torch.full((2,), float(i)) for i in range(10)]
    torch._foreach_mul_(c, [t.detach() for t in reversed(c)])
    assert [t[0].item() for t in c] == [0.0, 8.0, 14.0, 18.0, 20.0, 100.0, 108.0, 98.0, 64.0, 0.0]


def test_gradients_of_lists() -> None:
    a, b, _ = _lists(10, 1)
    a[4].requires_grad_()
    b[5].requires_grad_()
    sum(t.sum() for t in torch._foreach_mul(a, b)).backward()
    np.testing.assert_array_equal(a[4].grad.numpy(), b[4].numpy())  # pyright: ignore[reportOptionalMemberAccess]
    np.testing.assert_array_equal(b[5].grad.numpy(), a[5].numpy())  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch._foreach_add_(a, b)


@pytest.mark.parametrize("name", ["_foreach_addcmul", "_foreach_addcdiv_"])
def test_a_tensor_of_scalars_is_a_row_on_the_host(name: str) -> None:
    items = [torch.ones(2) for _ in range(3)]
    for scalars, words in (
        (torch.ones(3, 1), "Expected packed scalar Tensor to be of dimension 1. Got 2 instead"),
        (torch.tensor(1.0), "Expected packed scalar Tensor to be of dimension 1. Got 0 instead"),
        (torch.ones(6)[::2], "Expected scalars to be contiguous"),
        (torch.ones(3, device="meta"), "Expected scalars to be on CPU, got meta instead"),
        (torch.ones(2), "Expected length of scalars to match input of length 3 but got 2 instead"),
    ):
        with pytest.raises(RuntimeError, match=words):
            getattr(torch, name)(items, items, items, scalars)
