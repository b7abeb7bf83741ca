"""The operators that a wrapper class and a dispatch mode see, forward and backward, for the
functions that programs use most."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest
from aten_programs import COMPOSITE_CALLS, PROGRAMS, Data

import jtorch

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

#: Programs that show other operators than PyTorch, and why.
DIFFERENT = {
    "F.pad(d.img, (1, 1, 1, 1), mode='circular')": (
        "PyTorch fills a new tensor slice by slice; here one gather does it"
    ),
    "F.embedding_bag(d.i, d.w)": (
        "PyTorch's operator hands bookkeeping of its kernel on to its derivative"
    ),
    "F.binary_cross_entropy(d.x.sigmoid(), d.m.float())": (
        "PyTorch hands on the missing weight, and shows it although it is the default"
    ),
    "F.scaled_dot_product_attention(t.cat([d.q, d.q], 1), d.q2, d.q3, enable_gqa=True)": "so with the missing mask",  # noqa: E501
    "t.linalg.lu_factor(d.s)[0]": (
        "derivatives of factorisations that few programs take are one operator"
    ),
    "t.pdist(d.w)": "distances of all pairs are a step of this package",
    "t.nn.GRU(3, 2)(d.b)[0]": (
        "with weights that are no wrappers a product is made for a gradient that nobody gets"
    ),
    "t.nn.LSTM(3, 2)(d.b)[0]": "PyTorch calls its CPU library's layer",
}

#: Programs whose plain tensors are handled otherwise than in PyTorch, which only a mode sees, and
#: why.
OTHERWISE_UNDER_MODES = {
    "F.one_hot(d.i)": (
        "PyTorch looks for the largest class, and fills zeros; one operator does it here"
    ),
    "t.sgn(d.x)": (
        "zeros are made as ordinary zeros; PyTorch has a tensor for them that holds nothing"
    ),
    "t.cov(d.x)": "PyTorch counts the observations with operators",
    "t.corrcoef(d.x)": "PyTorch counts the observations with operators",
    "t.take_along_dim(d.x, d.i, 1)": "PyTorch makes positions positive with an operator",
    "t.cumprod(d.x, 1)": "the zeros that a derivative begins with are made at another moment",
}


def record(library: Any, program: str, by_mode: bool) -> list[str]:
    """The operators of a program and of its gradient, with their arguments, tensors by shape; the
    error if there is one."""
    functional = importlib.import_module(f"{library.__name__}.nn.functional")
    tree = importlib.import_module(f"{library.__name__}.utils._pytree")
    dispatching = importlib.import_module(f"{library.__name__}.utils._python_dispatch")
    lines: list[str] = []

    def shown(x: Any) -> str:
        if isinstance(x, library.Tensor):
            return f"<{list(x.shape)}>"
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(map(shown, x))}]"
        return f"{x:.6g}" if isinstance(x, float) else repr(x).replace("jtorch", "torch")

    def note(func: Any, args: Any, kwargs: Any) -> None:
        lines.append(
            f"{func}("
            f"{', '.join([*map(shown, args), *[f'{k}={shown(x)}' for k, x in (kwargs or {}).items()]])}"  # noqa: E501
            ")"
        )

    class Wrap(library.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            return library.Tensor._make_wrapper_subclass(
                cls,
                elem.size(),
                strides=elem.stride(),
                storage_offset=elem.storage_offset(),
                dtype=elem.dtype,
                requires_grad=requires_grad,
            )

        def __init__(self, elem, requires_grad=False):
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            note(func, args, kwargs)
            inside = lambda x: x.elem if isinstance(x, cls) else x  # noqa: E731
            outside = lambda x: (  # noqa: E731
                cls(x) if isinstance(x, library.Tensor) and not isinstance(x, cls) else x
            )
            return tree.tree_map(
                outside, func(*tree.tree_map(inside, args), **tree.tree_map(inside, kwargs or {}))
            )

    class Mode(dispatching.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            note(func, args, kwargs)
            return func(*args, **(kwargs or {}))

    def run(data: Data) -> None:
        y = eval(program, {"t": library, "F": functional, "A": library.ops.aten, "d": data})
        lines.append("--")
        if isinstance(y, library.Tensor) and y.requires_grad:
            y = library.view_as_real(y) if y.dtype.is_complex else y
            library.autograd.grad(y.sum(), list(data.leaves.values()), allow_unused=True)

    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if by_mode:
            data = Data(library, lambda x: x.detach().requires_grad_())
            with Mode():
                run(data)
        else:
            run(Data(library, lambda x: Wrap(x, True)))
    return lines


@pytest.mark.parametrize("program", PROGRAMS)
def test_wrappers_see_what_they_see_in_torch(program):
    assert record(jtorch, program, False) == record(torch, program, False)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in OTHERWISE_UNDER_MODES][::4])
def test_modes_see_what_they_see_in_torch(program):
    assert record(jtorch, program, True) == record(torch, program, True)


@pytest.mark.parametrize("by_mode", [False, True], ids=["wrapper", "mode"])
@pytest.mark.parametrize("program", COMPOSITE_CALLS)
def test_operators_that_torch_takes_apart_are_not_seen(program, by_mode):
    assert record(jtorch, program, by_mode) == record(torch, program, by_mode)


@pytest.mark.parametrize("program", DIFFERENT)
def test_known_differences_are_still_there(program):
    assert record(jtorch, program, False) != record(torch, program, False)
