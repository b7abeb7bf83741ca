"""NumPy's arrays and other objects beside tensors: what Python's operators and NumPy's functions
give."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

OPERATORS = "== != < / * + - // % ** & @".split()
OTHERS: dict[str, Any] = {
    "array": np.ones(3), "short": np.ones(2), "letters": np.ones(3).astype("S1"),
    "objects": np.ones(3).astype(object), "one": np.array(1.0), "none": np.array([]),
    "complex": np.array([1 + 1j, 2, 3]), "large": np.array([2**63], dtype=np.uint64),
    "square": np.ones((2, 2)), "truth": np.array([True, False, True]), "number": np.float32(1),
    "list": [1, 2, 3], "None": None, "text": "a", "masked": np.ma.array([1, 2, 3]),
    "back": np.arange(3.0)[::2],
}  # fmt: skip


class Knowing:
    """What knows a product with a tensor, and nothing else."""

    def __rmul__(self, other: Any) -> str:
        return "product"


def _outcome(n: Any, text: str, names: dict[str, Any]) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(text, {"n": n, "np": np, **names})
        except (TypeError, ValueError, RuntimeError) as error:
            return type(error).__name__, str(error)
    return type(found).__name__, repr(found)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
@pytest.mark.parametrize("name", list(OTHERS))
def test_operators(name: str, dtype: str) -> None:
    for sign in OPERATORS:
        for text in (f"a {sign} b", f"b {sign} a"):
            theirs, mine = (
                _outcome(n, text, {"a": n.arange(3).to(getattr(n, dtype)), "b": OTHERS[name]})
                for n in (torch, jtorch)
            )
            assert mine == theirs, text


@pytest.mark.parametrize(
    "text",
    ["np.greater_equal(a, 2)", "np.isfinite(a)", "np.equal(a, b)", "np.logical_not(a)", "np.sin(a)",
     "np.add(a, b)", "np.divmod(a, 2)",
     "np.add.reduce(a)", "a.__eq__(b)", "a.__ne__(b)", "a.__rtruediv__(b)", "a.__rdiv__(b)",
     "a.__rdiv__(None)", "a.__rtruediv__(k)", "k / a", "1 + n.Size([3])", "n.Size([3]) + [1]",
     "(1,) + n.Size([3])", "n.Size([3]).__radd__(1)"],
)  # fmt: skip
def test_functions(text: str) -> None:
    theirs, mine = (
        _outcome(n, text, {"a": n.arange(3.0), "b": np.ones(3), "k": Knowing()})
        for n in (torch, jtorch)
    )
    assert tuple(x.replace("torch.Size", "Size") for x in theirs) == tuple(
        x.replace("torch.Size", "Size") for x in mine
    )
