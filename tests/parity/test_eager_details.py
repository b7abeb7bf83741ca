"""Small things that PyTorch's own tests look at, asked of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jtorch

pytestmark = pytest.mark.parity


def plain(x: Any) -> Any:
    """Tensors as lists, so that both libraries' answers can be compared."""
    if isinstance(x, (reference.Tensor, jtorch.Tensor)):
        return str(x.dtype)[6:], tuple(x.shape), x.detach().tolist(), x.requires_grad
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


def told(call: Callable[[], Any]) -> Any:
    """The answer of a call, or its error."""
    try:
        return plain(call())
    except Exception as error:
        return type(error).__name__, str(error)


CASES: list[Callable[[Any], Any]] = []


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES.append(function)
    return function


@case
def sizes_in_inference_mode(t: Any) -> Any:
    with t.inference_mode():
        made = t.ones(1, 2, 3, requires_grad=True)
        return [
            made.resize_(1, 2),
            made.resize_as_(t.ones(2)),
            told(lambda: made.detach().requires_grad_().resize_(1)),
            made,
        ]


@case
def names_of_attributes(t: Any) -> Any:
    x = t.ones(1, 1)
    return "__numpy_dtype__" in dir(x), [n for n in dir(x) if n != "imag" and not hasattr(x, n)]


@case
def storages_of_subclasses(t: Any) -> Any:
    class Storage(t.UntypedStorage):
        def __init__(self, *given: Any) -> None:
            self.given = given

    made = Storage([1, 2, 3])
    return made.tolist(), made.given, made.nbytes(), told(t._C.StorageBase)


@case
def typed_storages_warn(t: Any) -> Any:
    x, always = t.ones(2), t.is_warn_always_enabled()
    t.set_warn_always(True)
    if t is reference:  # which says it once in any case
        t.storage._reset_warn_typed_storage_removal()
    try:
        with warnings.catch_warnings(record=True) as told_of:
            warnings.simplefilter("always")
            _ = t.UntypedStorage(2), x.untyped_storage(), x._typed_storage(), x.storage()
    finally:
        t.set_warn_always(always)
    return [(w.category.__name__, str(w.message)) for w in told_of]


@case
def strides_of_results(t: Any) -> Any:
    f = t.nn.functional
    volume = t.ones(5, 4, 4, 6).permute(3, 0, 1, 2)  # one, of 6 channels, which are innermost
    image = t.ones(2, 3, 3, 4).permute(0, 3, 1, 2)
    results = [
        *f.max_pool3d(volume, 2, return_indices=True),
        f.max_pool3d(volume, 2),
        f.max_pool3d(volume[:1], 2),
        f.avg_pool3d(volume, 2),
    ]
    results += [
        f.max_pool3d(volume[None], 2),
        f.rrelu(image),
        f.rrelu(image, training=True),
        f.rrelu(image.clone(), inplace=True),
    ]
    results += [f.pad(image, (-1, 0, 0, 0), mode=m) for m in ("constant", "replicate", "circular")]
    results += [
        f.pad(image, (0, -1, 1, 0)),
        f.pad(t.ones(3, 4).t(), (0, 0)),
        t.constant_pad_nd(t.ones(2, 3, 4).mT, (0, 0, 0, -1)),
    ]
    return [r.stride() for r in results]


@case
def names_that_stand_for_no_tensor(t: Any) -> Any:
    module, x = t.nn.Sequential(t.nn.Linear(1, 1)), t.ones(1, 1)
    module.scale, before = 2.0, sorted(vars(module))
    names = ("scale", "training", "", "0", "forward", "0.in_features", "absent")
    found = [
        told(lambda n=n: t.func.functional_call(module, {"0.weight": x, "0.bias": x[0], n: x}, x))
        for n in names
    ]
    return (
        [str(answer).replace("jtorch", "torch") for answer in found],
        module.scale,
        module.training,
        sorted(vars(module)) == before,
    )


@pytest.mark.parametrize("of", CASES, ids=lambda f: f.__name__)
def test_as_in_torch(of: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plain(of(jtorch)) == plain(of(reference))
