"""What a program sets on a tensor is what ``__dict__`` shows."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import jtorch as torch


class Named(torch.Tensor):
    """A subclass."""


TENSORS = {
    "plain": lambda: torch.ones(3),
    "leaf": lambda: torch.ones(3, requires_grad=True),
    "result": lambda: torch.ones(3, requires_grad=True) * 2,
    "view": lambda: torch.ones(3)[1:],
    "parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "subclass": lambda: torch.ones(3).as_subclass(Named),
}


@pytest.mark.parametrize("kind", TENSORS)
def test_nothing_but_what_was_set(kind: str) -> None:
    t = TENSORS[kind]()
    assert t.__dict__ == vars(t) == {}
    t.label = "x"
    assert vars(t) == {"label": "x"}
    shape = t.shape
    attributes = t.__dict__
    attributes["other"] = 1
    attributes.update(more=2)
    assert (
        t.other,
        t.more,
        attributes.setdefault("label", "y"),
        attributes.setdefault("new", 3),
        t.new,
    ) == (1, 2, "x", 3, 3)
    assert attributes.pop("other") == 1 and not hasattr(t, "other")
    del attributes["more"]
    assert not hasattr(t, "more") and attributes.popitem() == ("new", 3)
    attributes |= {"late": 1}
    assert t.late == 1
    attributes.clear()
    assert vars(t) == {} and t.shape == shape
    t.__dict__ = {"z": 1}
    assert t.z == 1 and vars(t) == {"z": 1} and (t + 1).shape == shape
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary"):
        t.__dict__ = 3  # type: ignore[assignment]
    assert (
        copy.copy(vars(t))
        == copy.deepcopy(vars(t))
        == pickle.loads(pickle.dumps(vars(t)))
        == {"z": 1}
    )


def test_attributes_go_along() -> None:
    t = torch.ones(2)
    t.tags = ["a"]  # type: ignore[attr-defined]
    for same in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert vars(same) == {"tags": ["a"]}
    assert vars(t.clone()) == vars(t[0]) == {}


def _saved(t: Any) -> Any:
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.ones(2, device="meta"),
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.eye(2).to_sparse_csr(),
        lambda: torch.nested.nested_tensor([torch.ones(2)]),
        lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
    ],
    ids=["dense", "leaf", "meta", "coo", "csr", "nested", "jagged"],
)
def test_attributes_with_an_underscore_go_along(make: Any) -> None:
    t = make()
    t._note, t.tags = ["n"], ["a"]
    for way in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), _saved):
        same = way(t)
        assert (same._note, same.tags) == (["n"], ["a"])
        assert (same.layout, same.device, same.numel(), same.requires_grad) == (
            t.layout,
            t.device,
            t.numel(),
            t.requires_grad,
        )
    assert copy.deepcopy(t)._note is not t._note


def test_sparse_parameters_stay_what_they_are() -> None:
    p = torch.nn.Parameter(torch.eye(2).to_sparse())
    p.tag = 1  # type: ignore[attr-defined]
    for way in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), _saved):
        same = way(p)
        assert (
            isinstance(same, torch.nn.Parameter)
            and same.requires_grad
            and same.tag == 1
            and same.is_sparse
        )


def test_subclasses_stay_parameters_when_they_are_copied() -> None:
    class Weight(torch.Tensor):
        def new_empty(self, *args: Any, **kwargs: Any) -> Any:
            return torch.empty(*args, **kwargs).as_subclass(Weight)

    p = torch.nn.Parameter(torch.ones(2).as_subclass(Weight))
    assert type(p) is Weight
    same = copy.deepcopy(p)
    assert type(same) is Weight and isinstance(same, torch.nn.Parameter) and same.requires_grad


def test_names_of_the_implementation_are_not_listed() -> None:
    t = torch.ones(2)
    t.mine = 1  # type: ignore[attr-defined]
    listed = dir(t)
    assert {"mine", "add", "_grad", "shape"} <= set(listed) and not {
        "_v",
        "_al",
        "_rg",
        "_node",
    } & set(listed)


def test_what_cannot_be_set() -> None:
    t: Any = torch.ones(2)
    for name, value in (("shape", (1,)), ("grad_fn", None), ("dtype", torch.int32)):
        with pytest.raises(
            AttributeError,
            match=rf"attribute '{name}' of 'torch._C.TensorBase' objects is not writable",
        ):
            setattr(t, name, value)


def test_gradients_under_their_other_name() -> None:
    x = torch.ones(2, requires_grad=True)
    assert x._grad is None
    (2 * x).sum().backward()
    assert x._grad is x.grad
    x._grad = torch.zeros(2)
    assert x.grad.tolist() == [0.0, 0.0]


class Noted:
    """A mixin with attributes of its own, which comes before ``Tensor`` among the bases."""

    def __init__(self, *_: Any) -> None:
        self.meta = {"a": 1}


class NotedTensor(Noted, torch.Tensor):
    @staticmethod
    def __new__(cls, data: Any) -> Any:
        return torch.as_tensor(data).as_subclass(cls)


def test_a_mixin_before_tensor_brings_no_dictionary_of_its_own() -> None:
    t = NotedTensor([1.0, 2.0])
    assert t.__dict__ == {"meta": {"a": 1}} and copy.deepcopy(t.__dict__) == t.__dict__
    t.__dict__ = {"b": 2}
    assert t.tolist() == [1.0, 2.0] and t.b == 2 and not hasattr(t, "meta")
    copied = copy.copy(t)
    assert (
        copied.__dict__ == {"b": 2}
        and type(copied) is NotedTensor
        and copied.tolist() == [1.0, 2.0]
    )


def test_classes_made_by_calls_belong_to_the_caller() -> None:
    assert (
        type("Mine", (torch.Tensor,), {}).__module__
        == type("Mine", (torch.nn.Parameter,), {}).__module__
        == __name__
    )
    assert type("Mine", (torch.Tensor,), {"__module__": "elsewhere"}).__module__ == "elsewhere"
