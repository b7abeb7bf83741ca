"""``backward`` and ``grad`` where gradients are tensors of any class, and every derivative is made
of operators."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...autograd import engine
from ...autograd.accumulate import hooks_at
from ...autograd.function import FunctionNode
from ...autograd.grad_mode import MODE
from ...autograd.tape import Node, _Task
from ...core import Tensor, from_value
from ..engine import Value
from ..facts.layouts import preserve_format, strided
from ..tensor.shape_env import visible
from .calling import handles
from .formulas import zeros_in
from .overloads import aten
from .recording import OperatorNode
from .replaying import replay
from .state import STATE, Quiet
from .values import tensor_of
from .viewing import CopySlices

if TYPE_CHECKING:
    from ..engine.values import Aval
    from ..facts.kinds import Operand, Operands, Values


_OPERATORS = (OperatorNode, CopySlices)


def as_tensor(x: Tensor | Value | None, create_graph: bool) -> Any:
    """What a walk over values has in hand, as the tensor it stands for."""
    if x is None or isinstance(x, Tensor):
        return x
    if isinstance(x, Value):
        return tensor_of(x)
    v, edge = x
    found = tensor_of(v)
    if found._rg or edge is None:
        return found
    return engine._tensor((v, edge), create_graph)


def _add(a: Tensor, b: Tensor) -> Tensor:
    with Quiet():
        return aten.add.Tensor(a, b)


def concerns(tensors: Sequence[object]) -> bool:
    """Whether a walk must see tensors from the start: a mode would see its operators, or a wrapper
    takes part."""
    if STATE.off:
        return False
    if STATE.modes or STATE.forced:
        return True
    return any(
        isinstance(t, Tensor) and (handles(type(t)) or isinstance(t._node, _OPERATORS))
        for t in tensors
    )


class TensorTask(_Task):
    """One walk on tensors. Leaves are handed to ``finish`` as soon as nothing more comes for
    them."""

    def __init__(self, create_graph: bool, keep_graph: bool) -> None:
        super().__init__(create_graph, keep_graph, _add)

    def _before(self, node: Node, grads: list[Operand]) -> list[Tensor | None]:
        """Hooks of results, then ``retain_grad``: all see tensors of the gradients' own classes."""
        create, rare = self.create_graph, node.rare
        if rare is not None and rare.tensor_hooks:
            grads = [as_tensor(g, create) for g in self.hooks.results(self, node, grads)]
        if rare is not None and rare.retained:
            for j, keep in rare.retained.items():
                if grads[j] is not None:
                    with Quiet():
                        kept = aten.clone.default(grads[j])
                    keep(self, kept)
        return grads

    def run(self, roots: Sequence[Node], finish: Callable[..., None] | None = None) -> None:
        """Visits nodes, the latest first."""
        self.roots = roots
        needed = self.needed(roots)
        counts = {} if finish is None else self.expected(roots, needed)
        self.proceed(needed, counts, finish)

    def proceed(
        self,
        needed: set[Node] | None,
        counts: dict[int, int],
        finish: Callable[..., object] | None,
        begun: Node | None = None,
    ) -> None:
        """Visits what waits. The hooks before ``begun`` have been run."""
        create, wanted = self.create_graph, self.wanted
        while self.heap:
            node = heapq.heappop(self.heap)[1]
            grads = [as_tensor(g, create) for g in self.waiting.pop(node)]
            rare = node.rare
            if needed is not None and node not in needed:
                if node in wanted:
                    self._capture(node, self._before(node, grads))
                continue
            if node in wanted and node is not begun:
                self._capture(node, grads)
            if rare is not None and node is not begun:
                grads = self._before(node, grads)
                if rare.prehooks:
                    grads = [as_tensor(g, create) for g in self.hooks.before(self, node, grads)]
            asked = None if needed is None else [self._asked(e, needed) for e in node.edges]
            found = gradients_of(node, grads, create, asked)
            if rare is not None and rare.hooks:
                found = [as_tensor(g, create) for g in self.hooks.after(self, node, found, grads)]
            del grads
            for place, edge in enumerate(node.edges):
                grad, found[place] = found[place], None
                if edge is not None and grad is not None:
                    self.give(edge, grad)
                del grad
                if finish is not None and edge is not None and type(edge) is not tuple:
                    counts[id(edge)] -= 1
                    if not counts[id(edge)] and id(edge) in self.leaf_grads:
                        finish(self.leaf_grads.pop(id(edge)))
            if not self.keep_graph:
                node.release()


