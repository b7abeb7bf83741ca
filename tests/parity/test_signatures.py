"""Every function, method and property of PyTorch exists here under its name, takes the same
arguments, and can be overridden."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import typing
from typing import Any

import pytest

import jtorch
import jtorch.nn.init
import jtorch.overrides
import jtorch.signal.windows
from jtorch._src.refusals import functions as _not_offered

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

import oracle_signatures as oracle  # noqa: E402  (imports PyTorch)

#: Names that are not here: what PyTorch's files happen to import.
ABSENT = {
    "torch.functional.boolean_dispatch": "a helper that the file imports",
    "torch.functional.handle_torch_function": "a helper that the file imports",
    "torch.functional.has_torch_function": "a helper that the file imports",
    "torch.functional.has_torch_function_unary": "a helper that the file imports",
    "torch.functional.has_torch_function_variadic": "a helper that the file imports",
}
_RNN = (
    "the overloads for packed and padded batches call their parameters otherwise; modules give "
    "them by position"
)
_REDUCTION = (
    "PyTorch's parser reads the default of the stub as 0: called without a reduction, it does not "
    "reduce"
)
#: Signatures that differ, each with the reason.
DIFFERENT = {
    **{
        f"torch.{name}": _REDUCTION
        for name in (
            "binary_cross_entropy_with_logits",
            "cosine_embedding_loss",
            "hinge_embedding_loss",
            "kl_div",
            "margin_ranking_loss",
            "triplet_margin_loss",
        )
    },
    **dict.fromkeys(
        ("torch.Tensor.cpu", "torch.Tensor.cuda"),
        "the memory format is taken by name only, as by PyTorch's own code",
    ),
    "torch.dequantize": "several tensors at once are only for quantised ones",
    "torch.quantize_per_tensor": "several tensors at once are only for quantised ones",
    "torch.isin": (
        "the names of the overloads for numbers are accepted as aliases, which the signature "
        "does not show"
    ),
    "torch.gru": _RNN,
    "torch.lstm": _RNN,
    "torch.rnn_relu": _RNN,
    "torch.rnn_tanh": _RNN,
    "torch.Tensor._make_subclass": (
        "the stub has an argument that PyTorch refuses, and lacks two that it takes"
    ),
    "torch.is_autocast_enabled": "the stub of PyTorch lacks the argument that it takes",
    "torch.linspace": "the stub gives steps a default that PyTorch refuses",
    "torch.logspace": "the stub gives steps a default that PyTorch refuses",
    "torch.range": "the stub of PyTorch lacks layout, which it takes",
    "torch.tensor": "the stub has parameters by position that PyTorch takes by keyword only",
    "torch.Tensor.new_tensor": (
        "the stub has parameters by position that PyTorch takes by keyword only"
    ),
    "torch.Tensor.requires_grad_": "the stub calls the parameter otherwise than PyTorch does",
    "torch.Tensor.subtract_": "alpha by position is for numbers only, and deprecated",
    "torch.Tensor.__array__": "NumPy gives a third argument since its second version",
    "torch.Tensor.__array_wrap__": "NumPy gives more arguments since its second version",
    "torch.wait": "the parameter is called as in torch.jit.wait",
    "torch.nn.functional.gelu": (
        "the stub has a parameter by position that PyTorch takes by keyword only"
    ),
    "torch.nn.functional.one_hot": "the stub calls the parameter otherwise than PyTorch does",
    "torch.nn.functional.has_torch_function": "PyTorch's own shows no parameters",
}


def _ours(path: str) -> Any:
    found: Any = jtorch
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def _is_slot(path: str) -> bool:
    """Python's operator methods: called by position only, whatever a stub says."""
    name = path.rpartition(".")[2]
    return name.startswith("__") and name.endswith("__") and path not in DIFFERENT


NAMES = oracle.names()


def test_nothing_is_missing() -> None:
    missing = set()
    for path in NAMES:
        try:
            _ours(path)
        except AttributeError:
            missing.add(path)
    assert missing == set(ABSENT)


