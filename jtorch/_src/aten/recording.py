"""What autograd remembers of an operator on wrappers, or under a dispatch mode: a node whose
derivative is made of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...autograd.names import camel, plain_name
from ...autograd.tape import FREED, SAVING, Above, Node, next_seq, packed_by, unpacked_by
from ...core import Tensor, contiguous_strides
from ..facts.devices import of_placement
from ..tensor.writing import assign
from .calling import requires_grad
from .derivatives import find
from .kernels import functional_of
from .overloads import NO_DEFAULT, OpOverload, aten
from .rules import Rule
from .state import Below
from .values import Look
from .viewing import rebase

if TYPE_CHECKING:
    from ..engine.values import Aval
    from ..facts.kinds import Named, Operand, Tree, Values


class About:
    """What a derivative may know of a tensor that is not saved: shape, strides, where it begins in
    its memory, dtype, device."""

    __slots__ = ("aval", "strides", "offset")

    def __init__(self, t: Tensor) -> None:
        self.aval, self.strides = t._aval, t._strides
        self.offset: int = 0 if t._al is None else t._al.offset

    @property
    def shape(self) -> list[int]:
        """The sizes."""
        return list(self.aval.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.torch_dtype

    @property
    def device(self) -> Any:
        """Where the data lies."""
        return of_placement(self.aval.device)

    def stride(self) -> list[int]:
        """Elements to step in memory, for each dimension."""
        return list(self.strides or contiguous_strides(self.aval.shape))


def rule_of(func: OpOverload) -> Rule | None:
    """The derivative of an operator; None if it has none."""
    found = func.derivative
    if found is NO_DEFAULT:
        found = func.derivative = find(func, functional_of)
    return found


class Recording:
    """An operator that is being recorded: what must be kept from before it ran."""

    __slots__ = (
        "func",
        "values",
        "slots",
        "edges",
        "parts",
        "rule",
        "kept",
        "places",
        "write",
        "view",
    )

    def __init__(
        self,
        func: OpOverload,
        values: Values,
        rule: Rule,
        slots: Values,
        edges: Values,
        parts: Values,
    ) -> None:
        self.func, self.values, self.rule, self.slots, self.edges, self.parts = (
            func,
            values,
            rule,
            slots,
            edges,
            parts,
        )
        schema = func._schema
        self.write = values[schema.writes[0]] if schema.hands_back else None
        self.kept = {}
        for _, _, uses in parts:
            for name in uses:
                place = schema.places.get(name)
                if place is not None and name not in self.kept:
                    self.kept[name] = self._keep(values[place])
                elif name.endswith("_") and name[:-1] in schema.places:
                    value = values[schema.places[name[:-1]]]
                    self.kept[name] = (
                        [About(t) for t in value]
                        if isinstance(value, list)
                        else value
                        if value is None
                        else _about(value)
                    )

    def _keep(self, value: Tree) -> Any:
        if isinstance(value, Tensor):
            if value is self.write and self.func._opname.endswith("_"):  # what it was before
                with Below():
                    value = aten.clone.default(value)
            return _Saved(value)
        if isinstance(value, list) and any(isinstance(t, Tensor) for t in value):
            return [_Saved(t) if isinstance(t, Tensor) else t for t in value]
        return value

    def finish(self, out: tuple[Tensor, ...] | Tensor) -> tuple[Tensor, ...] | Tensor:
        """Gives the results their history."""
        results = list(out) if isinstance(out, (tuple, list)) else [out]
        tensors = [t for t in results if isinstance(t, Tensor)]
        wanted = self.rule.results
        # what the operator itself has changed (running statistics, too) is saved as it is now
        for kept in self.kept.values():
            if (
                type(kept) is _Saved
                and kept.tensor is not None
                and (kept.tensor is self.write or self.write is None)
            ):
                kept.version = kept.tensor._writes
        node = OperatorNode(self, tensors)
        for j, t in enumerate(tensors):
            if not t._aval.differentiable or (wanted is not None and j not in wanted):
                continue
            if t is self.write:
                _rewrite_history(t, node, j)
            elif any(t is x for x in self.values):
                continue  # handed back as it came in: it keeps its history
            else:
                t._node, t._nr, t._rg = node, j, True
                if t._al is not None and t._al.origin == "no_grad":
                    t._al.origin = None  # made below autograd, but seen from above
                    t._al.gen = t._al.counter.n
        node.save_results(results)
        return out


def _about(value: Tensor) -> About:
    return About(value) if isinstance(value, Tensor) else value


def begin(func: OpOverload, values: list[object], tensors: Sequence[Tensor]) -> Recording | None:  # noqa: ARG001
    """Prepares to record an operator some of whose operands require grad; None if it has no
    derivative for them."""
    rule = rule_of(func)
    if rule is None:
        return None
    slots = []
    edges = []
    needed = set()
    arguments = func._schema.arguments
    for i in func._schema.tensors:
        x = values[i]
        for k, t in enumerate(x) if isinstance(x, list) else ((None, x),):
            if not isinstance(t, Tensor):
                continue
            edge = None
            if t._aval.differentiable and requires_grad(t):
                if t._al is not None and t._al.origin is not None:
                    t._check_origin()
                edge = t._edge()
            slots.append((arguments[i].name, k, t._aval))
            edges.append(edge)
            if edge is not None:
                needed.add(arguments[i].name)
    parts = [part for part in rule.parts if not needed.isdisjoint(part[0])]
    if not parts:
        return None
    return Recording(func, values, rule, slots, edges, parts)


class _Saved:
    """A tensor that a derivative needs: refused if it was changed in place since."""

    __slots__ = ("tensor", "version", "hooked")

    def __init__(self, t: Tensor) -> None:
        self.tensor: Any = t
        self.version = t._writes
        self.hooked = None
        if SAVING.hooks:
            pack, unpack = SAVING.hooks[-1]
            inner, SAVING.hooks = SAVING.hooks, []
            try:
                self.hooked = (packed_by(pack, t), unpack)
            finally:
                SAVING.hooks = inner
            self.tensor = None

    def get(self) -> Tensor:
        """The tensor, unchanged."""
        if self.hooked is not None:
            packed, unpack = self.hooked
            return unpacked_by(unpack, packed)
        t = self.tensor
        if t._writes != self.version:
            kind = t._aval.torch_dtype.legacy
            made = (
                ""
                if t._node is None
                else f", which is output {t._nr} of {plain_name(t._node.name())},"
            )
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: [torch.{kind} {list(t._aval.shape)}]{made} is at version "
                f"{t._writes}; expected version {self.version} instead. Hint: enable anomaly "
                "detection to find the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True, check_nan=False)."
            )
        return t


class OperatorNode(Node):
    """The node of an operator: gradients are tensors of any class, and its derivative is made of
    operators."""

    __slots__ = ("func", "parts", "slots", "stored", "wants", "about", "wanted")

    def __init__(self, recording: Recording, results: Sequence[Tensor]) -> None:
        self.call = None
        self.saved = []
        self.hooked = self.rare = None
        self.kept = ()
        self.func, self.parts, self.slots = recording.func, recording.parts, recording.slots
        self.wanted = recording.rule.results
        self.edges, self.numbers = recording.edges, ()
        self.avals = tuple([aval for _, _, aval in recording.slots])
        self.outs = tuple([t._aval for t in results])
        self.visible = len(results)
        self.seq = next_seq()
        self.stored: Named | None = recording.kept
        self.wants = {
            name for (name, _, _), e in zip(self.slots, self.edges, strict=True) if e is not None
        }
        self.about = [About(t) for t in results]

    def name(self) -> str:
        """The name torch prints: ``MulBackward0``."""
        return self.label or _node_name(self.func)

    def save_results(self, results: Sequence[object]) -> None:
        """Keeps the results that the derivative needs: tensors without history, and what else an
        operator of a user's gives beside tensors, which counts for no gradient."""
        assert self.stored is not None
        for _, _, uses in self.parts:
            for name in uses:
                if name.startswith("result") and name not in self.stored and not name.endswith("_"):
                    j = int(name[6:] or 0)
                    t = results[j]
                    if isinstance(t, (list, tuple)):
                        raise NotImplementedError(
                            f"gradients of {self.func}, which gives a list beside other results, "
                            "are not offered by jtorch here: nothing is recorded for the list"
                        )
                    if not isinstance(t, Tensor):
                        self.stored[name] = t
                        continue
                    j = sum(isinstance(before, Tensor) for before in results[:j])
                    if not t._aval.differentiable or (
                        self.wanted is not None and j not in self.wanted
                    ):
                        self.stored[name] = _Saved(t)
                        continue
                    with Below():
                        self.stored[name] = (_Saved(aten.detach.default(t)), j)

    def release(self) -> None:
        """Frees what was saved."""
        self.stored = None

    def apply(self, grads: list[object]) -> list[Any]:
        """Sends the walk to where gradients are tensors."""
        raise Above

    apply_tracked = apply

    def gradients(self, grads: list[Tensor], asked: Sequence[bool] | None = None) -> list[Operand]:
        """The gradient of each operand, or of those that are asked for, from those of the
        results."""
        stored = self.stored
        if stored is None:
            raise RuntimeError(FREED)
        found: dict[str, Any] = {}
        seen: dict[str, Any] = {}
        wants = self.wants
        if asked is not None and not all(asked):
            wants = {name for (name, _, _), ask in zip(self.slots, asked, strict=True) if ask}
        for names, fn, uses in sorted(self.parts, key=lambda part: part[0]):
            if wants.isdisjoint(names):
                continue
            for name in uses:
                if name == "wants":
                    seen[name] = [n in wants for n in names]
                elif name not in seen:
                    seen[name] = self._given(name, grads, stored)
            got = fn(*[seen[name] for name in uses])
            found.update(zip(names, got, strict=True) if len(names) > 1 else ((names[0], got),))
        result = []
        for (name, k, aval), edge in zip(self.slots, self.edges, strict=True):
            g = found.get(name)
            if edge is None or g is None:
                result.append(None)
                continue
            if k is not None:
                g = g[k]
            result.append(None if g is None else _fitted(g, aval))
        return result

    def _given(self, name: str, grads: list[Tensor], stored: dict[str, object]) -> Tree:
        if name == "g":
            return grads[0]
        if name == "grads":
            return grads
        if name == "node":
            return self
        if name == "result_":
            return self.about[0]
        x = stored[name]
        if type(x) is _Saved:
            return x.get()
        if type(x) is list:
            return [t.get() if type(t) is _Saved else t for t in x]
        if type(x) is tuple and len(x) == 2 and type(x[0]) is _Saved:
            saved, j = x
            kept = saved.get()  # which a hook may compute anew, and record
            with Below():
                t = aten.detach.default(kept)
            t._node, t._nr, t._rg = self, j, True
            return t
        return x


