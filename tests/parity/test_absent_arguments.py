"""Calls that lack what they need, or get something else in its place, are refused as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as theirs

import jtorch as ours

pytestmark = pytest.mark.parity


def _error(f: Callable[[Any], Any], torch: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        f(torch)
    return type(caught.value).__name__, str(caught.value).strip()


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize(
    "options", [{}, {"dtype": "float32"}, {"device": "cpu"}, {"requires_grad": True}], ids=str
)
def test_factories_without_a_size(name: str, options: dict[str, Any]) -> None:
    def call(torch: Any) -> Any:
        return getattr(torch, name)(
            **{k: getattr(torch, v) if k == "dtype" else v for k, v in options.items()}
        )

    assert _error(call, ours) == _error(call, theirs)
    assert getattr(ours, name)(()).shape == getattr(ours, name)(size=()).shape == ()


@pytest.mark.parametrize(
    "name", ["reshape", "view", "resize_", "expand", "permute", "broadcast_to"]
)
@pytest.mark.parametrize("shape", [(), (2, 3)], ids=str)
def test_methods_without_a_size(name: str, shape: tuple[int, ...]) -> None:
    def call(torch: Any) -> Any:
        return getattr(torch.ones(shape), name)()

    assert _error(call, ours) == _error(call, theirs)


_WRONG: dict[str, Callable[[Any], Any]] = {
    "can_cast of a tensor": lambda torch: torch.can_cast(torch.ones(2), torch.float32),
    "can_cast to a number": lambda torch: torch.can_cast(torch.float32, 1),
    "to_dlpack": lambda torch: torch.to_dlpack(1),
    "batch_norm of a list": lambda torch: torch.nn.functional.batch_norm(
        [1.5], torch.ones(1), torch.ones(1)
    ),
    "batch_norm by a list": lambda torch: torch.nn.functional.batch_norm(
        torch.ones(2, 3), [1.0], torch.ones(3)
    ),
    "batch_norm by a number": lambda torch: torch.nn.functional.batch_norm(
        torch.ones(2, 3), torch.ones(3), torch.ones(3), 2.0
    ),
}


@pytest.mark.parametrize("call", _WRONG.values(), ids=_WRONG)
def test_other_things_than_tensors(call: Callable[[Any], Any]) -> None:
    assert _error(call, ours) == _error(call, theirs)


def test_places_of_methods() -> None:
    for torch in (ours, theirs):
        with pytest.raises(TypeError, match=r"cpu\(\) takes"):
            torch.ones(2).cpu(0)  # type: ignore[call-arg, misc]
        assert torch.eye(0, 2**31).shape == (0, 2**31)


@pytest.mark.parametrize("name", ["unbind", "split", "chunk", "tensor_split", "iter"])
def test_more_results_than_fit_into_memory(name: str) -> None:
    def call(torch: Any) -> Any:
        x = torch.zeros(1).expand(2**45)
        if name in ("unbind", "iter"):
            return x.unbind() if name == "unbind" else list(x)
        return x.split(1) if name == "split" else getattr(x, name)(2**45)

    kind, words = _error(call, ours)
    assert (kind, words) == ("RuntimeError", "std::bad_alloc")


@pytest.mark.parametrize("n", [30, 170, 171, 200])
def test_polygamma_of_high_orders(n: int) -> None:
    assert ours.polygamma(n, ours.ones(2, dtype=ours.float64)).tolist() == pytest.approx(
        theirs.polygamma(n, theirs.ones(2, dtype=theirs.float64)).tolist(), rel=1e-12
    )


_TWICE: dict[str, Callable[[Any], Any]] = {
    "flip": lambda torch: torch.ones(2, 3).flip(1, dims=(0,)),
    "repeat": lambda torch: torch.ones(2, 3).repeat(2, 3, repeats=(1, 0)),
    "tile": lambda torch: torch.ones(2, 3).tile((2, 3), dims=(1,)),
    "permute": lambda torch: torch.ones(2, 3).permute(0, 1, dims=(1, 0)),
    "expand": lambda torch: torch.ones(3).expand(2, 3, size=(4, 3)),
    "reshape": lambda torch: torch.ones(2, 3).reshape(6, shape=(3, 2)),
    "view": lambda torch: torch.ones(2, 3).view(6, size=(3, 2)),
    "view as a dtype": lambda torch: torch.ones(2, 3).view(2, 3, dtype=torch.int32),
    "broadcast_to": lambda torch: torch.ones(3).broadcast_to(2, 3, size=(4, 3)),
    "resize_": lambda torch: torch.ones(2, 3).resize_(6, size=(3, 2)),
    "new_zeros": lambda torch: torch.ones(2, 3).new_zeros(6, size=(3, 2)),
    "new_empty": lambda torch: torch.ones(2, 3).new_empty((6,), size=(3, 2)),
    "zeros": lambda torch: torch.zeros(2, size=(3,)),
    "ones": lambda torch: torch.ones((2,), size=(3,)),
    "full": lambda torch: torch.full((2,), 1.0, size=(3,)),
    "full by value": lambda torch: torch.full((2,), 1.0, fill_value=3),
    "full_like": lambda torch: torch.full_like(torch.ones(2), 1.0, fill_value=2.0),
    "tril_indices": lambda torch: torch.tril_indices(2, 2, row=3),
}


@pytest.mark.parametrize("call", _TWICE.values(), ids=_TWICE)
def test_arguments_that_are_given_twice(call: Callable[[Any], Any]) -> None:
    found = [_error(call, torch) for torch in (ours, theirs)]
    assert [(kind, words.partition("\n")[0]) for kind, words in found[:1]] == [
        (kind, words.partition("\n")[0]) for kind, words in found[1:]
    ]
