"""The ModuleInfo database: same parameters from the same seed, repr, outputs, gradients, state
dicts, copies and errors as PyTorch."""

from __future__ import annotations

import copy
import io
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jtorch
from jtorch import nn

torch = pytest.importorskip("torch")
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db  # noqa: E402

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

#: Cases that fail, with the reason. Strict: an entry that works fails.
EXPECTED_FAILURES: dict[str, str] = {}

#: Modules whose outputs in training are random by other streams than PyTorch's on this platform;
#: only shapes are compared.
RANDOM = {"Dropout", "RReLU", "FractionalMaxPool2d", "FractionalMaxPool3d"}
#: Samples of each module and mode, spread over the database's list.
SAMPLES = 3


def to_jtorch(x: Any, known: dict[int, Any] | None = None) -> Any:
    """``x`` with PyTorch's tensors, dtypes and modules replaced by jtorch's; the same tensor twice
    stays one."""
    known = {} if known is None else known
    if isinstance(x, torch.Tensor):
        if id(x) not in known:
            known[id(x)] = jtorch.tensor(x.detach().numpy()).requires_grad_(x.requires_grad)
        return known[id(x)]
    if isinstance(x, torch.dtype):
        return getattr(jtorch, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return jtorch.device(str(x))
    if isinstance(x, torch.nn.Module):
        return module_like(x)
    if type(x) in (list, tuple):
        return type(x)(to_jtorch(item, known) for item in x)
    if isinstance(x, dict):
        return {k: to_jtorch(v, known) for k, v in x.items()}
    if type(x).__name__ == "LinearCrossEntropyOptions":
        return nn.LinearCrossEntropyOptions(acc_dtype=to_jtorch(x.acc_dtype), **{
            k: getattr(x, k) for k in ("allow_retain_graph", "batch_chunk_size", "chunking_method",
                                       "acc_policy")
        })  # fmt: skip
    if callable(x) and getattr(torch.nn.functional, getattr(x, "__name__", ""), None) is x:
        return getattr(nn.functional, x.__name__)
    return x


def module_like(module: Any) -> Any:
    """An encoder or decoder layer with the weights of ``module``: the only modules that others
    take."""
    settings = {"dropout": module.dropout.p, "batch_first": module.self_attn.batch_first,
                "norm_first": module.norm_first,
                "bias": module.linear1.bias is not None}  # fmt: skip
    sizes = (module.self_attn.embed_dim, module.self_attn.num_heads, module.linear1.out_features)
    made = getattr(nn, type(module).__name__)(
        *sizes, activation=to_jtorch(module.activation), **settings
    )
    made.load_state_dict({k: to_jtorch(v) for k, v in module.state_dict().items()})
    return made


def assert_same(got: Any, want: Any, what: str, tolerance: float = 1e-5) -> None:
    if isinstance(want, torch.Tensor):
        assert isinstance(got, jtorch.Tensor), f"{what}: {type(got)}, but should be a tensor"
        assert str(got.dtype) == str(want.dtype), (
            f"{what}: dtype {got.dtype}, but should be {want.dtype}"
        )
        assert tuple(got.shape) == tuple(want.shape), (
            f"{what}: shape {tuple(got.shape)}, but should be {tuple(want.shape)}"
        )
        inexact = want.is_floating_point() or want.is_complex()
        np.testing.assert_allclose(
            got.detach().numpy(),
            want.detach().numpy(),
            rtol=10 * tolerance * inexact,
            atol=tolerance * inexact,
            err_msg=what,
        )
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want), what
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{what}[{i}]", tolerance)
    elif isinstance(want, dict):
        assert list(got) == list(want), what
        for key in want:
            assert_same(got[key], want[key], f"{what}[{key!r}]", tolerance)
    else:
        assert got == want, what


def shapes_of(x: Any) -> Any:
    return (
        [shapes_of(item) for item in x]
        if isinstance(x, (tuple, list))
        else None
        if x is None
        else tuple(x.shape)
    )


