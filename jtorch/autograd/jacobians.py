"""Jacobians for ``gradcheck``: by differences, by walking back, and by forward derivatives. As
tensors [elements of input, of output].

The derivative of a real number by a complex one z = x + iy is taken as d/dx + i d/dy, as gradients
are in torch. A complex output is two real ones, its real and its imaginary part; in forward mode so
is a complex input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch
from jtorch import Tensor

from ..dispatch import ACTIVE
from ..overrides import is_tensor_like
from . import forward_ad
from .sparse_inputs import dense, is_sparse, places, values

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand, Row


def tuple_of(found: object) -> tuple[Operand, ...]:
    """Several results or arguments as a tuple."""
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def tensors_of(x: object, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """The tensors of a tree of iterables, in order."""
    if is_tensor_like(x):
        found: Any = x
        if found.requires_grad or not only_requiring_grad:
            yield found
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for item in x:
            yield from tensors_of(item, only_requiring_grad)


class Part:
    """Which part of complex numbers is looked at: ``"real"`` or ``"imaginary"``; None where there
    are no complex numbers."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def unit(self, t: Tensor) -> complex | float:
        """What a step in this part of ``t`` is: 1 or 1j."""
        return 1j if self.name == "imaginary" and t.dtype.is_complex else 1.0

    def take(self, values: np.ndarray) -> np.ndarray:
        """This part of complex numbers."""
        if not np.iscomplexobj(values):
            return values
        return values.imag if self.name == "imaginary" else values.real

    def of(self, pair: object) -> Any:
        """The member of a pair (real, imaginary) that belongs to this part."""
        return (
            (pair[1] if self.name == "imaginary" else pair[0]) if isinstance(pair, tuple) else pair
        )


def parts_of_outputs(outputs: Sequence[Tensor]) -> list[Part]:
    """The parts to check one after the other."""
    return (
        [Part("imaginary"), Part("real")] if any(o.dtype.is_complex for o in outputs) else [Part()]
    )


parts_of_inputs = parts_of_outputs


def keeps_elsewhere(t: Tensor) -> bool:
    """Whether a tensor's class has ``__torch_dispatch__``: its elements are read one by one, by
    operators."""
    if type(t) is Tensor or ACTIVE.below is None:
        return False
    from .._src.aten.calling import handles

    return handles(type(t))


def array(t: Tensor) -> np.ndarray:
    """The elements in one dimension."""
    if keeps_elsewhere(t):
        return np.array([e.item() for e in t.detach().reshape(-1).unbind()], t.dtype.np)
    return t.detach().resolve_conj().resolve_neg().cpu().numpy().reshape(-1)


def directions(t: Tensor, unit: complex | float) -> Iterator[Tensor]:
    """One tensor for each element of ``t``: ``unit`` there and zeros elsewhere."""
    for k in range(t.numel()):
        flat = np.zeros(t.numel(), t.dtype.np)
        flat[k] = unit
        yield jtorch.from_numpy(flat.reshape(tuple(t.shape))).to(t.device)


class Differences:
    """Central differences of a function of inputs that are moved in place; each is computed once.

    Of a sparse input the specified elements move; those of its twin, where it has one.
    """

    def __init__(
        self, outputs: Callable[[], tuple[Any, ...]], eps: float, twins: dict[int, Tensor]
    ) -> None:
        self.outputs, self.eps, self.twins = outputs, eps, twins
        self.known: dict[tuple[int, bool], list[list[np.ndarray]]] = {}

    def count(self, x: Tensor) -> int:
        """How many elements of ``x`` move."""
        return values(self.twins.get(id(x), x)).numel()

    def taken(self, x: Tensor, flat: Tensor) -> Tensor:
        """Those of all elements of ``x`` that move."""
        return flat[places(self.twins.get(id(x), x))] if is_sparse(x) else flat

    def moved(self, x: Tensor, step: np.ndarray) -> list[np.ndarray]:
        """The change of each output when ``x`` moves along ``step``, for a unit of it."""
        data = values(self.twins.get(id(x), x))
        before = array(data).copy()
        shape = tuple(data.shape)
        found = []
        for sign in (1, -1):
            with jtorch.no_grad():
                data.copy_(
                    jtorch.from_numpy(
                        (before + sign * self.eps * step).astype(before.dtype).reshape(shape)
                    )
                )
            # recorded, as when it is called otherwise: it may put hooks on what it computes
            outputs = self.outputs()
            with jtorch.no_grad():
                found.append([o.clone() if isinstance(o, Tensor) else o for o in outputs])
        with jtorch.no_grad():
            data.copy_(jtorch.from_numpy(before.reshape(shape)))
        for a, b in zip(*found, strict=True):
            for what in ("shape", "dtype"):
                if getattr(a, what) != getattr(b, what):
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are "
                        f"perturbed by {self.eps}, but got: {what}s {getattr(a, what)} and "
                        f"{getattr(b, what)}."
                    )
        return [
            (array(a) - array(b)) / (2 * self.eps)
            if a._aval.differentiable
            else np.zeros(a.numel())
            for a, b in zip(*found, strict=True)
        ]

    def columns(self, x: Tensor, imaginary: bool) -> list[list[np.ndarray]]:
        """For each element of ``x``, the changes of the outputs."""
        key = (id(x), imaginary)
        if key not in self.known:
            found = []
            count = self.count(x)
            for k in range(count):
                step = np.zeros(count, np.complex128 if x.dtype.is_complex else np.float64)
                step[k] = 1j if imaginary else 1.0
                found.append(self.moved(x, step))
            self.known[key] = found
        return self.known[key]

    def jacobian(self, x: Tensor, place: int, output: Tensor, part: Part) -> Tensor:
        """The Jacobian of one part of an output by an input."""
        rows = [part.take(c[place]) for c in self.columns(x, False)]
        if x.dtype.is_complex:
            rows = [
                dx + 1j * part.take(c[place])
                for dx, c in zip(rows, self.columns(x, True), strict=True)
            ]
        if not is_sparse(x):
            return _matrix(rows, x.numel(), output, x.dtype.is_complex)
        found = _matrix(rows, len(rows), output, x.dtype.is_complex)
        return found.new_zeros(x.numel(), output.numel()).index_copy(
            0, places(self.twins.get(id(x), x)), found
        )

    def forward(
        self, x: Tensor, place: int, output: Tensor, part: Part, u: Tensor | None
    ) -> Tensor:
        """The derivative of an output by one part of an input: whole, or along ``u``."""
        if u is None:
            rows = [
                c[place] for c in self.columns(x, part.name == "imaginary" and x.dtype.is_complex)
            ]
            return _matrix(rows, x.numel(), output, output.dtype.is_complex)
        return _matrix(
            [self.moved(x, array(u) * part.unit(x))[place]], 1, output, output.dtype.is_complex
        )[0]

    def along(self, x: Tensor, u: Any, place: int, output: Tensor, part: Part) -> Tensor:
        """The derivative of one part of an output along ``u``."""
        if not isinstance(u, tuple):
            return _matrix([part.take(self.moved(x, array(u))[place])], 1, output, False)[0]
        dx, dy = (
            part.take(self.moved(x, array(u[0]))[place]),
            part.take(self.moved(x, 1j * array(u[1]))[place]),
        )
        return _matrix([dx + 1j * dy], 1, output, True)[0]


