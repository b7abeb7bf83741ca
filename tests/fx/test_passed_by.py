"""Functions of ``nn.functional`` where ``has_torch_function`` was replaced in the module: they
decide by the arguments that they get."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import fx
from jtorch.nn import functional as F


@pytest.fixture
def nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        monkeypatch.setattr(F, name, lambda *_: False)


@pytest.mark.parametrize(
    "name", ["relu", "hardsigmoid", "dropout", "cross_entropy", "interpolate", "threshold"]
)
def test_flags_and_words_that_are_traced_cannot_decide(name: str, nobody_asked: None) -> None:
    with pytest.raises(fx.proxy.TraceError, match="cannot be used as inputs to control flow"):
        fx.symbolic_trace(getattr(F, name))


@pytest.mark.parametrize("name", ["unfold", "fold", "lp_pool2d", "max_unpool2d"])
def test_sizes_that_may_be_numbers_are_iterated(name: str, nobody_asked: None) -> None:
    with pytest.raises(fx.proxy.TraceError, match="Proxy object cannot be iterated"):
        fx.symbolic_trace(getattr(F, name))


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool3d_with_indices"])
def test_sizes_that_may_be_left_open_are_counted(name: str, nobody_asked: None) -> None:
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        fx.symbolic_trace(getattr(F, name))


@pytest.mark.parametrize("name", ["softmax", "normalize", "rms_norm"])
def test_what_is_only_handed_on_is_traced(name: str, nobody_asked: None) -> None:
    assert [n.op for n in fx.symbolic_trace(getattr(F, name)).graph.nodes][-2:] == [
        "call_function",
        "output",
    ]


def test_known_flags_decide_as_ever(nobody_asked: None) -> None:
    gm = fx.symbolic_trace(lambda x: F.relu(x, inplace=False))
    assert torch.equal(gm(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))


def test_otherwise_handlers_are_asked_first() -> None:
    assert len(fx.symbolic_trace(F.relu).graph.nodes) == 4  # the flag is an argument like others


class Told:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__, len(args), sorted(kwargs or {})


def test_pooling_with_places_and_hard_activations_tell_their_defaults() -> None:
    more = ["ceil_mode", "dilation", "padding", "return_indices", "stride"]
    assert F.max_pool1d_with_indices(Told(), 2) == ("max_pool1d_with_indices", 2, more)
    assert F.adaptive_max_pool1d_with_indices(Told(), 2) == (
        "adaptive_max_pool1d_with_indices",
        2,
        ["return_indices"],
    )
    assert torch.adaptive_max_pool1d(Told(), 2) == ("adaptive_max_pool1d", 2, [])  # in C++
    assert F.hardswish(Told()) == ("hardswish", 1, ["inplace"])
    assert F.rrelu_(Told()) == ("rrelu_", 1, [])


def test_upsample_is_interpolate_to_handlers() -> None:
    with pytest.warns(UserWarning, match="interpolate"):
        assert F.upsample_nearest(Told(), 3)[0] == "interpolate"
