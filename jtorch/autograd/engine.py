"""``backward`` and ``grad``: roots, gradients given and wanted, accumulation into leaves."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._src.engine import SPECIAL, Value, record
from .._src.facts.dtypes import promote_types
from .._src.facts.errors import not_offered
from .._src.facts.layouts import is_dense
from .._src.facts.size import SYMBOLIC, Size
from .._src.facts.warned_once import outside, warn_once
from .._src.hooks import vmap
from .._src.hooks import walking as walking_hook
from .._src.ops._declare import OPS
from .._src.ops._kernel import Fixed, T, call_of
from .._src.tensor.module_state import check_state
from .._src.tensor.own_attributes import OwnRef
from .._src.tensor.running import converted
from .._src.tensor.shape_env import visible
from .._src.tensor.writing import INFERENCE, assign
from ..core import Tensor, from_value, requiring
from ..dispatch import ACTIVE, LAYOUTS, of_layout
from .accumulate import LOCK, WATCHED, AccumulateGrad, hooks_at
from .grad_mode import MODE, unrecorded
from .items import _add_pairs, _add_values, _call, _item, _tensor
from .tape import Above, Node, _Task

if TYPE_CHECKING:
    from types import ModuleType

    from .._src.engine.values import Aval
    from .._src.facts.kinds import Arguments, Operand, Operands, Row, Tree, Values


class GradientEdge(NamedTuple):
    """Where a gradient comes from: a node and the number of its output."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def _tensors(given: Tree) -> tuple[Operand, ...]:
    if isinstance(given, (Tensor, GradientEdge)):
        return (given,)
    return tuple(given)


def _place(given: Tensor) -> tuple[Any, Any]:
    """The edge that a tensor or a gradient edge stands for, and the aval of its gradient."""
    if isinstance(given, GradientEdge):
        node = getattr(given.node, "_node", given.node)
        if isinstance(node, AccumulateGrad):
            return node.variable, node.variable._aval
        return (node, given.output_nr), node.outs[given.output_nr]
    if not isinstance(given, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    given._read()
    if given._al is not None and given._al.origin is not None:
        given._check_origin()
    return given._edge(), given._aval


def _root_grads(
    roots: Sequence[Tensor], grads: Operands, batched: bool = False
) -> list[Tensor | None]:
    """The gradients to start with: those given, checked, and ones for scalars."""
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    found: list[Tensor | None] = []
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge, aval = _place(root)
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
            like = root._read() if isinstance(root, Tensor) else _zeros(aval)
            found.append(from_value(record(_call("_ones_like", 1), (like,))))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        _check_root_grad(i, g, aval, batched)
        if g.dtype is not aval.torch_dtype:
            g = converted(g, aval.torch_dtype)
        found.append(g)
    return found


def _check_root_grad(i: int, g: Tensor, aval: Aval, batched: bool) -> None:
    sizes = visible(aval.shape) if SYMBOLIC else aval.shape
    shape, its = Size(sizes), g.shape
    if batched:
        its = Size(tuple(its)[1:])
        if tuple(its) != sizes:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {its} and output[{i}] has a shape of {shape}. If "
                "you only want some tensors in `grad_output` to be considered batched, consider "
                "using vmap."
            )
    elif tuple(its) != sizes:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {its} and output[{i}] has a shape "
            f"of {shape}."
        )
    if aval.torch_dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a "
            f"dtype of {aval.torch_dtype}."
        )


def _start(task: _Task, roots: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Node]:
    nodes: list[Node] = []
    task.roots = nodes
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge, _ = _place(root)
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        if g is None:
            continue
        task.give(edge, _item(g, task.create_graph))
        if type(edge) is tuple:
            nodes.append(edge[0])
    return nodes


def refuse_inside() -> None:
    """Raises torch's error inside a function transformation."""
    if MODE.batching:
        raise RuntimeError(
            "backward() called inside torch.vmap. This is not supported, please call backward() "
            "outside torch.vmap or instead use torch.autograd.grad inside torch.vmap"
        )
    if MODE.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )


def backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: object = None,
    inputs: object = None,
) -> None:
    """Adds the gradients of ``tensors`` (of their products with ``grad_tensors``) to the ``grad``
    of the leaves they depend on.

    Args:
        tensors: tensors, or gradient edges.
        retain_graph: keep the graph for another walk (default: as ``create_graph``).
        create_graph: record the derivative itself, so that it can be differentiated.
        grad_variables: the old name of ``grad_tensors``.
        inputs: only these tensors receive gradients.

    Raises:
        RuntimeError: if a tensor does not require grad, is no scalar and has no gradient given, or
            the graph was freed.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward(x * x, torch.tensor([1.0, 10.0]))
        >>> x.grad
        tensor([ 2., 40.])
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=outside(),
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    targets = None if inputs is None else _tensors(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _tensors(tensors)
    given = (None,) * len(roots) if grad_tensors is None else _tensors(grad_tensors)
    if LAYOUTS and (special := of_layout((roots, given, targets or ()))) is not None:
        roots, targets, given = LAYOUTS[type(special)].dense(roots, targets, given)
    if ACTIVE.below is not None and (walking := _walking((*roots, *given))) is not None:
        walking.backward(roots, given, retain_graph, create_graph, targets)
        return
    task = _task(create_graph, retain_graph)
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(roots, given)
        nodes = _start(task, roots, grads)
        if create_graph:
            warn_once(CYCLE)
        leaves = None
        if targets is not None:
            leaves = _want(task, targets, keep=True)

        def finish(leaf: Tensor, grad: Value) -> None:
            if leaves is None or id(leaf) in leaves:
                accumulate(leaf, grad, create_graph)

        _WALKS.stack.append(task)
        task.run(nodes, finish if WATCHED[0] else None)
        for leaf, grad in list(task.leaf_grads.values()):
            finish(leaf, grad)
        if task.callbacks:
            _call_back(task)
    finally:
        MODE.enabled = enabled
        _left(task)


def _walking(tensors: tuple[Tensor | None, ...]) -> ModuleType | None:
    """The walk on tensors, if wrappers or dispatch modes must see it; None otherwise."""
    walking = walking_hook.get()
    return walking if walking.concerns(tensors) else None


CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def queue_callback(callback: Callable[..., object], outermost: bool = False) -> None:
    """Calls a function when the walk that is going on has come to its end, or the outermost of
    those that hold each other.

    Raises:
        RuntimeError: if none is.
    """
    if not _WALKS.stack:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _WALKS.stack[0 if outermost else -1].callbacks.append(callback)


def outermost_walk() -> _Task:
    """The walk that a hook is called in, or that of the pass which this one is within."""
    return _WALKS.stack[0]


def _call_back(task: _Task) -> None:
    """Calls what was queued in a walk, and what that queues."""
    for callback in task.callbacks:  # which may grow
        callback()


def _left(task: _Task) -> None:
    """Marks a walk as finished."""
    task.done = True
    if _WALKS.stack and _WALKS.stack[-1] is task:
        _WALKS.stack.pop()


class _Walks(threading.local):
    """The walks that this thread is in, innermost last."""

    def __init__(self) -> None:
        self.stack: list[_Task] = []


_WALKS = _Walks()


def is_walking() -> bool:
    """Whether this thread is in a backward pass."""
    return bool(_WALKS.stack)


def walk_now() -> _Task:
    """The walk that a hook is called in."""
    return _WALKS.stack[-1]


def walks() -> Sequence[_Task]:
    """The walks that this thread is inside, outermost first."""
    return tuple(_WALKS.stack)


def _task(create_graph: bool, retain_graph: bool | None) -> _Task:
    return _Task(
        create_graph,
        create_graph if retain_graph is None else retain_graph,
        _add_pairs if create_graph else _add_values,
    )


def _want(task: _Task, targets: Sequence[Tensor], keep: bool = False) -> set[int]:
    """Tells a walk whose gradients are wanted, and kept in ``grad`` where ``keep``; gives the
    identities of the leaves among them."""
    leaves = task.only_leaves = set()
    task.passes = keep
    for t in targets:
        edge, _ = _place(t)
        if edge is None:
            if keep:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            continue
        if type(edge) is tuple:
            task.wanted.setdefault(edge[0], set()).add(edge[1])
            # from now on, also in other walks
            if keep and isinstance(t, Tensor) and not t._retains:
                t._retains = True
                retain(t)
        else:
            leaves.add(id(edge))
    return leaves


def accumulate(leaf: Tensor, grad: object, create_graph: bool) -> None:
    """Adds a gradient to ``leaf.grad``, between the leaf's hooks and those of its
    ``AccumulateGrad``."""
    t = _tensor(grad, create_graph)
    if leaf._hooks:
        # A hook may have kept the tensor that it was given, which later gradients must not be added
        # to.
        t = _apart(run_tensor_hooks(leaf._hooks, t))
    rare = hooks_at(leaf)
    if rare is not None and rare.prehooks:
        t = _apart(_Hooks.before_all(rare.prehooks, [t])[0])
    if t._v is not None and t._v.trace is SPECIAL:
        check_state(leaf, t._v)
    have = leaf._grad
    if leaf._al is not None and leaf.grad_fn is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if not leaf._rg:
        pass  # it was told to stop since what was computed with it: hooks run, nothing is kept
    elif (
        have is not None
        and ACTIVE.below is not None
        and (walking := _walking((have, t))) is not None
    ):
        # a wrapper's own code runs, so that no lock is held
        leaf._grad = walking.added(have, t, create_graph)
    else:
        if have is not None and leaf._grad_kind is not None and have.dtype is not t.dtype:
            t = t.to(have.dtype)
        _add_to(leaf, t, create_graph)
    if leaf._post_hooks:
        _run_post_hooks(leaf)
    if rare is not None and rare.hooks:
        _Hooks.after_all(rare.hooks, [], [t])


def _add_to(leaf: Tensor, t: Tensor, create_graph: bool) -> None:
    """Makes ``t`` the gradient of a leaf, or adds it to the one it has."""
    with LOCK:
        have = leaf._grad
        if have is None:
            leaf._grad = t if leaf._strides is None else _laid_out_as(leaf, t)
        elif create_graph:
            leaf._grad = _tensor(_add_pairs(_item(have, True), _item(t, True)), True)
        elif type(have) in LAYOUTS and type(t) is type(have):
            with unrecorded():
                have.add_(t)
        elif type(have) in LAYOUTS:
            leaf._grad = _tensor(_add_values(have._read(), t._v or t._read()), False)
        else:
            _add_in_place(have, t)


def _laid_out_as(leaf: Tensor, t: Tensor) -> Tensor:
    """A gradient with the strides of its leaf, if the leaf's elements are all that lies in its
    memory."""
    if type(t) in LAYOUTS or not is_dense(leaf._aval.shape, leaf._strides):
        return t
    if t._al is not None:
        al, node, number = t._al, t._node, t._nr
        if al.storage.detach is not None:
            return t
        t = from_value(t._read())
        t._node, t._nr, t._rg = node, number, node is not None
    t._strides = leaf._strides
    return t


def _run_post_hooks(leaf: Tensor) -> None:
    """Runs a leaf's hooks for its complete gradient, which have nothing to give back."""
    kept = True
    for hook in list(leaf._post_hooks.values()):
        result = hook(leaf)
        if result is not None:
            check_changed(hook, leaf, result)
            kept = kept and result is leaf
    if not kept:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _apart(t: Tensor) -> Tensor:
    return t if t._rg else _tensor(t._read(), False)