def gradients_of(
    node: Node, grads: list[Operand], create_graph: bool, asked: Sequence[bool] | None = None
) -> list[object]:
    """The gradients of a node's operands, or of those that are asked for, as tensors."""
    if isinstance(node, _OPERATORS):
        with Quiet():
            return (
                node.gradients(grads, asked)
                if type(node) is OperatorNode
                else node.gradients(grads)
            )
    if isinstance(node, FunctionNode):
        return node.run_on_tensors(grads, create_graph, _seen_zeros if STATE.modes else None)
    plain = (
        not STATE.modes
        and not STATE.forced
        and not any(g is not None and handles(type(g)) for g in grads)
    )
    if not plain and node.call is not None:
        with Quiet():
            return replay(node, grads, TensorTask(create_graph, create_graph))
    if create_graph:
        found = node.apply_tracked(
            [None if g is None else (g._v or g._read(), g._edge()) for g in grads]
        )
    else:
        found = node.apply([None if g is None else g._v or g._read() for g in grads])
    return [as_tensor(x, create_graph) for x in found]


def _seen_zeros(aval: Aval) -> object:
    """Zeros in the place of an absent gradient: modes see them being made."""
    with Quiet():
        return zeros_in(visible(aval.shape), aval)


def continue_on_tensors(
    task: _Task,
    node: Node,
    grads: Values,
    needed: set[Node] | None,
    finish: Callable[..., object],
    counts: Any,
) -> None:
    """Goes on with a walk over values that has met a node of an operator."""
    create = task.create_graph
    above = TensorTask(create, task.keep_graph)
    above.wanted, above.only_leaves, above.captured = task.wanted, task.only_leaves, task.captured
    above.leaf_grads, above.passes = task.leaf_grads, task.passes
    above.heap, above.waiting = (
        task.heap,
        {n: [as_tensor(g, create) for g in gs] for n, gs in task.waiting.items()},
    )
    above.waiting[node] = [as_tensor(g, create) for g in grads]
    heapq.heappush(above.heap, (-node.seq, node))
    for entry in above.leaf_grads.values():
        entry[1] = as_tensor(entry[1], create)
    done = None if counts is None else lambda entry: finish(entry[0], entry.pop())
    above.proceed(needed, counts or {}, done, begun=node)


# ---- the public functions ------------------------------------------------------------------------


def _ones(root: object, aval: object) -> Tensor:
    if not isinstance(root, Tensor):
        return from_value(engine._zeros(aval)) + 1
    with Quiet():
        return aten.ones_like.default(root, pin_memory=False, memory_format=preserve_format)


def _root_grads(roots: Sequence[Tensor], grads: Operands) -> list[Tensor]:
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    found: list[Any] = []
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge, aval = engine._place(root)
        if g is None:
            if edge is None:
                found.append(None)
                continue
            if aval.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not aval.differentiable or aval.torch_dtype.is_complex:
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"{aval.torch_dtype}"
                )
            found.append(_ones(root, aval))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        engine._check_root_grad(i, g, aval, False)
        if g._aval.torch_dtype is not aval.torch_dtype:
            with Quiet():
                g = aten._to_copy.default(g, dtype=aval.torch_dtype)
        found.append(g)
    return found


def _start(task: TensorTask, roots: Sequence[Tensor], grads: list[Tensor]) -> list[Node]:
    nodes = []
    for i, root in enumerate(roots):
        edge, _ = engine._place(root)
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        if grads[i] is None:
            continue
        task.give(edge, grads[i])
        if type(edge) is tuple:
            nodes.append(edge[0])
    return nodes


