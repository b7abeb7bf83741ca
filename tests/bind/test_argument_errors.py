"""The words for arguments that fit no signature, and that they replace nothing else."""

from __future__ import annotations

import pytest

import jtorch as torch

MAX = """\
max() received an invalid combination of arguments - got (Tensor, str), but expected one of:
 * (Tensor input, *, Tensor out = None)
 * (Tensor input, Tensor other, *, Tensor out = None)
 * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)
"""
FILL = """\
fill_() received an invalid combination of arguments - got (str), but expected one of:
 * (Tensor value)
      didn't match because some of the arguments have invalid types: (!str!)
 * (Number value)
      didn't match because some of the arguments have invalid types: (!str!)
"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.mm(x, 1), "mm(): argument 'mat2' (position 2) must be Tensor, not int"),
        (lambda x: torch.sin(x, x), "sin() takes 1 positional argument but 2 were given"),
        (lambda x: torch.softmax(x), 'softmax() missing 1 required positional arguments: "dim"'),  # noqa: PLW0108
        (
            lambda x: torch.sum(x, 1, 2, 3, 4),
            "sum() takes from 2 to 3 positional arguments but 5 were given",
        ),
        (lambda x: torch.sin(x, foo=1), "sin() got an unexpected keyword argument 'foo'"),
        (lambda x: torch.stack([x, 1]), "expected Tensor as element 1 in argument 0, but got int"),
        (lambda x: torch.max(x, "a"), MAX),
        (lambda x: x.fill_("a"), FILL),
    ],
)
def test_the_error_names_what_does_not_fit(call: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(torch.ones(3))  # type: ignore[operator]
    assert str(caught.value) == message


def test_operators_called_on_numbers_are_methods_like_others() -> None:
    with pytest.raises(
        TypeError,
        match=r"descriptor '__radd__' for 'torch._C.TensorBase' objects doesn't apply to a 'int' "
        r"object",
    ):
        torch.Tensor.__radd__(2, 3)
    assert torch.ones(1).__add__("a") is NotImplemented


def test_errors_of_programs_pass() -> None:
    t = torch.ones(2, requires_grad=True)
    t.register_hook(lambda g: g.no_such_attribute)
    with pytest.raises(AttributeError, match="no_such_attribute"):
        t.sum().backward()

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        torch.sin(Duck())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mm", "Expected out tensor to have dtype float, but got double instead"),
        ("abs", "Found dtype Double but expected Float"),
        ("index_select", "index_select(): self and result must have the same scalar type"),
    ],
)
def test_out_of_another_dtype(name: str, message: str) -> None:
    x, out = torch.ones(2, 2), torch.zeros(2, 2, dtype=torch.float64)
    args = {"mm": (x, x), "abs": (x,), "index_select": (x, 0, torch.tensor([0, 1]))}[name]
    with pytest.raises(RuntimeError) as caught:
        getattr(torch, name)(*args, out=out)
    assert str(caught.value) == message
    torch.add(x, x, out=out)  # pointwise sums convert
    assert out.tolist() == [[2.0, 2.0], [2.0, 2.0]]