def tensors_in(x: Any, library: Any) -> Iterator[Any]:
    """All tensors in nested lists, tuples and dicts, in order."""
    if isinstance(x, library.Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from tensors_in(item, library)
    elif isinstance(x, dict):
        yield from tensors_in(list(x.values()), library)


def chosen(samples: list[Any]) -> list[tuple[int, Any]]:
    """At most ``SAMPLES`` samples, spread evenly, with their numbers."""
    step = max(1, len(samples) / SAMPLES)
    numbers = sorted({int(i * step) for i in range(min(SAMPLES, len(samples)))})
    return [(k, samples[k]) for k in numbers]


def pair_of(info: Any, sample: Any, training: bool, dtype: str) -> tuple[Any, Any, str]:
    """PyTorch's module and ours, made from the same seed."""
    made = sample.constructor_input
    converted = to_jtorch(made.args), to_jtorch(made.kwargs)
    torch.manual_seed(5)
    theirs = (
        info.module_cls(*copy.deepcopy(made.args), **copy.deepcopy(made.kwargs))
        .train(training)
        .to(getattr(torch, dtype))
    )
    jtorch.manual_seed(5)
    ours = (
        getattr(nn, info.module_cls.__name__)(*converted[0], **converted[1])
        .train(training)
        .to(getattr(jtorch, dtype))
    )
    return theirs, ours, f"{info.module_cls.__name__} {made.args} {made.kwargs}"


def assert_same_module(ours: Any, theirs: Any, what: str) -> None:
    state, expected = ours.state_dict(), theirs.state_dict()
    assert repr(ours) == repr(theirs), what
    assert list(state) == list(expected), what
    assert state._metadata == expected._metadata, what
    for key in expected:
        if isinstance(expected[key], torch.nn.parameter.UninitializedTensorMixin):
            assert isinstance(state[key], nn.parameter.UninitializedTensorMixin), what
        else:
            assert_same(state[key], expected[key], f"{what}: {key}")
    for kind in ("named_parameters", "named_buffers", "named_modules"):
        assert [n for n, _ in getattr(ours, kind)()] == [n for n, _ in getattr(theirs, kind)()], (
            what
        )


def outcome(module: Any, args: Any, kwargs: Any, library: Any) -> Any:
    """What a call gives, or its exception."""
    library.manual_seed(6)
    try:
        return module(*args, **kwargs)
    except Exception as e:
        return e


def gradients(output: Any, sources: list[Any], library: Any) -> list[Any]:
    """Gradients of a fixed weighting of all outputs."""
    total = 0
    for i, t in enumerate(tensors_in(output, library)):
        if t.requires_grad:
            weight = library.tensor(np.cos(np.arange(t.numel()) + i).reshape(tuple(t.shape))).to(
                t.dtype
            )
            part = (t * weight).sum()
            total = total + (part.real if t.is_complex() else part)
    if not isinstance(total, library.Tensor):
        return []
    return list(library.autograd.grad(total, sources, allow_unused=True))


CASES = [pytest.param(info, training,
                      id=f"{info.module_cls.__name__}-{'train' if training else 'eval'}")
         for info in module_db for training in (True, False)]  # fmt: skip


def expect_failure(request: Any, name: str) -> None:
    if name in EXPECTED_FAILURES:
        request.node.add_marker(pytest.mark.xfail(reason=EXPECTED_FAILURES[name], strict=True))


@pytest.mark.parametrize(("info", "training"), CASES)
def test_forward_and_gradients(info: Any, training: bool, request: Any) -> None:
    expect_failure(request, request.node.callspec.id)
    name = info.module_cls.__name__
    samples = info.module_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
    )
    for k, sample in chosen(samples):
        theirs, ours, what = pair_of(info, sample, training, "float64")
        what = f"sample {k}: {what}"
        assert_same_module(ours, theirs, what)
        given = sample.forward_input
        args, kwargs = (given.args, given.kwargs) if given is not None else ((), {})
        our_args, our_kwargs = to_jtorch([args, kwargs])
        want = outcome(theirs, args, kwargs, torch)
        got = outcome(ours, our_args, our_kwargs, jtorch)
        if isinstance(want, Exception):
            assert isinstance(got, Exception), f"{what}: gave a result, but should raise {want!r}"
            assert (type(got).__name__, str(got)) == (type(want).__name__, str(want)), what
            continue
        if isinstance(got, Exception):
            raise AssertionError(what) from got
        if training and name in RANDOM:
            assert shapes_of(got) == shapes_of(want), what
            continue
        assert_same(got, want, what)
        # buffers that the call changed, lazy parameters that it made
        assert_same_module(ours, theirs, what)
        mine = [
            t
            for t in (*tensors_in([our_args, our_kwargs], jtorch), *ours.parameters())
            if t.requires_grad
        ]
        its = [
            t for t in (*tensors_in([args, kwargs], torch), *theirs.parameters()) if t.requires_grad
        ]
        assert len(mine) == len(its), what
        if its:
            assert_same(
                gradients(got, mine, jtorch), gradients(want, its, torch), f"gradients of {what}"
            )


