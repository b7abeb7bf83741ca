"""The stages of ``vmap`` by themselves, and libraries that put their own in the place of one."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch._functorch import vmap as stages


class Box:
    """A container with dimensions of its own, which says itself what one example of it is."""

    def __init__(self, value: Any, shape: Any) -> None:
        assert value.shape[: len(shape)] == torch.Size(shape)
        self.value, self.shape = value, tuple(shape)


def _replaced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stages that know boxes, and which of them were asked."""
    asked = []

    def process(in_dims: Any, args: Any, func: Any) -> Any:
        asked.append("process")
        return args[0].shape[in_dims], [in_dims] * len(args), list(args), None

    def create(dims: Any, args: Any, level: int, spec: Any) -> Any:
        asked.append("create")
        left = [a.shape[:d] + a.shape[d + 1 :] for a, d in zip(args, dims)]
        return [
            Box(stages._add_batch_dim(a.value, d, level), s) for a, d, s in zip(args, dims, left)
        ]

    def unwrap(out: Any, dims: Any, level: int, size: int, func: Any) -> Any:
        asked.append("unwrap")
        return Box(
            stages._maybe_remove_batch_dim("f", out.value, level, size, dims), (size, *out.shape)
        )

    monkeypatch.setattr(stages, "_process_batched_inputs", process)
    monkeypatch.setattr(stages, "_create_batched_inputs", create)
    monkeypatch.setattr(stages, "_unwrap_batched", unwrap)
    return asked


def test_containers_say_what_an_example_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _replaced(monkeypatch)
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    out = torch.vmap(lambda box: Box(box.value.cumsum(0), box.shape), 1)(Box(x, (3, 4)))
    assert asked == ["process", "create", "unwrap"] and out.shape == (4, 3)
    assert out.value.tolist() == x.cumsum(0).T.tolist()
    (out.value[0] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad[:, 0].tolist() == [111.0, 110.0, 100.0] and not x.grad[:, 1:].any()
    monkeypatch.undo()
    assert torch.vmap(torch.sum)(x.detach()).tolist() == [6.0, 22.0, 38.0] and len(asked) == 3


def test_stages_do_what_vmap_does() -> None:
    x, y = torch.arange(24.0).reshape(2, 3, 4), torch.ones(4)

    def f(x: Any, y: Any) -> Any:
        return {"a": x * y, "b": (y, x.sum())}

    for dims, outs, size in (
        ((2, 0), 0, None),
        ((1, None), {"a": 1, "b": (0, 0)}, 2),
        ((-1, 0), 0, 3),
    ):
        found = stages.vmap_impl(f, dims, outs, "error", size, x, y)
        expected = torch.vmap(f, dims, outs, chunk_size=size)(x, y)
        assert torch.equal(found["a"], expected["a"])
        assert all(torch.equal(a, b) for a, b in zip(found["b"], expected["b"]))
    # a tuple of one dimension for one result
    found = stages.vmap_impl(torch.cumsum, (0, None), (1,), "error", 2, torch.ones(5, 3), 0)
    assert found.tolist() == [[1.0] * 5, [2.0] * 5, [3.0] * 5]
    for same in ("same", "different"):
        torch.manual_seed(0)
        found = stages.vmap_impl(lambda t: t + torch.rand(2), 0, 0, same, 2, torch.zeros(4))
        torch.manual_seed(0)
        assert torch.equal(
            found,
            torch.vmap(lambda t: t + torch.rand(2), randomness=same, chunk_size=2)(torch.zeros(4)),
        )


def test_levels_inside_of_each_other() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    w = torch.tensor(2.0, requires_grad=True)
    with stages.vmap_increment_nesting(2, "error") as outer:
        row = stages._add_batch_dim(x, 0, outer)
        with stages.vmap_increment_nesting(3, "error") as inner:
            one = stages._add_batch_dim(row, 0, inner)
            assert (outer, inner, one.shape, torch._C._functorch.maybe_get_level(one)) == (
                1,
                2,
                (),
                2,
            )
            with pytest.raises(RuntimeError, match="level 1 cannot be left before"):
                stages._remove_batch_dim(row * w, outer, 2, 0)
            made = stages._remove_batch_dim(one * w, inner, 3, 0)
            assert torch._C._functorch.get_unwrapped(one).shape == (3,)
        assert stages.is_batchedtensor(made) and not stages.is_batchedtensor(x)
        with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
            stages._maybe_remove_batch_dim("f", made, outer, 2, None)
        with pytest.raises(ValueError, match="must only return Tensors, got type <class 'int'>"):
            stages._maybe_remove_batch_dim("f", 3, outer, 2, 0)
        whole = stages._remove_batch_dim(made, outer, 2, 1)
        assert stages._remove_batch_dim(w, outer, 2, 0).tolist() == [2.0, 2.0]
    assert (
        whole.tolist() == (x * 2).T.tolist() and torch._C._functorch.maybe_current_level() is None
    )
    whole.sum().backward()
    assert w.grad == 15.0
    with pytest.raises(RuntimeError, match="level 1 is not running"):
        stages._add_batch_dim(x, 0, 1)


def test_what_is_written_into_an_example_stays() -> None:
    x = torch.zeros(2, 3)
    with stages.vmap_increment_nesting(3, "error") as level:
        column = stages._add_batch_dim(x, 1, level)
        column.add_(torch.tensor([1.0, 2.0]))
        seen = stages._remove_batch_dim(column, level, 3, 1)
    assert x.tolist() == [[1.0] * 3, [2.0] * 3]
    assert seen.shape == (2, 3) and seen.data_ptr() == x.data_ptr()