def _add_in_place(have: Tensor, more: Tensor) -> None:
    if have._inference:
        raise RuntimeError(INFERENCE)
    assign(have, _add_values(have._v or have._read(), more._v or more._read()), None)


# ---- hooks ---------------------------------------------------------------------------------------


def _hook_name(hook: Callable[..., object]) -> str:
    return getattr(hook, "__name__", None) or str(hook)


def check_changed(hook: Callable[..., object], before: Tensor, after: object) -> None:
    """Raises torch's errors for a gradient that a hook has put in place of another."""
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if after._aval is before._aval:
        return
    if after.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was {before.type()} got "
            f"{after.type()})"
        )
    if after.device != before.device:
        raise RuntimeError(f"hook '{_hook_name(hook)}' has changed the device of value")
    if after.shape != before.shape:
        raise RuntimeError(f"hook '{_hook_name(hook)}' has changed the size of value")


def run_tensor_hooks(hooks: dict[int, Any], t: Tensor | None) -> Any:
    """Runs a tensor's hooks in order; each may replace the gradient."""
    for hook in list(hooks.values()):
        result = hook(t)
        if result is not None:
            if t is not None:
                check_changed(hook, t, result)
            t = result
    return t


class _Hooks:
    """How a walk runs the hooks of nodes: they see tensors."""

    @staticmethod
    def results(task: _Task, node: Node, grads: list[object]) -> list[Any]:
        """Runs the hooks of a node's results, as ``Tensor.register_hook`` added them."""
        grads = list(grads)
        for j, hooks in node.rare.tensor_hooks.items():
            # which are told, too, that no gradient came for this result while one did for another
            if hooks:
                found = run_tensor_hooks(
                    hooks, None if grads[j] is None else _tensor(grads[j], task.create_graph)
                )
                grads[j] = None if found is None else _item(found, task.create_graph)
        return grads

    @staticmethod
    def before(task: _Task, node: Node, grads: Sequence[object]) -> Values:
        """Runs the hooks that ``register_prehook`` added."""
        given = [None if g is None else _tensor(g, task.create_graph) for g in grads]
        found = _Hooks.before_all(node.rare.prehooks, given)  # type: ignore[union-attr]
        return [None if g is None else _item(g, task.create_graph) for g in found]

    @staticmethod
    def after(task: _Task, node: Node, found: list[object], grads: list[Value]) -> Values:
        """Runs the hooks that ``register_hook`` added to the node."""
        create = task.create_graph
        inputs = [None if g is None else _tensor(g, create) for g in found]
        outputs = [None if g is None else _tensor(g, create) for g in grads]
        shown, places = _as_counted(node, inputs)
        changed = _Hooks.after_all(node.rare.hooks, shown, outputs)  # type: ignore[union-attr]
        for place, g in zip(places, changed, strict=True):
            if place is not None:
                found[place] = None if g is None else _item(g, create)
        return found

    @staticmethod
    def before_all(hooks: dict[int, Any], grads: list[object]) -> list[Operand]:
        """Runs hooks on the gradients of a node's results."""
        for hook in list(hooks.values()):
            grads = _replaced(hook, grads, hook(tuple(grads)))
        return grads

    @staticmethod
    def after_all(
        hooks: dict[int, Any], inputs: list[object], outputs: list[object]
    ) -> list[Operand]:
        """Runs hooks on the gradients of a node's operands."""
        for hook in list(hooks.values()):
            inputs = _replaced(hook, inputs, hook(tuple(inputs), tuple(outputs)))
        return inputs


