"""Random tensors like examples of a ``vmap`` whose elements lie apart, in another order, or on one
place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import jtorch as torch
from jtorch import Tensor

LIKE: list[Callable[[Tensor], Tensor]] = [
    torch.rand_like,
    torch.randn_like,
    lambda t: torch.randint_like(t, 20),
]
LOOKS: dict[str, Callable[[Tensor], Tensor]] = {
    "as it is": lambda t: t, "transposed": lambda t: t.t(),
    "expanded": lambda t: t[:, :1].expand(3, 2), "with steps": lambda t: t[::2],
}  # fmt: skip


@pytest.mark.parametrize("like", LIKE)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_same_numbers_are_those_of_one_example(
    like: Callable[[Tensor], Tensor], look: str, dim: int
) -> None:
    x = torch.ones(3, 2, 4).movedim(-1, dim)
    seen = []

    def draw(t: Tensor) -> Tensor:
        made = like(LOOKS[look](t))
        seen.append(made.stride())
        return made

    torch.manual_seed(7)
    found = torch.vmap(draw, in_dims=dim, randomness="same")(x)
    torch.manual_seed(7)
    expected = like(LOOKS[look](x.select(dim, 0)))
    assert seen == [expected.stride()] and all(torch.equal(one, expected) for one in found)


@pytest.mark.parametrize(
    ("look", "strides", "numbers"),
    [
        ("as it is", (8, 4), [0.496, 0.307, 0.456, 0.022]),
        ("transposed", (4, 8), [0.496, 0.456, 0.698, 0.307]),
        ("expanded", (8, 1), [0.496, 0.768, 0.456, 0.632]),
        ("with steps", (8, 4), [0.496, 0.307, 0.456, 0.022]),
    ],
)
def test_different_numbers_are_drawn_in_the_order_of_all_examples(
    look: str, strides: tuple[int, int], numbers: list[float]
) -> None:
    seen = []

    def draw(t: Tensor) -> Tensor:
        made = torch.rand_like(LOOKS[look](t))
        seen.append(made.stride())
        return made

    torch.manual_seed(0)
    found = torch.vmap(draw, in_dims=-1, randomness="different")(torch.ones(3, 2, 4))
    assert seen == [strides] and [
        round(n, 3) for n in found.flatten().tolist()[:4]
    ] == pytest.approx(numbers)