def _node_name(func: OpOverload) -> str:
    """The names torch gives nodes, ``MulBackward0``; numbered where an operator has several
    signatures."""
    name = func._opname.rstrip("_") if not func._opname.startswith("__") else func._opname
    packet = getattr(aten, name, None)
    number = 0
    if packet is not None and func._namespace == "aten":
        base = func if func._overloadpacket is packet else functional_of(func)
        plain = [o for o in packet.all() if not o._schema.outs]
        if name not in ("max", "min", "median", "nanmedian"):
            plain.sort(key=lambda o: o._overloadname != "default")
        number = plain.index(base) if base in plain else 0
    return f"{camel(name)}Backward{number}"


def _fitted(g: Tensor, aval: Aval) -> Tensor:
    """A gradient in its operand's shape and dtype."""
    mine = g._aval
    if mine.shape != aval.shape:
        g = sum_to(g, aval.shape)
    if g._aval.torch_dtype is not aval.torch_dtype:
        if g._aval.torch_dtype.is_complex and not aval.torch_dtype.is_complex:
            g = aten.select.int(aten.view_as_real.default(g), mine.ndim, 0)
        if g._aval.torch_dtype is not aval.torch_dtype:
            g = aten._to_copy.default(g, dtype=aval.torch_dtype)
    return g


def sum_to(g: Tensor, shape: Sequence[int]) -> Tensor:
    """``g`` summed over the dimensions that broadcasting added."""
    have, want = g._aval.shape, tuple(shape)
    if have == want:
        return g
    if not want:
        return aten.sum.default(g)
    lead = len(have) - len(want)
    dims = [*range(lead), *[i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1]]
    if dims:
        g = aten.sum.dim_IntList(g, dims, True)
    if lead:
        g = aten.view.default(g, list(want))
    return g


def _rewrite_history(t: Tensor, node: OperatorNode, j: int) -> None:
    """The history of a tensor that an operator has changed in place; a view's change becomes its
    base's."""
    al = t._al
    if isinstance(al, Look):
        rebase(t, node, j)
        return
    if al is not None and al.base is not None:
        enabled, MODE.enabled = MODE.enabled, True
        try:
            assign(t, t._read(), (node, j))
        finally:
            MODE.enabled = enabled
        return
    t._node, t._nr, t._rg = node, j, True