def test_signatures_agree() -> None:
    different: dict[str, list[str]] = {}
    for path, value in NAMES.items():
        signatures = [] if path in ABSENT or _is_slot(path) else oracle.overloads(path, value)
        mine = _ours(path) if signatures else None
        if callable(mine):
            found = list(
                oracle.disagreements(signatures, inspect.signature(mine), path.rpartition(".")[0])
            )
            if found:
                different[path] = found
    unknown = {path: found for path, found in different.items() if path not in DIFFERENT}
    assert not unknown
    assert not set(DIFFERENT) - set(different), "these agree by now"


def test_what_is_left_out_is_there_and_refuses() -> None:
    for path, (parameters, reason) in _not_offered.entries().items():
        function = _ours(f"torch.{path}")
        count = sum(
            p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
            for p in inspect.signature(function).parameters.values()
        )
        given: list[Any] = [jtorch.zeros(1)] + [None] * (count - 1) if count else []
        with pytest.raises(NotImplementedError, match="is not offered by jtorch") as caught:
            function(*given)
        assert reason in str(caught.value), (path, parameters)


def test_what_is_left_out_exists_in_pytorch() -> None:
    stale = []
    for path in _not_offered.entries():
        owner: Any = torch
        for part in path.split("."):
            owner = getattr(owner, part, None)
        if owner is None:
            stale.append(path)
    assert not stale


def test_tensor_has_no_methods_that_pytorch_lacks() -> None:
    extra = {
        n for n in dir(jtorch.Tensor) if not n.startswith("_") and not hasattr(torch.Tensor, n)
    }
    assert extra == {"jax"}


#: Callables that PyTorch lets handlers see and we do not, each with the reason.
NOT_OVERRIDABLE = {
    "torch.autocast": "a class",
    "torch.Tensor._grad.__get__": "a slot of PyTorch's own; grad is overridable",
    "torch.Tensor._backward_hooks.__get__": "a slot of PyTorch's own",
}


def test_what_pytorch_lets_be_overridden_can_be() -> None:
    def listed(overrides: Any) -> set[str]:
        return {
            overrides.resolve_name(f)
            for functions in overrides.get_overridable_functions().values()
            for f in functions
        } - {None}

    mine = listed(jtorch.overrides)
    # Functions of torch.functional and of torch are one and the same: each library names them by
    # one of the two.
    mine |= {name.replace("torch.", "torch.functional.", 1) for name in mine}
    missing = {
        n
        for n in listed(torch.overrides)
        if n not in mine and not n.rpartition(".")[0].rpartition(".")[2].startswith("_")
    }
    assert (
        missing
        - set(NOT_OVERRIDABLE)
        - {"torch.nn.functional._sym_int", "torch.Tensor.__cuda_array_interface__.__get__"}
        == set()
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.sum(t.ones(2, 3), axis=1, keepdims=True),
        lambda t: t.isin(element=1, test_elements=t.arange(3)),
        lambda t: t.isin(t.arange(3), test_element=1),
        lambda t: t.swapaxes(t.ones(2, 3), axis0=0, axis1=1),
        lambda t: t.subtract(t.ones(2), 1, 3),
        lambda t: t.special.airy_ai(x=t.zeros(2)),
        lambda t: t.linalg.cholesky(input=t.eye(2)),
        lambda t: t.linalg.pinv(t.eye(2), 0.1, True),
        lambda t: t.linalg.matrix_rank(t.eye(2), 0.1, True),
        lambda t: t.tensor_split(t.arange(4), sections=2)[0],
        lambda t: t.hsplit(t.arange(4), indices=[1])[0],
        lambda t: t.repeat_interleave(repeats=t.tensor([1, 2])),
        lambda t: t.ones(2, 2).sum_to_size(size=(1, 2)),
        lambda t: t.zeros(3).resize_(size=(1, 2)) * 0,
        lambda t: t.ones(2, 1).broadcast_to(2, 2),
        lambda t: t.slice_scatter(t.zeros(3), t.ones(2), end=2, out=t.empty(3)),
        lambda t: t.cholesky_solve(t.ones(2, 1), input2=t.eye(2)),
    ],
)
def test_spellings(call: Any) -> None:
    found, expected = call(jtorch), call(torch)
    assert found.tolist() == expected.tolist()
    assert str(found.dtype) == str(expected.dtype)


