"""``torch._foreach_*``: each is the operation of one tensor for every item."""

from __future__ import annotations

import pytest

import jtorch as torch


def pair() -> list[torch.Tensor]:
    return [torch.tensor([0.25, 1.0]), torch.tensor([[4.0]])]


@pytest.mark.parametrize("name", ["abs", "sqrt", "exp", "neg", "sigmoid", "round", "lgamma", "trunc", "rsqrt", "erf"])
def test_unary(name: str) -> None:
    expected = [getattr(torch, name)(t).tolist() for t in pair()]
    assert [t.tolist() for t in getattr(torch, f"_foreach_{name}")(pair())] == expected
    items = pair()
    changed = getattr(torch, f"_foreach_{name}_")(items)
    assert all(a is b for a, b in zip(changed, items, strict=True))
    assert [t.tolist() for t in items] == expected


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow"])
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
    assert [t.tolist() for t in torch._foreach_addcmul(x, x, x, torch.tensor([1.0, 2.0]))] == [[0.3125, 2.0], [[36.0]]]
    assert [t.tolist() for t in torch._foreach_lerp(x, [t * 3 for t in x], 0.5)] == [[0.5, 2.0], [[8.0]]]
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
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 2 and 1"):
        torch._foreach_mul(pair(), pair()[:1])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        torch._foreach_mul(pair(), [1.0])
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        torch._foreach_abs(torch.ones(2))