def backward(
    roots: tuple[Tensor, ...],
    given: tuple[object, ...],
    retain_graph: bool | None,
    create_graph: bool,
    targets: tuple[Tensor, ...] | None,
) -> None:
    """``autograd.backward`` on tensors."""
    task = TensorTask(create_graph, create_graph if retain_graph is None else retain_graph)
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(roots, given)
        nodes = _start(task, roots, grads)
        del grads
        leaves = None if targets is None else engine._want(task, targets, keep=True)

        def finish(entry: list[Tensor]) -> None:
            if leaves is None or id(entry[0]) in leaves:
                accumulate(entry[0], entry, create_graph)

        engine._WALKS.stack.append(task)
        task.run(nodes, finish)
        for entry in list(task.leaf_grads.values()):
            finish(entry)
        for t in targets or ():
            if isinstance(t, Tensor) and t._node is not None and not t._retains:
                found = task.captured.get((id(t._node), t._nr))
                if found is not None:
                    accumulate(t, [found], create_graph)
        engine._call_back(task)
    finally:
        MODE.enabled = enabled
        engine._left(task)


def grad(
    outs: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    given: tuple[Tensor | None, ...],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Operand, ...]:
    """``autograd.grad`` on tensors."""
    task = TensorTask(create_graph, create_graph if retain_graph is None else retain_graph)
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(outs, given)
        edges = [engine._place(t)[0] for t in targets]
        nodes = _start(task, outs, grads)
        if None in edges:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        engine._want(task, targets)
        engine._WALKS.stack.append(task)
        task.run(nodes)
        found: list[Any] = []
        for i, edge in enumerate(edges):
            if type(edge) is tuple:
                g = task.captured.get((id(edge[0]), edge[1]))
            else:
                entry = task.leaf_grads.get(id(edge))
                g = None if entry is None else entry[1]
            if g is None and not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the "
                    "graph. Set allow_unused=True if this is the desired behavior."
                )
            g = as_tensor(g, create_graph)
            if g is not None and type(edge) is not tuple and edge._hooks:
                g = engine.run_tensor_hooks(edge._hooks, g)
            found.append(g)
        engine._call_back(task)
    finally:
        MODE.enabled = enabled
        engine._left(task)
    return tuple(found)


def accumulate(leaf: Tensor, box: list[Operand], create_graph: bool) -> None:
    """Adds a gradient, the last item of ``box``, to ``leaf.grad``, between the hooks of the
    leaf."""
    t = as_tensor(box.pop(), create_graph)
    if leaf._hooks:
        t = engine.run_tensor_hooks(leaf._hooks, t)
    rare = hooks_at(leaf)
    if rare is not None and rare.prehooks:
        t = engine._Hooks.before_all(rare.prehooks, [t])[0]
    have = leaf._grad
    if leaf._al is not None and leaf.grad_fn is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if not leaf._rg:
        pass  # as in the walk of values
    elif have is not None:
        leaf._grad = added(have, t, create_graph)
    else:
        with Quiet():
            if not create_graph and sys.getrefcount(t) <= _ALONE and _keeps_layout(t, leaf):
                leaf._grad = aten.detach.default(t)
            else:
                leaf._grad = _copy_like(t, leaf)
    if leaf._post_hooks:
        for hook in list(leaf._post_hooks.values()):
            hook(leaf)
    if rare is not None and rare.hooks:
        engine._Hooks.after_all(rare.hooks, [], [t])


def added(have: Tensor, more: Tensor, create_graph: bool) -> Tensor:
    """A leaf's gradient and one that comes to it: added in place, unless their sum is part of a
    graph."""
    with Quiet():
        return aten.add.Tensor(have, more) if create_graph else aten.add_.Tensor(have, more)


#: References to a gradient that nobody but the walk knows, as ``accumulate`` counts them.
_ALONE = 2


def _keeps_layout(t: Tensor, leaf: Tensor) -> bool:
    return t.stride() == leaf.stride()


def _copy_like(t: Tensor, leaf: Tensor) -> Tensor:
    """A copy of a gradient in the memory order of its leaf."""
    aval = leaf._aval
    made = aten.new_empty_strided.default(
        t,
        list(aval.shape),
        list(leaf.stride()),
        dtype=aval.torch_dtype,
        layout=_strided(),
        device=leaf.device,
    )
    return aten.copy_.default(made, t)


def _strided() -> object:
    return strided