#: Asks every function of these namespaces for its signature, and prints those that refuse.
ASKING = """
import inspect, json, torch
refusing = []
for path in ("torch", "torch.Tensor", "torch.nn.functional", "torch.fft", "torch.linalg",
             "torch.special", "torch.sparse"):
    space = eval(path)
    for name in dir(space):
        asked = getattr(space, name, None)
        if callable(asked) and not isinstance(asked, type) and not name.startswith("_"):
            try:
                inspect.signature(asked)
            except ValueError:
                refusing.append(f"{path}.{name}")
print(json.dumps(refusing))
"""
#: What is written in Python in one of the two only, and told as PyTorch's parser tells it.
TOLD_HERE = set(
    """torch.detach_ torch.fill_ torch.from_file torch.from_numpy torch.frombuffer
    torch.get_default_dtype torch.get_num_interop_threads torch.get_num_threads torch.histogramdd
    torch.index_put_ torch.init_num_threads torch.is_anomaly_check_nan_enabled
    torch.is_anomaly_enabled torch.is_grad_enabled torch.is_inference_mode_enabled
    torch.is_vulkan_available torch.set_anomaly_enabled torch.set_flush_denormal
    torch.set_num_interop_threads torch.set_num_threads torch.to_dlpack torch.Tensor.as_subclass
    torch.Tensor.new torch.Tensor.type torch.nn.functional.has_torch_function
    torch.nn.functional.has_torch_function_unary torch.nn.functional.has_torch_function_variadic
    torch.sparse.spsolve torch.fork torch.wait""".split()
)
TOLD_THERE = {
    "torch.quantized_gru",
    "torch.quantized_lstm",
    "torch.Tensor.index",
    "torch.Tensor.unflatten",
}


def test_who_refuses_to_tell_its_signature() -> None:
    run = [["-c", ASKING], ["-m", "jtorch", "-c", ASKING]]
    theirs, ours = (
        set(json.loads(subprocess.check_output([sys.executable, *how], text=True))) for how in run
    )
    assert len(theirs) > 1000
    assert {
        name for name in theirs - ours if inspect.isroutine(_found(name)) and "autocast" not in name
    } == TOLD_HERE
    assert ours - theirs == TOLD_THERE


def _found(path: str) -> Any:
    found: Any = jtorch
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return found


#: Functions of ``nn.functional`` whose annotations are not PyTorch's in all parameters: theirs are
#: wider or narrower than what is taken, or are declared for type checkers alone.
ANNOTATED_OTHERWISE = frozenset(
    "affine_grid fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices grouped_mm "
    "handle_torch_function hardtanh interpolate linear_cross_entropy log_softmax max_unpool1d "
    "max_unpool2d max_unpool3d multi_head_attention_forward multi_margin_loss normalize "
    "scaled_grouped_mm scaled_mm softmax softmin triplet_margin_with_distance_loss".split()
)


def test_annotations_of_functions_written_in_python() -> None:
    found = {}
    for name, function in vars(torch.nn.functional).items():
        if not inspect.isfunction(function) or not function.__annotations__ or name[0] == "_":
            continue
        ours = getattr(jtorch.nn.functional, name)
        both = [
            typing.get_type_hints(f, None, {"LinearCrossEntropyOptions": Any})
            for f in (function, ours)
        ]
        theirs, mine = (
            {n: str(hint).replace("jtorch", "torch") for n, hint in hints.items()} for hints in both
        )
        found[name] = mine == theirs
        assert theirs.keys() == mine.keys() or name in ANNOTATED_OTHERWISE, name
    assert len(found) > 80
    assert {name for name, same in found.items() if not same} == ANNOTATED_OTHERWISE
