"""Numbers, flags and texts of another type than a parameter's are refused, even if they are equal
to what was given before."""

# ruff: noqa: PLW0108
# pyright: reportArgumentType=false, reportCallIssue=false
from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.bind.argument_errors import signatures
from jtorch._src.bind.cores import COMPOSITES
from jtorch._src.facts.static_types import static_of
from jtorch._src.ops._declare import OPS, STATIC
from jtorch.dispatch import PUBLIC

F = torch.nn.functional
X = torch.tensor([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])

#: Calls with one argument that is declared an int: functions, methods, views, composites,
#: factories, and functions written in Python.
INTS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda v: torch.softmax(X, v),
    "sum": lambda v: X.sum(v),
    "sum, by name": lambda v: torch.sum(X, dim=v),
    "sum, in a tuple": lambda v: torch.sum(X, (v,)),
    "sum, in a list": lambda v: X.sum([v]),
    "cumsum": lambda v: torch.cumsum(X, v),
    "transpose": lambda v: X.transpose(0, v),
    "topk": lambda v: torch.topk(X, v),
    "roll": lambda v: torch.roll(X, v),
    "diff": lambda v: torch.diff(X, v),
    "unsqueeze": lambda v: X.unsqueeze(v),
    "select": lambda v: X.select(0, v),
    "narrow": lambda v: X.narrow(0, 0, v),
    "cat": lambda v: torch.cat([X, X], v),
    "gather": lambda v: torch.gather(X, v, torch.zeros(1, 1, dtype=torch.int64)),
    "permute, spread": lambda v: X.permute(v, 0),
    "view, spread": lambda v: X[0, :1].view(v),
    "reshape": lambda v: torch.reshape(X[0, :1], (v,)),
    "repeat": lambda v: X.repeat(v, 2),
    "zeros": lambda v: torch.zeros(v),
    "rand": lambda v: torch.rand(v, dtype=torch.float64),
    "new_zeros": lambda v: X.new_zeros((v,)),
    "randint": lambda v: torch.randint(v, (2,)),
    "tensor_split": lambda v: X.tensor_split(v),
    "hsplit": lambda v: X.hsplit(v),
    "repeat_interleave": lambda v: X.repeat_interleave(v),
    "max": lambda v: torch.max(X, v),
    "layer norm": lambda v: torch.layer_norm(X[:, :1], (v,)),
    "resize_": lambda v: torch.zeros(3).resize_(v),
    "linalg.vector_norm": lambda v: torch.linalg.vector_norm(X, dim=v),
    "fft.fft": lambda v: torch.fft.fft(X, v),
    "F.softmax": lambda v: F.softmax(X, v),
    "F.conv1d": lambda v: F.conv1d(X[None], torch.ones(1, 2, 2), stride=v),
    "F.avg_pool1d": lambda v: F.avg_pool1d(X, v),
    "F.pad": lambda v: F.pad(X, (v, 1)),
}


class Place(enum.IntEnum):
    ONE = 1


class Countable:
    def __index__(self) -> int:
        return 1


@pytest.mark.parametrize("name", INTS)
def test_a_flag_or_fraction_is_no_int_even_after_the_equal_int(name: str) -> None:
    call = INTS[name]
    call(1)
    # an overload for tensors of its own
    tensors = [] if name in ("max", "repeat_interleave", "tensor_split") else [torch.tensor(1.0)]
    for wrong in (True, 1.0, np.float64(1), *tensors):
        with pytest.raises(TypeError):
            call(wrong)
    call(1)


@pytest.mark.parametrize("name", INTS)
def test_what_python_counts_with_is_an_int(name: str) -> None:
    call = INTS[name]
    for right in (np.int64(1), torch.tensor(1), Place.ONE):
        torch.manual_seed(0)
        # an overload for tensors
        expected = (
            torch.max(X, right) if name == "max" and isinstance(right, torch.Tensor) else call(1)
        )
        torch.manual_seed(0)
        assert repr(call(right)) == repr(expected)


@pytest.mark.parametrize("name", ["sum", "view, spread", "topk", "narrow", "zeros", "hsplit"])
def test_objects_that_tell_an_index_are_sizes(name: str) -> None:
    assert repr(INTS[name](Countable())) == repr(INTS[name](1))


def test_an_index_may_be_of_a_subclass_of_int() -> None:
    assert X[Place.ONE].tolist() == [1.0, 2.0, 3.0]