def _matrix(rows: Sequence[np.ndarray], count: int, output: Tensor, is_complex: bool) -> Tensor:
    """Rows as a tensor of the output's precision."""
    dtype = output.dtype.to_complex() if is_complex else output.dtype.to_real()
    found = np.stack(rows) if rows else np.zeros((count, output.numel()))
    return jtorch.from_numpy(np.ascontiguousarray(found)).to(dtype)


def numerical_jacobians(
    fn: Callable[..., object],
    inputs: Any,
    outputs: Sequence[Tensor] | None = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:
    """For each input that requires grad the Jacobians of all outputs, by central differences.

    Args:
        outputs: those of ``fn(*inputs)``, if they are known.
        target: the tensors that are moved in place of ``inputs``.
        is_forward_ad: take complex outputs too.

    Raises:
        ValueError: for complex outputs.
    """
    given = tuple_of(inputs)
    found: Any = tuple_of(fn(*given)) if outputs is None else tuple(outputs)
    if not is_forward_ad and any(o.is_complex() for o in found):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports "
            "functions that return complex outputs."
        )
    differences = Differences(lambda: tuple_of(fn(*given)), eps, {})
    take = differences.forward if is_forward_ad else None
    return [
        tuple(
            [
                differences.jacobian(x, j, o, Part())
                if take is None
                else take(x, j, o, Part(), None)
                for j, o in enumerate(found)
            ]
        )
        for x in tensors_of(inputs if target is None else target, True)
    ]


def analytical(
    gradients: Callable[[Tensor, Tensor], Row],
    output: Tensor,
    inputs: Sequence[Tensor],
    part: Part,
) -> tuple[list[Tensor], bool, bool]:
    """The Jacobians of one part of an output by walks back; whether all gradients had the dtype and
    the shape of their input."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    types_fit = sizes_fit = True
    for direction in directions(output, part.unit(output)):
        for column, g, x in zip(columns, gradients(output, direction), inputs, strict=True):
            if g is None:
                column.append(jtorch.zeros(x.numel(), dtype=x.dtype))
                continue
            if g.shape != x.shape:
                sizes_fit = False
            elif g.dtype is not x.dtype:
                types_fit = False
            column.append(dense(g).detach().reshape(-1).to(x.dtype))
    made = [
        jtorch.stack(c, 1) if c else jtorch.zeros(x.numel(), 0, dtype=x.dtype)
        for c, x in zip(columns, inputs, strict=True)
    ]
    return made, types_fit, sizes_fit


def duals(inputs: Sequence[object], moved: Tensor, tangent: Tensor) -> list[Any]:
    """The inputs without history: ``moved`` with that tangent, others that are differentiated with
    zeros, or as they are."""
    found = []
    for x in inputs:
        if not isinstance(x, Tensor) or not x.requires_grad:
            found.append(x)
            continue
        own = x.detach()
        found.append(forward_ad.make_dual(own, tangent if x is moved else jtorch.zeros_like(own)))
    return found


def forward(
    func: Callable[..., object],
    inputs: Sequence[object],
    x: Tensor,
    places: Sequence[int],
    part: Part,
    u: Tensor | None,
) -> list[Tensor]:
    """The derivatives of several outputs by one part of an input in forward mode: whole, or along
    ``u``."""
    unit = part.unit(x)
    steps = directions(x, unit) if u is None else [(u * unit).to(x.dtype).reshape(x.shape)]
    rows: list[list[Tensor]] = [[] for _ in places]
    for step in steps:
        with forward_ad.dual_level():
            outputs = tuple_of(func(*duals(inputs, x, step)))
            for place, column in zip(places, rows, strict=True):
                primal, tangent = forward_ad.unpack_dual(outputs[place])
                column.append(
                    (
                        jtorch.zeros_like(primal.detach()) if tangent is None else tangent.detach()
                    ).reshape(-1)
                )
    if u is not None:
        return [column[0] for column in rows]
    if x.numel():
        return [jtorch.stack(column) for column in rows]
    outputs = tuple_of(func(*inputs))
    return [jtorch.zeros(0, outputs[place].numel(), dtype=outputs[place].dtype) for place in places]
