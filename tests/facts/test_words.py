"""Words that programs print: texts of errors, what storages and nodes show, reports of the
installation."""

from __future__ import annotations

import typing
from typing import Any

import pytest

import jtorch as torch
import jtorch.nn.functional as F
from jtorch._src.borders import settings
from jtorch.testing import assert_close

TWICE = "Trying to backward through the graph a second time"


def _leaf(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


@pytest.mark.parametrize(
    "f", [lambda x: x * 2, lambda x: 2 * x, lambda x: x / 2, lambda x: x.clone().mul_(2)]
)
def test_products_with_numbers_are_walked_once(f: Any) -> None:
    y = f(_leaf(2)).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.backward()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 2,
        lambda x: x - 1,
        lambda x: x.fmod(2),
        lambda x: x.lerp(torch.zeros(2), 0.5),
        lambda x: -x,
    ],
)
def test_what_saves_nothing_is_walked_again(f: Any) -> None:
    x = _leaf(2)
    y = f(x).sum()
    y.backward()
    first = x.grad.clone()
    y.backward()
    assert torch.equal(x.grad, 2 * first)


def test_nodes_list_what_they_save() -> None:
    def names(t: Any) -> list[str]:
        return sorted(name for name in dir(t.grad_fn) if "saved_" in name)

    x = _leaf(2)
    assert names(x * x) == ["_raw_saved_other", "_raw_saved_self", "_saved_other", "_saved_self"]
    assert names(x * 2) == ["_saved_other"] and names(x + 1) == []
    y = x.exp()
    y.sum().backward()
    assert names(y) == ["_raw_saved_result", "_saved_result"]


def test_errors_of_values_have_no_more_than_their_words() -> None:
    with pytest.raises(IndexError) as caught:
        F.embedding(torch.tensor([5]), torch.ones(3, 2))
    assert str(caught.value) == "index out of range in self"
    assert not hasattr(caught.value, "__notes__")


def test_requiring_gradients_of_integers() -> None:
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype"):
        torch.ones(2, dtype=torch.int32, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype"):
        torch.ones(2, dtype=torch.int32).requires_grad_()
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point and complex dtype"):
        torch.ones(2, dtype=torch.int32).requires_grad = True
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=r"with dtype 'float' to a tensor with grad_dtype 'Double'. The gradient must match",
    ):
        x.grad = torch.ones(2)


def test_views_made_without_gradients_are_named_first() -> None:
    w = _leaf(4)
    with torch.no_grad():
        v = w.view(2, 2)
    with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode"):
        v.mul_(2)
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable"):
        w.view(2, 2).mul_(2)


def test_meta_does_not_mix() -> None:
    with pytest.raises(
        RuntimeError, match=r"^Tensor on device cpu is not on the expected device meta!$"
    ):
        torch.add(torch.ones(2, device="meta"), torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"^Tensor on device meta is not on the expected device cpu!$"
    ):
        torch.mul(torch.ones(2), torch.ones(2, device="meta"))


def test_storages_show_their_numbers() -> None:
    t = torch.tensor([1, 2], dtype=torch.uint8)
    assert (
        repr(t.untyped_storage()) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    )
    assert (
        str(torch.FloatStorage([1.0]))
        == " 1.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 1]"
    )
    assert (
        repr(torch.ones(1, device="meta").untyped_storage())
        == "...\n[torch.storage.UntypedStorage(device=meta) of size 4]"
    )


def test_types_and_devices_that_are_none() -> None:
    with pytest.raises(TypeError, match=r"to handle 'torch.iinfo'"):
        torch.iinfo(torch.float32)
    with pytest.raises(TypeError, match=r"to handle 'torch.finfo'"):
        torch.finfo(torch.int32)
    with pytest.raises(
        TypeError, match=r"argument 'type2' \(position 2\) must be torch.dtype, not int"
    ):
        torch.promote_types(torch.int32, 1)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Invalid device string: 'float99'"):
        torch.ones(2).to("float99")
    for name, words in (
        ("foo", "Expected one of cpu"),
        ("vulkan", "unsupported autocast device_type 'vulkan'"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.autocast(name)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_float32_matmul_precision()
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("x")
    assert torch.get_float32_matmul_precision() == before
    monkeypatch.setattr(settings, "_threads", {"intra": 0, "inter": 0})
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert (
        torch.get_num_threads() == 3 and "OMP_NUM_THREADS : 3" in torch.__config__.parallel_info()
    )
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert torch.get_num_threads() >= 1 and torch.__config__._cxx_flags() == ""


def test_comparisons() -> None:
    with pytest.raises(AssertionError, match=r"^Booleans mismatch: True is not False$"):
        assert_close(True, False)
    assert_close([True], [True])
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)


def test_annotations() -> None:
    assert torch.jit.Final[int] is typing.Final[int] or torch.jit.Final is typing.Final

    def f(a: float, x: torch.Tensor, y: torch.Tensor) -> None: ...

    f.__annotations__ = {"a": float, "x": torch.Tensor, "y": torch.Tensor, "return": None}
    assert (
        torch.library.infer_schema(f, mutates_args={"y"})
        == "(float a, Tensor x, Tensor(a2!) y) -> ()"
    )


def test_layers_of_other_types() -> None:
    x = torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(
        RuntimeError, match=r"^mat1 and mat2 must have the same dtype, but got Double and Float"
    ):
        torch.nn.Linear(2, 2)(x)
    with pytest.raises(
        RuntimeError, match=r"^self and mat2 must have the same dtype, but got Float and Double"
    ):
        F.linear(x, x, torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"^expected m1 and m2 to have the same dtype, but got: double != float"
    ):
        torch.nn.Linear(2, 2, bias=False)(x)
    with pytest.raises(
        RuntimeError, match=r"^mat1 and mat2 must have the same dtype, but got Double and Float"
    ):
        torch.nn.RNNCell(2, 2)(x)
    with pytest.raises(
        RuntimeError, match=r"^Input type \(double\) and bias type \(float\) should be the same"
    ):
        torch.nn.Conv1d(2, 2, 1)(x[None])
    with pytest.raises(RuntimeError, match=r"^expected scalar type Double but found Float"):
        F.conv1d(x[None], torch.ones(2, 2, 1))
    with pytest.raises(RuntimeError, match=r"^expected scalar type Double but found Float"):
        F.conv_transpose1d(x[None], torch.ones(2, 2, 1), torch.ones(2))
    for layer, given in (
        (torch.nn.LayerNorm(2), x),
        (torch.nn.BatchNorm1d(2), x),
        (torch.nn.GroupNorm(1, 2), x),
    ):
        with pytest.raises(RuntimeError, match="all inputs must share same datatype"):
            layer(given)
        with pytest.raises(RuntimeError, match="expect parameter to have scalar type of Float"):
            layer.double()(given.float())


def test_sizes_are_compared_from_the_last_on() -> None:
    for call in (
        lambda: torch.ones(4, 4).expand(2, 3),
        lambda: torch.zeros(2, 3).__setitem__(slice(None), torch.ones(4, 4)),
    ):
        with pytest.raises(
            RuntimeError,
            match=r"tensor \(3\) must match the existing size \(4\) at non-singleton dimension 1",
        ):
            call()
    with pytest.raises(RuntimeError, match="isn't allowed in a leading, non-existing dimension 1"):
        torch.ones(2).expand(-1, -1, 2)