FIRST = "must be tuple of ints, but found element of type bool at pos 0"
UNPACK = (
    "{}(): argument '{}' failed to unpack the object at pos 2 with error \"type must be tuple of "
    'ints,but got float"'
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: X.unsqueeze(True),
            "unsqueeze(): argument 'dim' (position 1) must be int, not bool",
        ),
        (
            lambda: torch.softmax(X, 1.0),
            "softmax(): argument 'dim' (position 2) must be int, not float",
        ),
        (lambda: X.sum(1, keepdim=1), "sum(): argument 'keepdim' must be bool, not int"),
        (lambda: torch.flip(X, (True,)), "flip(): argument 'dims' (position 2) " + FIRST),
        (
            lambda: torch.flip(X, dims=(1.0,)),
            "flip(): argument 'dims' must be tuple of ints, not tuple",
        ),
        (lambda: X.sum((0, 1.0)), UNPACK.format("sum", "dim")),
        (lambda: torch.zeros(2, 3.0), UNPACK.format("zeros", "size")),
        (
            lambda: X.clone(memory_format=1),
            "clone(): argument 'memory_format' must be torch.memory_format, not int",
        ),
        (
            lambda: torch.zeros(2, requires_grad=1),
            "zeros(): argument 'requires_grad' must be bool, not int",
        ),
        (
            lambda: F.batch_norm(X, None, None, training=1),
            "batch_norm(): argument 'training' (position 6) must be bool, not int",
        ),
        (
            lambda: torch.mm(X, np.ones((3, 2))),
            "mm(): argument 'mat2' (position 2) must be Tensor, not numpy.ndarray",
        ),
        (torch.Tensor.abs, "unbound method TensorBase.abs() needs an argument"),
        (torch.vdot, 'vdot() missing 2 required positional argument: "input", "other"'),
    ],
)
def test_the_words(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_flags_behind_the_first_item_of_sizes_count() -> None:
    assert X.sum((0, True)).item() == 12.0
    assert torch.zeros(2, True).shape == (2, 1)


def test_functions_written_in_python_only_ask_whether_a_flag_is_true() -> None:
    assert F.relu(torch.tensor([-1.0]), inplace=1).tolist() == [0.0]
    assert F.hardswish(torch.tensor([0.0]), inplace=0).tolist() == [0.0]


def test_a_complex_factor_of_real_matrices_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type float without overflow"
    ):
        torch.addmm(X, torch.ones(2, 1), torch.ones(1, 3), alpha=1j)


# ---- annotations ---------------------------------------------------------------------------------

_WORDS = {
    "int": "int",
    "SymInt": "int",
    "bool": "bool",
    "str": "str",
    "int[]": "tuple[int, ...]",
    "SymInt[]": "tuple[int, ...]",
}
#: Parameters that cannot be said to be what the tables say: packed and spread sizes, and those that
#: stand for several of them.
_OTHERWISE = frozenset(
    """Tensor.view.size reshape.shape tensor_split.sections tensor_split.indices
    Tensor.new_zeros.size Tensor.new_ones.size Tensor.new_empty.size Tensor.resize_.size
    Tensor.set_.size Tensor.set_.stride max.dim min.dim rand.size randn.size randint.low
    randint.high randint.size normal.size Tensor.sum_to_size.size as_strided_.size
    as_strided_.stride layer_norm.normalized_shape lstm.has_biases lstm.num_layers lstm.train
    lstm.bidirectional gru.has_biases gru.num_layers gru.train gru.bidirectional rnn_tanh.has_biases
    rnn_tanh.num_layers rnn_tanh.train rnn_tanh.bidirectional rnn_relu.has_biases
    rnn_relu.num_layers rnn_relu.train rnn_relu.bidirectional""".split()
)


def _declared() -> dict[str, tuple[str, str, str]]:
    """Every parameter of ops and composites that holds no tensor: its function's path, its name and
    annotation."""
    found = {}
    for op in OPS.values():
        for p in op.params:
            if op.namespace != "_C" and p.kind == STATIC:
                found[f"{op.path}.{p.name}"] = (op.path, p.name, p.annotation)
    for c in COMPOSITES:
        path = c.name if c.namespace == "torch" else f"{c.namespace}.{c.name}"
        for p in inspect.signature(c.body).parameters.values():
            if c.native and p.name not in (*c.operands, *c.lists):
                found[f"{path}.{p.name}"] = (path, p.name, str(p.annotation))
    return found


def test_annotations_say_what_the_operator_tables_say() -> None:
    wrong = []
    for key, (path, name, annotation) in _declared().items():
        prefix, _, last = path.rpartition(".")
        entry = PUBLIC.get(f"torch.{path}")
        if (entry is not None and not entry.native) or "sparse" in path or key in _OTHERWISE:
            continue
        operator = f"{prefix}_{last}" if prefix in ("linalg", "fft", "special") else last
        types = {
            p.type
            for s in signatures(operator, prefix == "Tensor", False)
            for p in s.parameters
            if p.name == name
        }
        if not types or not types.issubset(_WORDS):
            continue
        if static_of(annotation) is None or not all(
            _WORDS[t].split("[")[0] in annotation for t in types
        ):
            wrong.append(f"{key}: {annotation}, but the tables say {sorted(types)}")
    assert not wrong


def test_unknown_keywords_of_views_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        X.expand(2, 3, foo=1)
    for method in (X.flip, X.sum_to_size, X.repeat):
        with pytest.raises(TypeError, match="missing 1 required"):
            method()


def test_places_before_the_memory_are_refused() -> None:
    with pytest.raises(RuntimeError, match="invalid storage offset -1"):
        X.as_strided((1,), (1,), -1)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        X.as_strided((-1,), (1,))


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
def test_a_zero_pivot_is_no_error_of_the_old_function() -> None:
    packed, pivots = torch.lu(torch.ones(2, 2))
    assert packed.tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert pivots.tolist() == [1, 2]


def test_a_dtype_that_must_be_given() -> None:
    g, y = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
    assert torch._softmax_backward_data(g, y, 0, torch.float64).dtype is torch.float64
    assert torch._softmax_backward_data(g, y, 0, input_dtype=torch.float32).tolist() == [
        0.25,
        -0.25,
    ]
    with pytest.raises(TypeError, match="_softmax_backward_data"):
        torch._softmax_backward_data(g, y, 0, "float32")