def _as_counted(node: Node, grads: Sequence[object]) -> tuple[list[object], list[int | None]]:
    """Gradients as torch counts operands (see ``Node.next_functions``), and the operand of each."""
    shown = []
    places: list[int | None] = []
    for _, counted, at in node._operands():
        if counted:
            shown.append(None if at is None else grads[at])
            places.append(at)
    return shown, places


def call_of_node(node: Node, grads: Row) -> Any:
    """What a node makes of gradients of its results, as ``node(*grads)``; recorded where operations
    are."""
    places = [j for j, a in enumerate(node.outs[: node.visible]) if a.differentiable]
    if len(grads) != len(places):
        raise TypeError(f"expected {len(places)} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    create_graph = MODE.enabled
    given: list[Any] = [None] * node.visible
    for j, g in zip(places, grads, strict=True):
        given[j] = None if g is None else _item(g, create_graph)
    found: list[Any] = [None] * len(node.edges)
    if any(g is not None for g in given):
        try:
            found = node.apply_tracked(given) if create_graph else node.apply(given)
        except Above as above:
            raise not_offered(
                f"calling {node.name()}",
                "its derivative is made of operators, which a walk alone puts together",
            ) from above
    shown, _ = _as_counted(node, [None if g is None else _tensor(g, create_graph) for g in found])
    return shown[0] if len(shown) == 1 else tuple(shown)


def _replaced(
    hook: Callable[..., object], grads: list[Operand], result: tuple[Tensor, ...] | None
) -> list[object]:
    if result is None:
        return grads
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(grads):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(grads)})"
        )
    for before, after in zip(grads, result, strict=True):
        if before is not None and after is not None:
            check_changed(hook, before, after)
    return list(result)


