"""Wrapper subclasses of an author: saved, pickled, loaded, assigned to parameters and moved with
their module, as in PyTorch."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.utils._python_dispatch import return_and_correct_aliasing

aten = torch.ops.aten


class Scaled(torch.Tensor):
    """``q * scale``."""

    @staticmethod
    def __new__(cls, q, scale, note="none"):
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=scale.dtype, device=q.device)

    def __init__(self, q, scale, note="none"):
        self.q, self.scale, self.note = q, scale, note

    def __repr__(self, *, tensor_contents=None):
        return f"Scaled({self.q.tolist()}, {self.scale.item()})"

    def __tensor_flatten__(self):
        return ["q", "scale"], self.note

    @classmethod
    def __tensor_unflatten__(cls, inner, note, size, stride):
        return cls(inner["q"], inner["scale"], note)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (aten.detach.default, aten.clone.default):
            made = cls(func(args[0].q), func(args[0].scale), args[0].note)
            return return_and_correct_aliasing(func, args, kwargs, made)
        if func is aten._to_copy.default:
            dtype, device = kwargs.get("dtype"), kwargs.get("device")
            made = cls(
                args[0].q.to(device=device),
                args[0].scale.to(device=device, dtype=dtype),
                args[0].note,
            )
            return return_and_correct_aliasing(func, args, kwargs, made)
        if func is aten.copy_.default:
            args[0].q.copy_(args[1].q)
            args[0].scale.copy_(args[1].scale)
            return args[0]
        args = [a.q * a.scale if isinstance(a, Scaled) else a for a in args]
        return func(*args, **kwargs)


def made():
    return Scaled(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor(0.5), "mine")


def layer():
    found = nn.Linear(2, 2, bias=False)
    found.weight = nn.Parameter(made(), requires_grad=False)
    return found


def round_trip(x, **options):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


def check(x):
    assert type(x) is Scaled
    assert (x.q.tolist(), x.scale.item(), x.note, x.dtype) == (
        [[1, 2], [3, 4]],
        0.5,
        "mine",
        torch.float32,
    )


def test_pickle_and_save_keep_class_and_parts():
    check(pickle.loads(pickle.dumps(made())))
    check(round_trip(made(), weights_only=False))
    check(pickle.loads(pickle.dumps(layer())).weight)
    check(copy.deepcopy(layer()).weight)
    assert isinstance(pickle.loads(pickle.dumps(layer().weight)), nn.Parameter)


def test_weights_only_asks_for_the_class():
    with pytest.raises(pickle.UnpicklingError, match="Scaled was not an allowed global"):
        round_trip(made())
    with torch.serialization.safe_globals([Scaled]):
        check(round_trip(made()))
        check(round_trip(layer().state_dict())["weight"])


class Sparse(torch.Tensor):
    """A wrapper that computes its layout."""

    @staticmethod
    def __new__(cls, part):
        return torch.Tensor._make_wrapper_subclass(cls, part.shape, dispatch_layout=True)

    def __init__(self, part):
        self.part = part

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.sparse_csr if func is torch.ops.prim.layout.default else NotImplemented


def test_wrappers_with_a_layout_of_their_own_are_saved_as_wrappers():
    t = Sparse(torch.ones(2))
    assert t.layout is torch.sparse_csr
    same = round_trip(t, weights_only=False)
    assert type(same) is Sparse and same.part.tolist() == [1.0, 1.0]


class _Built:
    """Written as a call of what rebuilds wrappers."""

    def __init__(self, kind):
        self.kind = kind

    def __reduce__(self):
        shape = (2,), (1,), 0, torch.strided
        return torch._utils._rebuild_wrapper_subclass, (
            self.kind,
            torch.float32,
            *shape,
            torch.device("cpu"),
            False,
        )


class Other(torch.Tensor):
    pass


@pytest.mark.parametrize("kind", [Other, dict, None, 3])
def test_files_cannot_name_other_classes(kind):
    with torch.serialization.safe_globals([Scaled]), pytest.raises(pickle.UnpicklingError):
        round_trip(_Built(kind))


class Restoring(Scaled):
    """Goes on with the state that it was saved with, as libraries' wrappers do for parts of their
    own that older files lack."""

    def __setstate__(self, state):
        torch._utils._set_obj_state(self, state)
        self.note += " restored"


def test_a_class_may_put_its_state_itself():
    made = Restoring(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor(0.5))
    with torch.serialization.safe_globals([Restoring]):
        found = [round_trip(made), pickle.loads(pickle.dumps(made))]
    for each in found:
        assert (each.note, each.q.tolist(), each.scale.item()) == (
            "none restored",
            [[1, 2], [3, 4]],
            0.5,
        )


@pytest.mark.parametrize("where", ["cpu", "meta"])
def test_state_is_assigned(where):
    with torch.device(where):
        found = nn.Linear(2, 2, bias=False)
    with torch.serialization.safe_globals([Scaled]):
        state = round_trip(layer().state_dict())
    found.load_state_dict(state, assign=True)
    check(found.weight)
    assert isinstance(found.weight, nn.Parameter)
    assert found(torch.ones(1, 2)).tolist() == [[1.5, 3.5]]


def test_state_is_copied_into_a_wrapper_that_is_there():
    found = layer()
    found.weight.q.zero_()
    found.load_state_dict(layer().state_dict())
    check(found.weight)


def test_modules_move_what_a_wrapper_is_made_of():
    found = layer()
    weight = found.weight
    found.to(torch.float64)
    assert found.weight is weight
    assert (weight.dtype, weight.scale.dtype, weight.note) == (torch.float64, torch.float64, "mine")
    assert isinstance(weight, nn.Parameter)
    found.to("meta")
    assert weight.q.is_meta
    assert weight.device.type == "meta"
