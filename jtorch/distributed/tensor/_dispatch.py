"""What a call of an operator on distributed tensors does: it finds placements under which each
process can compute its part alone, brings the operands there, computes, and says how the results
lie. Which placements those are is said by the rules of ``_rules*.py``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.aten import families

from ._dtensor_spec import DTensorSpec, TensorMeta
from ._redistribute import redistribute_local_tensor
from ._search import bytes_held, search, step
from .placement_types import Partial, Placement, Replicate, Shard, _is_shard_like, _StridedShard

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Values
    from ..device_mesh import DeviceMesh
    from ._api import DTensor


#: How an operator may be carried out on one dimension of a mesh: the placements of its results, and
#: of its operands.
Way = tuple[Any, Any]
#: Functions of a ``Call`` that give the ways it may be carried out besides on whole tensors; by
#: operator, or by family.
RULES: dict[str, Callable[[Call], list[Way] | None]] = {}
_SPREADS: set[str] = set()
#: The rules of programs, by operator.
STATED: dict[object, Callable[[Call], list[Way]]] = {}
#: Functions of a call and its plan that change arguments which say sizes, or positions, to those of
#: the parts.
LOCAL: dict[str, Callable[[Call, Plan], None]] = {}
#: Functions that stand for a whole call.
WHOLE: dict[str, Callable[[Call], object]] = {}
#: The same, where plain tensors may be among the operands; filled while a block is entered
#: (``loss_parallel``).
BARE: dict[str, Callable[[Call], object]] = {}


def rule(*names: str, spreads: bool = False) -> Callable[[Any], Any]:
    """Declares the rule of operators; ``spreads`` says that summands may be brought to parts where
    nothing is cut yet."""
    if spreads:
        _SPREADS.update(names)
    return lambda body: [RULES.__setitem__(n, body) for n in names] and body


def local(*names: str) -> Callable[[Any], Any]:
    """Declares how the arguments of operators change."""
    return lambda body: [LOCAL.__setitem__(n, body) for n in names] and body


def whole(*names: str) -> Callable[[Any], Any]:
    """Declares what stands for calls of operators."""
    return lambda body: [WHOLE.__setitem__(n, body) for n in names] and body


_OURS = frozenset({"aten", "jtorch", "prims"})


class Call:
    """One call of an operator.

    Attributes:
        values: one for each parameter.
        leaves: where the tensors are among them: ``(place, number in the list there or None)``.
        specs: how they lie.
        outs: shapes, strides and dtypes of the results, None for what is no tensor.
    """

    def __init__(self, func: Any, values: list[Any]) -> None:
        self.func, self.values = func, values
        #: As rules name it: operators of programs never meet those of ATen's.
        self.name: str = (
            func._opname if func._namespace in _OURS else f"{func._namespace}::{func._opname}"
        )
        self.schema = func._schema
        self.leaves: list[tuple[int, int | None]] = []
        for i in self.schema.tensors:
            x = values[i]
            if isinstance(x, torch.Tensor):
                self.leaves.append((i, None))
            elif isinstance(x, (list, tuple)):
                self.leaves += [(i, k) for k, t in enumerate(x) if isinstance(t, torch.Tensor)]
        self.specs: list[DTensorSpec] = []
        self.outs: list[TensorMeta | None] = []
        self.many = False

    def leaf(self, at: tuple[int, int | None]) -> Any:
        """The tensor at a place."""
        i, k = at
        return self.values[i] if k is None else self.values[i][k]

    def arg(self, name: str) -> Any:
        """The argument of a parameter; None if the operator has no such parameter."""
        place = self.schema.places.get(name)
        return None if place is None else self.values[place]

    def place(self, name: str) -> int | None:
        """The number among the operands of the tensor that a parameter holds; None if it holds
        none."""
        at = (self.schema.places.get(name), None)
        return self.leaves.index(at) if at in self.leaves else None

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh of the operands."""
        return self.specs[0].mesh

    @property
    def shapes(self) -> list[torch.Size]:
        """The operands' shapes."""
        return [s.shape for s in self.specs]

    @property
    def in_place(self) -> bool:
        """Whether the first operand is changed."""
        return self.schema.writes[:1] == [0] and not self.schema.outs

    def with_leaves(self, tensors: Sequence[Any]) -> Values:
        """The arguments with other tensors."""
        made = [list(x) if isinstance(x, (list, tuple)) else x for x in self.values]
        for (i, k), t in zip(self.leaves, tensors, strict=True):
            if k is None:
                made[i] = t
            else:
                made[i][k] = t
        return made

    def key(self) -> Any:
        """What the plan of a call depends on; None if it cannot be told."""
        found: list[Any] = [self.func, torch.get_default_dtype(), *self.specs]
        tensors = {i for i, _ in self.leaves}
        for i, (a, x) in enumerate(zip(self.schema.arguments, self.values, strict=True)):
            if i in tensors:
                found.append(
                    None if not isinstance(x, (list, tuple)) else tuple([t is None for t in x])
                )
            elif (
                a.type.startswith(("Scalar", "Tensor"))
                and type(x) in (int, float)
                and not a.type.startswith("ScalarType")
                and self.name not in BY_NUMBER
            ):
                found.append(type(x))
            else:
                found.append((type(x), tuple(x) if isinstance(x, list) else x))
        try:
            hash(key := tuple(found))
        except TypeError:
            return None
        return key