_Task.hooks = _Hooks


def _convert(task: _Task, grad: Tree, kind: Any, have: Any) -> Tree:
    """A gradient in the dtype that a leaf wants, or where it wants any, in one that has its numbers
    and those of the gradient which it has been given already, which is converted, too."""
    t = _tensor(grad, task.create_graph)
    dtype = kind or t.dtype
    if not kind and have is not None:
        before = _tensor(have[1], task.create_graph)
        dtype = promote_types(before.dtype, t.dtype)
        have[1] = _convert(task, have[1], dtype, None)
    if t.dtype is dtype:
        return grad
    t = t.to(dtype)
    return t if isinstance(grad, Tensor) else _item(t, task.create_graph)


_Task.convert = staticmethod(_convert)


def retain(t: Tensor) -> None:
    """Makes a walk keep the gradient of a tensor that is no leaf in its ``grad``; called again when
    an in-place change moved its node."""
    me = OwnRef(t)
    node, nr = t._node, t._nr

    def keep(task: _Task, grad: Tensor | Value) -> None:
        t = me()
        if t is not None and t._node is node and t._nr == nr:
            given = _tensor(grad, task.create_graph)
            t._grad = (
                given
                if t._grad is None
                else _tensor(
                    _add_pairs((t._grad._read(), None), (given._read(), given._edge())), True
                )
            )

    assert node is not None
    notes = node.notes()
    if notes.retained is None:
        notes.retained = {}
    notes.retained[nr] = keep


# ---- grad ----------------------------------------------------------------------------------------


