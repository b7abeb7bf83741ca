"""Derivatives of every operation in PyTorch's database of samples: by differences, by walking back,
in forward mode, and the second ones.

Each is compared along one direction of the operands and one of the results, so that a check costs a
few evaluations: for a function f at x the number <v, J u> must come out the same by central
differences, as <Jᵀv, u>, and forward. For second derivatives the same is done with <Jᵀv, u> as the
function. All is run op by op, since programs that are compiled as a whole would each be compiled
for one use.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as oracle
from opinfo_running import counterpart, ours
from torch.testing._internal.common_methods_invocations import op_db

import jtorch as torch
from jtorch._src.engine import execution
from jtorch.autograd import forward_ad

# samples, and torch's own functions, warn of old names
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

#: Not functions of their operands that have a derivative there, and why.
LEFT_OUT = {
    **dict.fromkeys(
        ("normal", "bernoulli", "multinomial", "nn.functional.rrelu", "svd_lowrank", "pca_lowrank"),
        "random",
    ),
    "empty_like": "has no values",
    "zero_": "writes into its operand, which is a leaf",
    **dict.fromkeys(
        ("bfloat16", "half", "float", "cfloat", "chalf"), "rounds too coarsely for differences"
    ),
    "to_sparse": "gives a tensor of another layout",
}
#: Second derivatives that are not compared, and why.
FIRST_ONLY = {
    "linalg.norm.subgradients_at_zero": "there is none at zero",
    "nn.functional.ctc_loss": "PyTorch has none either",
}


def named(op: Any) -> str:
    """The operation and its variant."""
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def public(op: Any) -> Any:
    """What this package has for an operation, or None."""
    try:
        return counterpart(op.op)
    except (AttributeError, NotImplementedError):
        return None


def operations(dtype: Any) -> Iterator[Any]:
    """The entries of the database to check, with an identifier."""
    for op in op_db:
        differentiable = op.supports_autograd and op.supports_dtype(dtype, "cpu")
        if differentiable and not {op.name, named(op)} & LEFT_OUT.keys() and public(op) is not None:
            yield pytest.param(op, id=named(op))


def smallest(op: Any, dtype: Any) -> Any:
    """The sample with the fewest elements that has some."""
    oracle.manual_seed(0)
    best, least = None, 1 << 30
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=True), 40):
        tensors = [
            t for t in _tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad
        ]
        count = sum(t.numel() for t in tensors)
        if tensors and 1 < count < least and all(t.layout is oracle.strided for t in tensors):
            best, least = sample, count
    return best


def _tensors(x: Any) -> list[Any]:
    if isinstance(x, (oracle.Tensor, torch.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for i in x for t in _tensors(i)] if isinstance(x, (list, tuple)) else []


def _map(fn: Callable[[Any], Any], x: Any) -> Any:
    """A nested argument with another in place of each tensor."""
    if isinstance(x, (oracle.Tensor, torch.Tensor)):
        return fn(x)
    if isinstance(x, oracle.Size):
        return tuple(x)
    if type(x) in (list, tuple):
        return type(x)(_map(fn, i) for i in x)
    if isinstance(x, dict):
        return {k: _map(fn, v) for k, v in x.items()}
    return ours(x)


def numpy(t: Any) -> Any:
    """The elements."""
    return t.detach().resolve_conj().resolve_neg().numpy()


def dot(a: Any, b: Any) -> float:
    """The real inner product."""
    return float(np.real(np.vdot(a, b)))


class Direction:
    """One operation at one sample, as a function of the distance along a direction of its operands.

    Everything around the operation itself is done with NumPy, because each function of ``torch``
    would be compiled for each shape.
    """

    def __init__(self, op: Any, sample: Any) -> None:
        # makes matrices symmetric where they have to be
        self.f = functools.partial(counterpart(op.gradcheck_wrapper), public(op))
        try:
            # leaves out the phases of eigenvectors
            self.process = counterpart(sample.output_process_fn_grad)
        except TypeError:  # it holds its entry of the database
            self.process = sample.output_process_fn_grad
        self.inputs: list[Any] = []
        self.places: dict[int, int] = {}
        self.arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        for x in _tensors(self.arguments):
            if x.requires_grad and id(x) not in self.places:
                self.places[id(x)] = len(self.inputs)
                self.inputs.append(numpy(x))
        self.rng = np.random.default_rng(zlib.crc32(op.name.encode()))
        self.us = [self.random(x) for x in self.inputs]
        self.vs: list[Any] = []
        # known once they have been computed from operands that require grad
        self.places_of_results: list[int] | None = None

    def random(self, like: Any) -> Any:
        """A direction."""
        found = self.rng.standard_normal(like.shape)
        return np.asarray(
            found + 1j * self.rng.standard_normal(like.shape) if np.iscomplexobj(like) else found
        )

    def results(self, inputs: list[Any]) -> list[Any]:
        """The differentiable results with others in place of the operands."""

        def given(x: Any) -> Any:
            return (
                inputs[self.places[id(x)]]
                if id(x) in self.places
                else torch.from_numpy(numpy(x).copy())
            )

        first, args, kwargs = _map(given, self.arguments)
        torch.manual_seed(0)
        found = _tensors(self.process(self.f(first, *args, **kwargs)))
        if self.places_of_results is None:
            self.places_of_results = [i for i, t in enumerate(found) if t.requires_grad]
        found = [found[i] for i in self.places_of_results]
        while len(self.vs) < len(found):
            self.vs.append(self.random(numpy(found[len(self.vs)])))
        return found

    def moved(self, by: float) -> list[Any]:
        """The operands, moved along the direction."""
        return [
            torch.from_numpy(np.array(x + by * u)).requires_grad_()
            for x, u in zip(self.inputs, self.us, strict=True)
        ]

    def value(self, by: float) -> float:
        """<v, results>."""
        return sum(
            dot(v, numpy(r)) for v, r in zip(self.vs, self.results(self.moved(by)), strict=True)
        )

    def gradients(self, inputs: list[Any], create_graph: bool = False) -> list[Any]:
        """Jᵀv, None where there is none."""
        pairs = [
            (r, torch.from_numpy(np.array(v)))
            for r, v in zip(self.results(inputs), self.vs, strict=True)
            if r.requires_grad
        ]
        roots, vectors = zip(*pairs, strict=True)
        return list(
            torch.autograd.grad(
                roots, inputs, vectors, create_graph=create_graph, allow_unused=True
            )
        )

    def along(self, grads: list[Any]) -> float:
        """<gradients, u>."""
        return sum(dot(u, numpy(g)) for g, u in zip(grads, self.us, strict=True) if g is not None)

    def forward(self) -> float:
        """<v, J u> in forward mode."""
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(torch.from_numpy(x), torch.from_numpy(u))
                for x, u in zip(self.inputs, self.us, strict=True)
            ]
            tangents = [forward_ad.unpack_dual(r).tangent for r in self.results(duals)]
            return sum(
                dot(v, numpy(t)) for v, t in zip(self.vs, tangents, strict=True) if t is not None
            )


def differences(f: Callable[[float], Any], eps: float = 1e-6) -> float:
    """A central difference."""
    return (float(f(eps)) - float(f(-eps))) / (2 * eps)


def close(a: float, b: float, tolerance: float) -> bool:
    """Whether two numbers agree, where NaN agrees with NaN."""
    return abs(a - b) <= tolerance * (1 + abs(b)) or (a != a and b != b)


def check(op: Any, dtype: Any) -> None:
    """Compares the derivatives of one operation."""
    sample = smallest(op, dtype)
    if sample is None:
        pytest.skip("no sample with more than one differentiable element")
    with execution("immediate"):
        d = Direction(op, sample)
        if not d.results(d.moved(0.0)):
            pytest.skip("no differentiable result")
        back = d.along(d.gradients(d.moved(0.0)))
        assert close(back, differences(d.value), 1e-4), "gradient"
        assert close(d.forward(), back, 1e-7), "forward"
        if {op.name, named(op)} & FIRST_ONLY.keys() or not op.supports_gradgrad:
            return
        inputs = d.moved(0.0)
        pairs = [
            (g, torch.from_numpy(u))
            for g, u in zip(d.gradients(inputs, create_graph=True), d.us, strict=True)
            if g is not None
        ]
        pairs = [(g, u) for g, u in pairs if g.requires_grad]
        second = 0.0
        if pairs:
            roots, vectors = zip(*pairs, strict=True)
            second = d.along(list(torch.autograd.grad(roots, inputs, vectors, allow_unused=True)))
        assert close(
            second, differences(lambda by: d.along(d.gradients(d.moved(by))), 1e-5), 1e-3
        ), "second derivative"


@pytest.mark.parametrize("op", list(operations(oracle.float64)))
def test_real(op: Any) -> None:
    check(op, oracle.float64)


@pytest.mark.parametrize("op", list(operations(oracle.complex128)))
def test_complex(op: Any) -> None:
    check(op, oracle.complex128)