#: Operators whose rules look at the numbers that they are given.
BY_NUMBER = frozenset({"linalg_vector_norm", "norm", "addmm", "baddbmm", "_foreach_norm"})


class Plan:
    """How a call is carried out: where the operands are brought, and how the results lie."""

    __slots__ = ("targets", "outs", "values", "ways", "run", "view")

    def __init__(
        self, targets: list[DTensorSpec], outs: list[DTensorSpec | None], ways: list[Way]
    ) -> None:
        self.targets, self.outs, self.ways = targets, outs, ways
        #: Arguments that change, by number.
        self.values: dict[int, Any] = {}
        #: What computes the part instead of the operator.
        self.run: Callable[[list[Any]], Any] | None = None
        #: Whether the results share memory with the first operand.
        self.view = False


_warned: set[str] = set()
_plans: dict[object, Plan] = {}


def forget() -> None:
    """Has all calls be planned anew."""
    _plans.clear()


class Dispatcher:
    """Carries out operators on distributed tensors."""

    def __init__(self) -> None:
        self.cls: Any = None
        #: Whether plain tensors count as replicated.
        self._allow_implicit_replication = False

    def dispatch(self, func: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """What ``DTensor.__torch_dispatch__`` does."""
        call = Call(func, func.complete(args, kwargs))
        if BARE and call.name in BARE:
            return BARE[call.name](call)
        mesh = self._mesh(call)
        call.specs = [self._spec(call, call.leaf(at), mesh) for at in call.leaves]
        if any(s.mesh != mesh for s in call.specs):
            raise RuntimeError(
                f"{func}: the operands lie on different meshes: "
                f"{', '.join(str(s.mesh) for s in call.specs)}"
            )
        stands = WHOLE.get(call.name)
        if stands is not None:
            answer = stands(call)
            if answer is not NotImplemented:
                return answer
        key = call.key()
        plan = _plans.get(key)
        if plan is None:
            found = self._rule(call)
            if found is None:
                return self._gathered(call)
            try:
                plan = make_plan(call, found)
            except _UnknownSizes:
                return self._gathered(call)
            if key is not None:
                if len(_plans) > 10_000:
                    _plans.clear()
                _plans[key] = plan
        out = self._run(call, plan)
        self.note(call, plan, out)
        return out

    #: Told what was carried out (``_shortcuts.py``).
    note: Any = staticmethod(lambda *_: None)

    def _mesh(self, call: Call) -> object:
        for at in call.leaves:
            t = call.leaf(at)
            if isinstance(t, self.cls):
                return t._spec.mesh
        raise AssertionError(f"found no DeviceMesh from dtensor args for {call.func}!")

    def _spec(self, call: Call, t: Any, mesh: Any) -> DTensorSpec:
        if isinstance(t, self.cls):
            return t._spec
        if t.numel() == 1 and t.ndim == 1:
            warnings.warn(
                "Found a non-scalar tensor with numel=1 and ndim!=0, we are implicitly creating a "
                "replicated DTensor for it. However, please consider changing it to a scalar "
                "tensor or explicitly create a DTensor under distributed environment.",
                stacklevel=2,
            )
        if t.numel() != 1 and not self._allow_implicit_replication:
            raise RuntimeError(
                f"{call.func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor "
                "to DTensor before calling distributed operators! Please see "
                "https://docs.pytorch.org/docs/main/distributed.tensor.html#mixed-tensor-and-"
                "dtensor-operations for more details."
            )
        return DTensorSpec(
            mesh, (Replicate(),) * mesh.ndim, TensorMeta(t.size(), tuple(t.stride()), t.dtype)
        )

    def _rule(self, call: Call) -> Any:
        name = call.name
        if call.func in STATED:
            return STATED[call.func]
        found = RULES.get(name) or (RULES.get(name[:-1]) if name.endswith("_") else None)
        if found is None and families.family(call.func) in families.ELEMENTWISE:
            found = RULES["*elementwise"]
        return found

    # ---- carrying out ----------------------------------------------------------------------------

    def local_of(self, t: object) -> Any:
        """A process's part of an operand."""
        return t._local_tensor if isinstance(t, self.cls) else t

    @staticmethod
    def meta(t: object) -> TensorMeta:
        """Shape, strides and dtype of a tensor."""
        return meta_of(t)

    def wrap(self, out: object, spec: DTensorSpec | None) -> Any:
        """A part of a result as what is handed out."""
        if spec is None or not isinstance(out, torch.Tensor):
            return out
        return self.cls(out, spec, requires_grad=False)

    def _run(self, call: Call, plan: Plan) -> Any:
        here = call.mesh.get_coordinate() is not None
        if not here:
            made = [None if s is None else torch.empty(0, dtype=s._meta().dtype) for s in plan.outs]
            return self.finish(call, made, plan.outs)
        locals_ = []
        for at, spec, target in zip(call.leaves, call.specs, plan.targets, strict=True):
            t = self.local_of(call.leaf(at))
            locals_.append(
                t
                if spec.placements == target.placements
                else redistribute_local_tensor(t, spec, target)
            )
        values = call.with_leaves(locals_)
        for i, x in plan.values.items():
            values[i] = x
        if plan.run is not None:
            return self.finish(call, _flat(plan.run(values)), plan.outs)
        args, kwargs = call.func.trimmed(values)
        out = self.finish(call, _flat(call.func(*args, **kwargs)), plan.outs)
        if call.schema.writes:
            self._written(call)
        elif plan.view:
            self._viewed(call, out, call.specs[0] is not plan.targets[0])
        return out

    def _viewed(self, call: Call, out: object, gathered: bool) -> None:
        """Notes what a view was taken of where it does not share its memory: of a tensor that was
        gathered for it."""
        source = call.values[0]
        if not gathered and getattr(source, "_behind", None) is None:
            return
        for j, t in enumerate(_flat(out)):
            if isinstance(t, self.cls):
                t._behind = (
                    source,
                    (call.func, call.values[1:], j if isinstance(out, list) else None)
                    if gathered
                    else None,
                )

    def _written(self, call: Call) -> None:
        """Writes what was written to such a view to where it belongs."""
        for i in call.schema.writes:
            t = call.values[i]
            behind = getattr(t, "_behind", None)
            while behind is not None:
                source, taken = behind
                if taken is not None:
                    self._put_back(source, t, taken)
                t, behind = source, getattr(source, "_behind", None)

    def _put_back(self, source: DTensor, view: DTensor, taken: Any) -> None:
        func, rest, j = taken
        spec = source._spec
        everywhere = DTensorSpec(spec.mesh, (Replicate(),) * spec.mesh.ndim, spec.tensor_meta)
        whole = redistribute_local_tensor(source._local_tensor, spec, everywhere).clone()
        part = func(whole, *rest)
        part = part if j is None else part[j]
        shown = DTensorSpec(spec.mesh, everywhere.placements, view._spec.tensor_meta)
        part.copy_(redistribute_local_tensor(view._local_tensor, view._spec, shown))
        source._local_tensor.copy_(redistribute_local_tensor(whole, everywhere, spec))

    def finish(
        self, call: Call, outs: Sequence[object], specs: Sequence[DTensorSpec | None]
    ) -> Any:
        """The results of a call from the parts that this process has."""
        schema = call.schema
        if not schema.returns:
            return None
        if schema.hands_back:
            written = [call.values[i] for i in (schema.outs or schema.writes)]
            if len(schema.returns) <= len(written):
                return (
                    written[0]
                    if len(schema.returns) == 1
                    else tuple(written[: len(schema.returns)])
                )
        made = [self.wrap(o, s) for o, s in zip(outs, specs, strict=True)]
        return (
            made
            if schema.returns[0].type.endswith("[]")
            else made[0]
            if len(schema.returns) == 1
            else tuple(made)
        )

    def _gathered(self, call: Call) -> object:
        """A call of an operator without a rule: on whole tensors."""
        if call.func.__str__() not in _warned:
            _warned.add(str(call.func))
            warnings.warn(
                f"DTensor: {call.func} has no sharding rule here: its operands are gathered, and "
                "each process computes the whole",
                stacklevel=2,
            )
        return self.replicated(call)

    def replicated(self, call: Call) -> object:
        """Computes the whole in every process."""
        mesh = call.mesh
        everywhere = (Replicate(),) * mesh.ndim
        locals_ = []
        for at, spec in zip(call.leaves, call.specs, strict=True):
            target = DTensorSpec(mesh, everywhere, spec.tensor_meta)
            t = redistribute_local_tensor(self.local_of(call.leaf(at)), spec, target)
            writes = call.schema.arguments[at[0]].is_write
            locals_.append(
                t.clone()
                if writes and t is self.local_of(call.leaf(at)) and not spec.is_replicated()
                else t
            )
        if mesh.get_coordinate() is None:
            return self.finish(
                call,
                [torch.empty(0) for _ in call.schema.returns],
                [None] * len(call.schema.returns),
            )
        args, kwargs = call.func.trimmed(call.with_leaves(locals_))
        outs = _flat(call.func(*args, **kwargs))
        for at, spec, t in zip(call.leaves, call.specs, locals_, strict=True):
            mine = self.local_of(call.leaf(at))
            if call.schema.arguments[at[0]].is_write and t is not mine:
                whole = DTensorSpec(mesh, everywhere, spec.tensor_meta)
                mine.copy_(redistribute_local_tensor(t, whole, spec))
        if call.schema.writes:
            self._written(call)
        metas = [
            DTensorSpec(mesh, everywhere, meta_of(o)) if isinstance(o, torch.Tensor) else None
            for o in outs
        ]
        return self.finish(call, outs, metas)


DISPATCHER = Dispatcher()


def _flat(out: object) -> Values:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def meta_of(t: Any) -> TensorMeta:
    """Shape, strides and dtype of a tensor."""
    return TensorMeta(t.size(), tuple(t.stride()), t.dtype)


# ---- plans ---------------------------------------------------------------------------------------


class _UnknownSizes(NotImplementedError):
    """What an operator gives is not told by the operands' shapes, as where a mask is an index."""


def results(call: Call) -> list[TensorMeta | None]:
    """What the operator gives, found on tensors without data.

    Raises:
        NotImplementedError: if that takes their numbers.
    """
    made = [
        torch.empty_strided(tuple(s.shape), tuple(s.stride), dtype=s._meta().dtype, device="meta")
        for s in call.specs
    ]
    values = call.with_leaves(made)
    for a, i in zip(call.schema.arguments, range(len(values)), strict=True):
        if a.type.startswith("Device"):
            values[i] = torch.device("meta")
    args, kwargs = call.func.trimmed(values)
    try:
        outs = call.func(*args, **kwargs)
    except NotImplementedError as e:
        raise _UnknownSizes(str(e)) from e
    return [meta_of(o) if isinstance(o, torch.Tensor) else None for o in _flat(outs)]


def make_plan(call: Call, find: Function) -> Plan:
    """The cheapest way of a call on each dimension of the mesh.

    Raises:
        RuntimeError: for an in-place operator that would have to move what it writes to.
    """
    call.outs = results(call)
    found = find(call)
    outs, ins = len(call.outs), len(call.specs)
    ways: list[Way] = [
        (o if isinstance(o, (list, tuple)) else [o] * outs, i)
        for o, i in (*(found or ()), ([Replicate()] * outs, [Replicate()] * ins))
    ]
    # nothing is cut that is not cut already
    if not any(s.is_sharded() for s in call.specs) and call.name not in _SPREADS:
        ways = [w for w in ways if not any(_is_shard_like(p) for p in w[1])]
    chosen: list[Way] = []
    plain = not call.schema.writes and not any(
        isinstance(p, _StridedShard) for s in call.specs for p in s.placements
    )
    if call.mesh.ndim > 1 and plain and call.specs:
        chosen = search(call.specs, ways[-1:] + ways[:-1]) or []
    for d in range(len(chosen), call.mesh.ndim):
        chosen.append(_choose(call, ways, d, chosen))
    mesh = call.mesh
    targets = []
    for j, spec in enumerate(call.specs):
        placements = tuple([w[1][j] for w in chosen])
        targets.append(
            spec
            if placements == spec.placements
            else DTensorSpec(mesh, placements, spec.tensor_meta)
        )
    specs = [
        None if meta is None else DTensorSpec(mesh, tuple([w[0][j] for w in chosen]), meta)
        for j, meta in enumerate(call.outs)
    ]
    plan = Plan(targets, specs, chosen)
    plan.view = call.schema.is_view
    change = LOCAL.get(call.name)
    if change is not None:
        change(call, plan)
    return plan


def _choose(call: Call, ways: list[Way], d: int, before: list[Way], strict: bool = True) -> Way:
    """The way that costs least on one dimension of the mesh; of those that cost the same, the one
    that moves fewest operands.

    Nothing is cut anew into more parts than it has elements, unless there is no other way.
    """
    now = [s.placements[d] for s in call.specs]
    best = None
    blocked = False
    for rank, way in enumerate(ways):
        outs, ins = _strided(way, now)
        if (strict and not _possible(call, d, now, ins)) or _mixed(before, outs, ins):
            continue
        if call.in_place and (ins[0] != now[0] or outs[:1] not in ([], [now[0]])):
            blocked = True
            continue
        if call.schema.outs and any(
            o != call.specs[k].placements[d]
            for o, k in zip(
                outs,
                [j for j, (i, _) in enumerate(call.leaves) if i in call.schema.outs],
                strict=False,
            )
        ):
            continue
        moves = [_cost(a, b, s, d) for a, b, s in zip(now, ins, call.specs, strict=True)]
        cost = (sum(c for c, _ in moves), sum(steps for _, steps in moves), rank)
        if best is None or cost < best[0]:
            best = (cost, (outs, ins))
    if best is None or math.isinf(best[0][0]):
        if strict:
            return _choose(call, ways, d, before, False)
        if blocked or call.schema.outs:
            raise RuntimeError(
                f"{call.func}: in-place operations that require placement changes are not "
                f"supported. The input has placement {call.specs[0].placements}, but no valid "
                "strategy preserves this placement. Please use the out-of-place version of this "
                "operation instead."
            )
        raise RuntimeError(
            f"{call.func}: no way to carry it out on {', '.join(str(s) for s in call.specs)}"
        )
    return best[1]


def _strided(way: Way, now: Sequence[Placement]) -> tuple[list[object], list[Placement]]:
    """A way for strided parts, where an operand lies in them along the dimension that the way
    cuts."""
    outs, ins = list(way[0]), list(way[1])
    for a, b in zip(now, ins, strict=True):
        if isinstance(a, _StridedShard) and isinstance(b, Shard) and a.dim == b.dim:
            f = a.split_factor

            def turned(p: object, f: int = f) -> Any:
                return _StridedShard(p.dim, split_factor=f) if isinstance(p, Shard) else p

            return [turned(p) for p in outs], [turned(p) for p in ins]
    return outs, ins


def _possible(call: Call, d: int, now: Sequence[Placement], ins: Sequence[Placement]) -> bool:
    """Whether each process gets elements of the operands that are cut anew."""
    n = call.mesh.shape[d]
    for spec, a, b in zip(call.specs, now, ins, strict=True):
        if _is_shard_like(b) and a != b:
            dim: int = b.dim
            others = math.prod(
                call.mesh.shape[i]
                for i, p in enumerate(spec.placements)
                if i != d and _is_shard_like(p) and p.dim == dim
            )
            if spec.shape[dim] < n * others:
                return False
    return True


def _mixed(before: list[Way], outs: Sequence[object], ins: Sequence[Placement]) -> bool:
    """Whether a tensor would be partial in two manners."""
    for k, mine in enumerate((outs, ins)):
        for j, p in enumerate(mine):
            if isinstance(p, Partial):
                kinds = {
                    (type(w[k][j]), w[k][j].reduce_op)
                    for w in before
                    if isinstance(w[k][j], Partial)
                } | {(type(p), p.reduce_op)}
                if len(kinds) > 1 and {o for _, o in kinds} != {"sum", "avg"}:
                    return True
    return False


def _cost(a: Placement, b: Placement, spec: DTensorSpec, d: int) -> tuple[float, int]:
    """What it costs to bring an operand from one placement to another, and in how many steps."""
    n, held = spec.mesh.shape[d], bytes_held(spec)
    return step(a, b, n, held)[0], int(a != b)