def grad(
    outputs: object,
    inputs: object,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Operand, ...]:
    """The gradients of ``outputs`` (of their products with ``grad_outputs``) with respect to
    ``inputs``, as a tuple.

    Args:
        outputs, inputs: tensors, or gradient edges.
        only_inputs: deprecated, and without effect.
        allow_unused: None instead of an error for inputs that the outputs do not depend on.
        materialize_grads: zeros instead of None for them.
        is_grads_batched: the first dimension of each of ``grad_outputs`` counts vectors; so does
            that of the results.
        grad_outputs: for each output the gradient of what is wanted with respect to it; 1 for
            outputs of one element if it is None.
        retain_graph: keep what the graph saved, for another pass; as ``create_graph`` if it is
            None.
        create_graph: record the pass itself, for derivatives of higher order.

    Raises:
        RuntimeError: if an input does not require grad or was not used, or an output does not
            require grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        >>> first.item()
        27.0
        >>> torch.autograd.grad(first, x)
        (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=outside(),
        )
    outs, targets = _tensors(outputs), _tensors(inputs)
    given = (None,) * len(outs) if grad_outputs is None else _tensors(grad_outputs)
    if LAYOUTS and (special := of_layout((outs, targets, given))) is not None:
        options = (
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return LAYOUTS[type(special)].grad(outs, targets, given, *options)
    allow = materialize_grads or bool(allow_unused)
    if is_grads_batched:
        found = _batched(outs, targets, given, retain_graph, create_graph, allow)
    else:
        if not targets:
            raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
        if ACTIVE.below is not None and (walking := _walking((*outs, *given))) is not None:
            found = walking.grad(outs, targets, given, retain_graph, create_graph, allow)
        else:
            found = _walk(outs, targets, given, _task(create_graph, retain_graph), allow)
    if materialize_grads:
        found = tuple(
            [
                _nothing(t, create_graph) if g is None else g
                for g, t in zip(found, targets, strict=True)
            ]
        )
    return found


def _nothing(target: Tensor | GradientEdge, create_graph: bool) -> Tensor:
    """The gradient of what takes no part, which may be asked for its own."""
    if not isinstance(target, Tensor):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    zeros = _zeros_like(target)
    return requiring(zeros) if create_graph else zeros


def _walk(
    outs: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    given: tuple[Tensor | None, ...],
    task: _Task,
    allow_unused: bool,
) -> tuple[Operand, ...]:
    create_graph = task.create_graph
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(outs, given)
        edges = [_place(t)[0] for t in targets]
        nodes = _start(task, outs, grads)
        if None in edges and not all(
            e is not None or t.requires_grad for e, t in zip(edges, targets, strict=True)
        ):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        _want(task, targets)
        task.gathers = True
        _WALKS.stack.append(task)
        task.run(nodes)
        found: list[Any] = []
        for i, edge in enumerate(edges):
            if type(edge) is tuple:
                item = task.captured.get((id(edge[0]), edge[1]))
            else:  # of a view made under ``no_grad``, whose base requires grad, there is none
                entry = task.leaf_grads.get(id(edge))
                item = None if entry is None else entry[1]
            if item is None:
                if not allow_unused:
                    raise RuntimeError(
                        f"The differentiated Tensor at index {i} appears to not have been used in "
                        "the graph. Set allow_unused=True if this is the desired behavior."
                    )
                found.append(None)
                continue
            r = _tensor(item, create_graph)
            if type(edge) is not tuple and edge._hooks:
                r = run_tensor_hooks(edge._hooks, r)
            found.append(r)
        if task.callbacks:
            _call_back(task)
        return tuple(found)
    finally:
        MODE.enabled = enabled
        _left(task)


def _zeros_like(t: Tensor) -> Tensor:
    if isinstance(t, GradientEdge):
        return from_value(_zeros(_place(t)[1]))
    return from_value(record(call_of(OPS["_C._fill"], (T, "i")), (t._read(),), (0,)))


def _zeros(aval: Any) -> Value:
    return record(call_of(OPS["zeros"], (Fixed(aval.shape), Fixed(aval.dtype))), ())


def _batched(
    outs: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    given: Arguments,
    retain: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[object, ...]:
    """One walk for a batch of gradients of the outputs, under ``vmap``."""
    enabled, MODE.enabled = MODE.enabled, create_graph
    try:
        grads = _root_grads(outs, given, batched=True)
    finally:
        MODE.enabled = enabled
    there: list[int] = []

    def vjp(*vectors: Tensor) -> tuple[Tensor, ...]:
        found = _walk(outs, targets, vectors, _task(create_graph, retain), allow_unused)
        there[:] = [i for i, g in enumerate(found) if g is not None]
        return tuple([found[i] for i in there])

    if any(not g.dim() for g in grads):
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a "
            "Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
        )
    MODE.batching += 1
    try:
        rows = iter(vmap(vjp)(*grads))
    finally:
        MODE.batching -= 1
    return tuple([next(rows) if i in there else None for i in range(len(targets))])