@pytest.mark.parametrize(("info", "training"), CASES)
def test_state_travels(info: Any, training: bool, request: Any) -> None:
    """State dicts load in both directions, strictly; a deep copy and a pickle give the same
    output."""
    expect_failure(request, request.node.callspec.id)
    samples = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    )
    for k, sample in chosen(samples)[:1]:
        theirs, ours, what = pair_of(info, sample, training, "float32")
        what = f"sample {k}: {what}"
        given = sample.forward_input
        args, kwargs = (given.args, given.kwargs) if given is not None else ((), {})
        if isinstance(outcome(theirs, args, kwargs, torch), Exception):
            continue
        outcome(ours, to_jtorch(args), to_jtorch(kwargs), jtorch)
        made = sample.constructor_input
        rng = np.random.default_rng(k)
        state = {n: torch.from_numpy(np.asarray(rng.uniform(0.1, 1, tuple(t.shape)))).to(t.dtype)
                 if isinstance(t, torch.Tensor) else t
                 for n, t in theirs.state_dict().items()}  # fmt: skip
        assert str(theirs.load_state_dict(state)) == str(ours.load_state_dict(to_jtorch(state))), (
            what
        )
        back = (
            info.module_cls(*copy.deepcopy(made.args), **copy.deepcopy(made.kwargs))
            .train(training)
            .float()
        )
        outcome(back, args, kwargs, torch)  # lazy parameters take their shapes
        back.load_state_dict(
            {
                n: torch.from_numpy(t.numpy()) if isinstance(t, jtorch.Tensor) else t
                for n, t in ours.state_dict().items()
            }
        )
        file = io.BytesIO()
        jtorch.save(ours, file)
        file.seek(0)
        for again in (ours, copy.deepcopy(ours), jtorch.load(file, weights_only=False)):
            assert_same(again.state_dict(), dict(theirs.state_dict()), what)
            assert repr(again) == repr(theirs), what
        if training and info.module_cls.__name__ in RANDOM:
            continue
        want = outcome(theirs, args, kwargs, torch)
        for candidate in (copy.deepcopy(ours), ours):
            assert_same(
                outcome(candidate, to_jtorch(args), to_jtorch(kwargs), jtorch), want, what, 1e-4
            )
        assert_same(to_jtorch(outcome(back, args, kwargs, torch)), want, what, 1e-4)


ERRORS = [pytest.param(info, training,
                       id=f"{info.module_cls.__name__}-{'train' if training else 'eval'}")
          for info in module_db if info.module_error_inputs_func for training in (True,
              False)]  # fmt: skip


@pytest.mark.parametrize(("info", "training"), ERRORS)
def test_errors(info: Any, training: bool) -> None:
    """The database's wrong inputs raise PyTorch's exceptions, word for word."""
    cls = getattr(nn, info.module_cls.__name__)
    errors = info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    )
    for case in itertools.islice(errors, 60):
        made, given = (
            case.module_error_input.constructor_input,
            case.module_error_input.forward_input,
        )
        results = []
        for library, kind, convert in (
            (torch, info.module_cls, copy.deepcopy),
            (jtorch, cls, to_jtorch),
        ):
            try:
                module = kind(*convert(made.args), **convert(made.kwargs)).train(training)
                if case.error_on is ModuleErrorEnum.FORWARD_ERROR:
                    list(
                        map(
                            str,
                            tensors_in(
                                module(*convert(given.args), **convert(given.kwargs)), library
                            ),
                        )
                    )
                results.append(None)
            # what depends on values is told when a value is needed, and names its line
            except Exception as e:
                results.append(
                    (type(e).__name__, str(e).replace("jtorch", "torch").split(" (in ")[0])
                )
        want, got = results
        assert want is not None or not training  # some are errors in training only
        assert got == want, f"{made.args} {made.kwargs}"


def test_every_module_is_there() -> None:
    """All of ``torch.nn`` outside quantisation, with PyTorch's signatures."""
    import inspect

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [
            n
            for n in dir(torch.nn)
            if isinstance(getattr(torch.nn, n), type)
            and issubclass(getattr(torch.nn, n), torch.nn.Module)
        ]
    missing = [n for n in names if not hasattr(nn, n)]
    assert not missing
    # the decorator for deprecated classes hides their signatures
    names = [n for n in names if n not in ("Container", "NLLLoss2d")]

    def parameters(cls: Any) -> list[tuple[str, Any, str]]:
        return [
            (p.name, p.kind, repr(p.default).replace("jtorch", "torch"))
            for p in inspect.signature(cls).parameters.values()
        ]

    different = [n for n in names if re.sub(r" at 0x\w+", "",
                                            str(parameters(getattr(nn, n)))) != re.sub(
        r" at 0x\w+", "", str(parameters(getattr(torch.nn, n))))]  # fmt: skip
    assert not different
