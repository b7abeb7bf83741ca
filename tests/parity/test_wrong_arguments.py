"""Arguments of wrong types, one at a time, in a sample call of every function and method: both
packages refuse them alike.

Mutates what is no tensor: where PyTorch raises a TypeError, ours must raise one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from opinfo_running import _has_layouts, counterpart, ours  # noqa: E402
from torch.testing._internal import common_utils  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

SHARDS = 2
#: Cases ("<op>/<form> <argument>=<value>") that differ, and why.
ALLOWED = {
    r"(max|min)\.\S+/.* ": (
        "an explicit None, or False, cannot be told from an argument that is not given"
    ),
    r"(var|std)(_mean)?(\.unbiased)?/. .*None": "the same",
    r"clamp/. ": "numbers and tensors may be mixed",
    r"nn\.functional\.adaptive_\w+_pool\w+/. ": "written in Python, where any two sizes do",
    r"nn\.functional\.interpolate\.|nn\.functional\.upsample": (
        "written in Python: the order of the checks"
    ),
    r"nn\.functional\.(linear_cross_entropy|cross_entropy|local_response_norm)": (
        "written in Python, on attributes of what is given"
    ),
    r"(unique|masked\.norm\w*)/. ": "written in Python: whether it is true is all that is asked",
    r"nn\.functional\.(poisson|gaussian)_nll_loss/. reduction": (
        "the text is looked at before its type"
    ),
    r"full_like/. 1=NoneType": "the same as new_full",
    r"meshgrid\S*/. indexing": "written in Python: not the text but what it may be is looked at",
    r"new_full/m 2=NoneType": "None is no number before it is no overload",
    r"histogramdd/f 1=dict": "an empty dict is as long as an empty list",
    r"(gradient|tensordot|broadcast_shapes|cdist|split\S*|unsafe_split)/. ": "lists of several forms",  # noqa: E501
}


def _wrong(value: Any) -> Iterator[Any]:
    """Values of other types than a valid argument, and what counts as the same."""
    if isinstance(value, bool):
        yield from (int(value), 1.0, "zz", np.bool_(value))
    elif isinstance(value, int):
        yield from (
            float(value),
            True,
            "zz",
            [float(value)],
            np.float64(value),
            1j,
            torch.tensor(float(value)),
        )
    elif isinstance(value, float):
        yield from ("zz", None, [value], {}, np.float64(value))
    elif isinstance(value, str):
        yield from (1, [], True)
    elif isinstance(value, (list, tuple)) and value and all(type(x) is int for x in value):
        for first in (1.0, True, "zz", None):
            yield (first, *value[1:])
        yield from (1.5, True, "zz", {})


def _cases(args: list[Any], kwargs: dict[str, Any]) -> Iterator[tuple[int | str, Any]]:
    for place, value in (*enumerate(args), *kwargs.items()):
        for x in _wrong(value):
            yield place, x


def _put(
    args: list[Any], kwargs: dict[str, Any], place: int | str, value: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with another one in one place."""
    if isinstance(place, int):
        return [*args[:place], value, *args[place + 1 :]], kwargs
    return args, {**kwargs, place: value}


def _error(function: Any, args: list[Any], kwargs: dict[str, Any]) -> type[Exception] | None:
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error)
    return None


def _sample(op: Any) -> Any:
    """The sample of the most arguments among the first ones, small and dense."""
    dtype = torch.float32 if torch.float32 in op.supported_dtypes("cpu") else torch.int64
    try:
        found = list(islice(op.sample_inputs("cpu", dtype), 3))
    except Exception:  # the database has none for this dtype
        return None
    dense = [s for s in found if not _has_layouts((s.input, s.args, s.kwargs))]
    small = [s for s in dense if isinstance(s.input, torch.Tensor) and s.input.numel() < 2000]
    return max(small, key=lambda s: len(s.args) + len(s.kwargs), default=None)


def _differences(op: Any) -> Iterator[str]:
    sample = _sample(op)
    if sample is None:
        return
    forms = (
        {"f": op.op}
        if not getattr(op.op, "__module__", "torch").startswith("torch.testing")
        else {}
    )
    if op.method_variant is not None and op.name != "to":
        forms["m"] = op.method_variant
    for form, theirs in forms.items():
        try:
            mine = counterpart(theirs) if form == "f" else getattr(jtorch.Tensor, theirs.__name__)
        except AttributeError:
            continue
        given = [sample.input, *sample.args]
        try:
            converted, named = ours(given), ours(sample.kwargs)
        except (AttributeError, TypeError):  # of a kind that only PyTorch has
            continue
        # remembers the call, whose arguments equal some of the wrong ones
        _error(mine, converted, named)
        for place, x in _cases(given, sample.kwargs):
            if _error(theirs, *_put(given, sample.kwargs, place, x)) is not TypeError:
                # what torch takes, or refuses after it has looked at values, is the business of
                # other tests
                continue
            found = _error(mine, *_put(converted, named, place, ours(x)))
            case = f"{op.full_name}/{form} {place}={type(x).__name__}:{x!s:.20}"
            if found is not TypeError and not any(re.match(pattern, case) for pattern in ALLOWED):
                yield f"{case}: {found.__name__ if found else 'no error'}"


@pytest.mark.parametrize("shard", range(SHARDS))
def test_wrong_types_are_refused_alike(shard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the database does about each sample, for messages and values that do not matter here,
    # takes most of the time.
    monkeypatch.setattr(common_utils, "set_rng_seed", lambda *_: None)
    monkeypatch.setattr(common_utils, "extract_test_fn", lambda: None)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ops = list(
            {
                op.name: op
                for op in reversed(op_db)
                if not op.name.startswith(("torch.ops", "_refs"))
            }.values()
        )
        found = [difference for op in ops[shard::SHARDS] for difference in _differences(op)]
    assert not found, "\n".join(found)
